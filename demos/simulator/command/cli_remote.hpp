// Options that sweeps and workers have in common.
#pragma once

#include <simulator/remote/remote_network.hpp>
#include <simulator/remote/worker_address.hpp>

#include <caisson/base/time.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

namespace caisson::sim {

/// The option, as it was given, as a duration from `lo` to `hi`. Throws
/// `CLI::ValidationError`.
[[nodiscard]] duration duration_in(const std::string& option,
                                   const std::string& text, duration lo,
                                   duration hi);

/// As `HOST:PORT`, with a port of at least `least_port`. Throws
/// `CLI::ValidationError`.
[[nodiscard]] worker_address address_in(const std::string& option,
                                        const std::string& text,
                                        std::uint16_t least_port);

/// `--certificate`, `--key` and `--ca`.
void add_certificate_options(CLI::App& to, remote_certificates& files);

} // namespace caisson::sim
