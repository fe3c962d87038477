// How requests and calls end.
#pragma once

#include <caisson/errc.hpp>
#include <caisson/outcome.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace caisson::sim {

/// How a request or a call ended.
enum class ending : std::uint8_t {
  good = 0,
  /// 1 to `last_errc`: the code of caisson's error.
  failed = last_errc + 1,
  timeout,
};

inline constexpr std::size_t ending_count = last_errc + 3;

/// `good`, the name of an `errc`, `failed` or `timeout`.
[[nodiscard]] std::string_view name_of(ending e) noexcept;

/// What an error answer counts as.
[[nodiscard]] ending ending_of(const outcome& o) noexcept;

} // namespace caisson::sim
