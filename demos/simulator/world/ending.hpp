// Outcomes of requests and calls.
#pragma once

#include <caisson/policy/errc.hpp>
#include <caisson/policy/outcome.hpp>

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
  /// All connections to the service were in use.
  no_connection,
};

inline constexpr std::size_t ending_count = last_errc + 4;

/// What names the origin of an error because all connections were in use. No
/// policy has such a name.
inline constexpr std::string_view no_connection_policy = "no connection";

/// `good`, the name of an `errc`, `failed`, `timeout` or `no_connection`.
[[nodiscard]] std::string_view name_of(ending e) noexcept;

/// What an answer counts as. `o.reply` must still be there.
[[nodiscard]] ending ending_of(const outcome& o);

} // namespace caisson::sim
