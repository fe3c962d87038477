// Numbers from the machine's source of randomness.
#pragma once

#include <cstdint>

namespace caisson::detail {

/// 64 bits that differ in each process and each call. Throws what
/// `std::random_device` throws if the machine has no such source.
[[nodiscard]] std::uint64_t entropy_bits();

} // namespace caisson::detail
