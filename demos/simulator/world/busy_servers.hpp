// Load of a simulated service, for the gates that it has.
#pragma once

#include <caisson/base/usage_share.hpp>
#include <caisson/policy/load_source.hpp>

#include <algorithm>
#include <cstdint>

namespace caisson::sim {

/// The share of its servers that a service, or a replica, has at work: what its
/// gates take for the CPU time. Memory is unknown.
class busy_servers final : public load_source {
public:
  /// So many of its servers work from `now` on.
  void set(time_point now, std::uint64_t busy, std::uint64_t servers) {
    pass_time(now);
    busy_ = busy;
    servers_ = servers;
  }

  load_reading read(time_point now, duration max_age) override {
    if (!was_read_ || now >= time_after(read_at_, max_age)) {
      pass_time(now);
      share_.add(now, work_,
                 static_cast<double>(std::max<std::uint64_t>(servers_, 1)));
      read_at_ = now;
      was_read_ = true;
    }
    return {.cpu = share_.value()};
  }

private:
  void pass_time(time_point now) {
    if (now > latest_)
      work_ += static_cast<double>(busy_) * to_seconds(now - latest_);
    latest_ = std::max(latest_, now);
  }

  std::uint64_t busy_ = 0;
  std::uint64_t servers_ = 0;
  time_point latest_;
  // Seconds of servers.
  double work_ = 0;
  usage_share share_;
  bool was_read_ = false;
  time_point read_at_;
};

} // namespace caisson::sim
