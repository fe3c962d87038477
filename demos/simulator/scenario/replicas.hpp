// Services of several replicas, and their names.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caisson::sim {

/// `db` or, for one replica of it, `db#3`.
struct replica_target {
  std::string_view service;
  /// From 1 on; nothing for all of them, 0 if what follows `#` is no number.
  std::optional<std::uint32_t> number;
};

/// Refers to `text`.
[[nodiscard]] replica_target replica_target_in(std::string_view text);

/// `db#3`, or `db` if that is the only one. `index` counts from 0 on.
[[nodiscard]] std::string replica_name(const service_config& service,
                                       std::uint32_t index);

/// The servers of all replicas together, or `no_limit`.
[[nodiscard]] std::uint32_t all_servers(const service_config& service);

/// The same of cores.
[[nodiscard]] std::uint32_t all_cores(const service_config& service);

} // namespace caisson::sim
