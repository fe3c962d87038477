// Helpers of the limiter's tests.
#pragma once

#include <caisson/policies/limiter.hpp>

#include <support/rig.hpp>

namespace caisson::test {

using namespace std::chrono_literals;

using limiter_rig = rig<limiter>;

inline constexpr auto minute = duration{60s};

inline limiter_config some_limiter(std::int64_t rate, duration per,
                                   std::uint32_t burst, duration max_wait = 0ns,
                                   std::uint32_t max_waiters = 1000) {
  limiter_config c;
  c.rate = rate;
  c.per = per;
  c.burst = burst;
  c.max_wait = max_wait;
  c.max_waiters = max_waiters;
  return c;
}

inline call_info due_at(duration deadline) {
  call_info f;
  f.deadline = limiter_rig::start() + deadline;
  return f;
}

// An error of the worker itself.
inline outcome error_of_worker(duration retry_after) {
  outcome o;
  o.ok = false;
  o.from_worker = true;
  o.code = 42;
  o.category = category_hash("app");
  o.retry_after = retry_after;
  return o;
}

// What `o` says, said by the worker itself.
inline outcome answered(outcome o) {
  o.from_worker = true;
  o.may_have_executed = true;
  return o;
}

} // namespace caisson::test
