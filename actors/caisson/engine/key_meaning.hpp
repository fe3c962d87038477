// Meaning of the key of calls to a layer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

/// What a layer takes the key of calls for.
enum class key_meaning : std::uint8_t {
  /// For nothing.
  none,
  /// What they ask for: calls with the same key get the same answer.
  content,
  /// Whom or what they belong to, such as a tenant.
  owner,
};

namespace detail {

/// What is wrong with `unsafe` of the layer `by_content` if `by_owner` takes
/// the key of calls for whom they belong to.
[[nodiscard]] std::string key_conflict_text(std::string_view by_content,
                                            std::string_view by_owner);

} // namespace detail
} // namespace caisson
