// Averages of calls that have ended, for the model of a shedder.
#pragma once

#include <caisson/base/time.hpp>

#include <cstdint>
#include <vector>

namespace caisson::test {

struct ended {
  duration at;
  duration took;
};

struct average {
  std::int64_t calls = 0;
  double time = 0;
};

inline average average_of(const std::vector<ended>& all) {
  double sum = 0;
  for (const auto& x : all)
    sum += to_seconds(x.took);
  auto n = static_cast<std::int64_t>(all.size());
  return {n, n > 0 ? sum / static_cast<double>(n) : 0};
}

// The shorter one, unless it is one of fewer calls than a tenth.
inline average better(average before, average x) {
  if (before.calls == 0 || before.calls < x.calls / 10)
    return x;
  if (x.calls < before.calls / 10)
    return before;
  return x.time < before.time ? x : before;
}

} // namespace caisson::test
