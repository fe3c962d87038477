// Takes calls in and out of a policy alone, with no more than a gate must do.
#pragma once

#include <caisson/policy/policy.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

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

/// As many calls as make a batch come, and the batch is answered. @pre the
/// last of them completes one
template <class Batcher>
void take_batch(Batcher& p, solo_env& e, std::vector<solo_call>& xs) {
  e.now += std::chrono::microseconds{1};
  for (auto& x : xs)
    keep(p.admit(x.call, x.notes, e));
  auto batch = e.actions.at(0).index;
  e.actions.clear();
  for (auto& x : xs) {
    auto o = outcome::success();
    keep(p.complete(x.call, x.notes, o, e));
  }
  auto o = outcome::success();
  keep(p.child_done(batch, o, e));
}

/// `n` calls with different numbers.
inline std::vector<solo_call> numbered_calls(std::size_t n) {
  std::vector<solo_call> out(n);
  for (std::size_t i = 0; i < n; ++i)
    out[i].call.id = i + 1;
  return out;
}

} // namespace caisson::bench
