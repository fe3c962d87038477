#include <caisson/base/entropy.hpp>

#include <random>

namespace caisson::detail {

std::uint64_t entropy_bits() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

} // namespace caisson::detail
