// Takes one call in and out of a policy, with no more than a gate must do.
#pragma once

#include <caisson/policy/policy.hpp>

#include <chrono>

namespace caisson::bench {

/// Plays the gate's part.
struct solo_env final : env {
  solo_env() : env(time_point{} + std::chrono::hours{1}, source) {}
  random_source source{1};
};

/// A call with the policy's notes on it.
struct solo_call {
  solo_call() {
    call.id = 1;
    call.deadline = never;
    call.idempotent = idempotence::yes;
  }

  call_info call;
  slot notes;
};

/// Keeps the optimiser from leaving out what made `x`.
template <class T>
void keep(const T& x) {
  asm volatile("" : : "r,m"(x) : "memory");
}

/// One call in and out again; a microsecond passes between two calls.
inline void take_one(policy& p, solo_env& e, solo_call& x) {
  e.now += std::chrono::microseconds{1};
  auto d = p.admit(x.call, x.notes, e);
  auto o = outcome::success();
  if (d.what == decision::kind::pass)
    keep(p.complete(x.call, x.notes, o, e));
  else
    p.abandon(x.call, x.notes, o, false, e);
  x.call.deadline = never;
  if (p.wakeup() <= e.now)
    p.wake(e);
}

} // namespace caisson::bench
