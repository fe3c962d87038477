// A limiter that is asked for turns in the future.
#pragma once

#include <policies/limiter/model/limiter_rig.hpp>

#include <algorithm>
#include <cstdint>

namespace caisson::test {

/// What a request asks of a limiter; times are since the start of the rig.
struct reservation_times {
  std::uint32_t permits = 1;
  /// Negative: what it wants was in the past.
  duration max_wait = unlimited;
  duration earliest = duration::zero();
  duration deadline = unlimited;
};

struct reserving_rig : limiter_rig {
  /// The answer to a request: the turn since the start, or why there is none.
  struct promise {
    call_id id = 0;
    bool is_granted = false;
    duration turn{};
    errc code{};
    duration retry_after{};
  };

  explicit reserving_rig(limiter_config c) : limiter_rig(std::move(c)) {}

  promise reserve(reservation_times x = {}) {
    auto id = last_reserved_++;
    auto& entry = calls[id];
    entry.call.id = id;
    entry.call.permits = x.permits;
    if (x.deadline != unlimited)
      entry.call.deadline = start() + x.deadline;
    auto latest = x.max_wait < duration::zero() ? e.now + x.max_wait
                                                : time_after(e.now, x.max_wait);
    auto from = std::max(e.now, start() + x.earliest);
    auto d = policy.reserve(entry.call, entry.notes, {from, latest}, e);
    promise p{.id = id, .is_granted = d.what == decision::kind::pass};
    entry.where = p.is_granted ? place::below : place::rejected;
    if (p.is_granted)
      p.turn = (d.until == never ? e.now : d.until) - start();
    else
      p.code = d.code, p.retry_after = d.retry_after;
    work();
    return p;
  }

  /// The holder gives the permit back.
  void release(const promise& p) { finish(p.id); }

private:
  // Others than those of calls that arrive.
  call_id last_reserved_ = 1'000'000;
};

} // namespace caisson::test
