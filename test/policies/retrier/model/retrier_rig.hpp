// Helpers of the retrier's unit tests.
#pragma once

#include <caisson/policies/retrier/retrier.hpp>

#include <support/rig.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace caisson::test::retrying {

using retrier_rig = rig<retrier>;

/// Retries after 10ms, as often as the test likes, whatever may have executed.
inline retrier_config simple_retrier() {
  retrier_config c;
  c.max_attempts = 1'000;
  c.backoff = schedule::constant(std::chrono::milliseconds(10));
  c.idempotent = true;
  c.budget = false;
  return c;
}

inline outcome worker_failed() {
  return outcome::failure(errc::worker_down, true);
}

inline outcome pushback(duration d) {
  return outcome::failure(errc::rate_limited, false, d);
}

/// How long the call is held from now on; fails unless it is held.
inline duration wait_of(const retrier_rig& h, call_id id) {
  EXPECT_EQ(h.where(id), place::held);
  return h.calls.at(id).until - h.e.now;
}

/// Ends an attempt, waits for its backoff and returns how long it was.
inline duration backoff_after(retrier_rig& h, call_id id,
                              outcome o = worker_failed()) {
  h.finish(id, o);
  auto d = wait_of(h, id);
  h.advance(d);
  EXPECT_EQ(h.where(id), place::below);
  return d;
}

} // namespace caisson::test::retrying
