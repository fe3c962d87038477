// Unguessable numbers.
#pragma once

#include <caisson/base/random.hpp>

#include <cstdint>
#include <optional>
#include <random>

namespace caisson::detail {

/// Random bits from the machine's entropy. For runs that must be the same each
/// time, such as those in virtual time, it is seeded instead, and then anyone
/// who knows the seed can guess them.
class secret_source {
public:
  explicit secret_source(std::optional<std::uint64_t> seed) {
    if (seed)
      seeded_.emplace(*seed);
  }

  std::uint64_t bits() {
    if (seeded_)
      return seeded_->bits();
    return std::uint64_t{entropy_()} << 32 | entropy_();
  }

private:
  std::optional<random_source> seeded_;
  std::random_device entropy_;
};

} // namespace caisson::detail
