// Checks whether something listens at an address.
#pragma once

#include <simulator/remote/worker_address.hpp>

#include <chrono>
#include <string>

namespace caisson::sim {

/// Opens a connection and closes it. Why that does not work, as
/// `Connection refused`; empty if it does. Blocks for at most `patience` for
/// each address that the host's name stands for, and as long as it takes to
/// look the name up.
[[nodiscard]] std::string why_unreachable(const worker_address& a,
                                          std::chrono::milliseconds patience);

} // namespace caisson::sim
