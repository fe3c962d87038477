// The settings and steps that are drawn for a canary and its model.
#pragma once

#include <policies/canary/model/canary_rig.hpp>
#include <support/against_model.hpp>

#include <chrono>
#include <cstdint>

namespace caisson::test {

using namespace std::chrono_literals;

/// A call with who has it.
struct canary_call : modelled_call {
  bool of_canary = false;
  bool second = false;
  bool idempotent = false;
  bool executed = false;
  std::uint64_t run = 0;
  time_point sent{};
};

inline canary_config canary_settings(int which) {
  auto c = canaries::quick_canary();
  c.stages = {0.2, 0.6, 1.0};
  c.dwell = 2s;
  c.min_calls = 3;
  c.window = 4s;
  c.max_error_excess = 0.4;
  c.max_failures_in_a_row = 3;
  c.retry_after = 20s;
  c.hand_over_after = 4s;
  if (which == 1) {
    c.significance_level = 0.2;
    c.stages = {0.3, {1.0, {.min_calls = 5, .max_failures_in_a_row = 1}}};
    c.max_p99 = 2s;
    c.hand_over_after = unlimited;
  }
  if (which == 2) {
    c.dwell = 7s;
    c.max_failures_in_a_row = 0;
    c.on_failure = on_canary_failure::pass;
    c.hand_over_after = 0s;
    c.stages = {
      {0.2, {.max_error_excess = 0.6}},
      {0.6, {.dwell = 1s, .min_calls = 2, .significance_level = 0.05}},
      {1.0, {.max_p99 = 500ms}}};
  }
  if (which == 3)
    c.enabled = false;
  return c;
}

/// Those of the first settings, which do for the others, too.
inline const canaries::key_pair& keys_of_all() {
  static const auto keys = canaries::keys_for(canary_settings(0));
  return keys;
}

class canary_steps : public policy_model<canary, canary_call> {
public:
  using rig = canaries::canary_rig;

  static constexpr step_shares shares{.arrive = 48,
                                      .end = 64,
                                      .abandon = 4,
                                      .advance = 32,
                                      .reconfigure = 2,
                                      .command = 1};
  static constexpr bool wakes_around_changes = true;

  static canary_config any_settings() {
    return canary_settings(any_of({0, 1, 2, 3}));
  }

  static call_info arrival(const operation& x, unsigned) {
    call_info call;
    call.key = x.which % 3 < 2 ? keys_of_all().canary : keys_of_all().baseline;
    call.idempotent = x.how % 2 ? idempotence::yes : idempotence::unmarked;
    return call;
  }

  // Mostly well, or no canary would get far.
  static ending<canary_verdict> how_it_ends(const operation& x) {
    return one_of<ending<canary_verdict>>(
      {{outcome::failure(errc::worker_down, true), canary_verdict::bad},
       {outcome::failure(errc::worker_down, false), canary_verdict::bad},
       {outcome::failure(errc::deadline_exceeded, true), canary_verdict::bad},
       {outcome::failure(errc::cancelled, true), canary_verdict::neutral},
       {outcome::success(), canary_verdict::good},
       {outcome::success(), canary_verdict::good},
       {outcome::success(), canary_verdict::good},
       {outcome::success(), canary_verdict::good},
       {outcome::success(), canary_verdict::good},
       {outcome::success(), canary_verdict::good},
       {outcome::success(), canary_verdict::good},
       {outcome::success(), canary_verdict::good},
       {outcome::success(), canary_verdict::good}},
      x.how);
  }

  static errc why_it_leaves(const operation& x) {
    return one_of({errc::deadline_exceeded, errc::cancelled}, x.how);
  }

  static duration length(const operation& x) {
    return one_of<duration>({0ns, 1ns, 5ms, 500ms, 3s}, x.how);
  }

  static policy_command some_command(const operation& x) {
    return one_of<policy_command>(
      {operator_command::reset, operator_command::enable}, x.which);
  }
};

} // namespace caisson::test
