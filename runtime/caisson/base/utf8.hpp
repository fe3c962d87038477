// Texts in UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace caisson::detail {

/// The length in bytes of the character that `text`, which is not empty, begins
/// with; 0 if it begins with none: RFC 3629, without surrogates and without
/// longer forms than needed.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

} // namespace caisson::detail
