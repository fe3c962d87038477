// `caisson worker`.
#pragma once

#include <simulator/play/command_parts.hpp>
#include <simulator/remote/remote_network.hpp>
#include <simulator/remote/worker_address.hpp>

#include <cstdint>
#include <iosfwd>
#include <optional>

namespace caisson::sim {

/// What `caisson worker` is asked for.
struct worker_arguments {
  worker_address listen = {"127.0.0.1", 0};
  /// How many runs at a time; `command_parts::jobs` if absent.
  std::optional<std::uint32_t> jobs;
  remote_certificates certificates = {};
  bool insecure = false;
};

/// Executes runs for sweeps until it is stopped. Prints where it listens.
/// Throws `config_error` for bad input, and if it cannot listen.
[[nodiscard]] status worker_command(const worker_arguments& args,
                                    std::ostream& out, std::ostream& err,
                                    const command_parts& parts);

} // namespace caisson::sim
