// Statistics of how long calls waited.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/policy.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace caisson::detail {

/// Sums up how long calls waited, in whole microseconds, and how long the one
/// did that waited longest. Sums stop at the largest number.
class wait_times {
public:
  /// A call got what it waited for.
  void granted(duration waited) noexcept { add(granted_, waited); }

  /// A call left without it, for whatever reason.
  void refused(duration waited) noexcept { add(refused_, waited); }

  void clear() noexcept { *this = {}; }

  void list(std::vector<metric>& out) const {
    out.push_back({"waited_us_granted", granted_, false});
    out.push_back({"waited_us_refused", refused_, false});
    out.push_back({"longest_wait_us", longest_, true});
  }

private:
  void add(std::int64_t& sum, duration waited) noexcept {
    using std::chrono::microseconds;
    std::int64_t us = std::chrono::duration_cast<microseconds>(waited).count();
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    sum = us > most - sum ? most : sum + us;
    longest_ = std::max(longest_, us);
  }

  std::int64_t granted_ = 0;
  std::int64_t refused_ = 0;
  std::int64_t longest_ = 0;
};

/// What an event says about a call that waited and was then rejected.
[[nodiscard]] inline std::string wait_text(duration waited) {
  return "waited " + to_text(waited);
}

} // namespace caisson::detail
