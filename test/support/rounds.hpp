// The number of rounds that tests of random cases play.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace caisson::test {

/// How many rounds such a test plays: `usual`, times the number CAISSON_ROUNDS
/// in the environment, if there is one.
inline std::uint64_t rounds(std::uint64_t usual) {
  auto* text = std::getenv("CAISSON_ROUNDS");
  auto times = text ? std::strtoull(text, nullptr, 10) : 1;
  return usual * (times > 0 ? times : 1);
}

} // namespace caisson::test
