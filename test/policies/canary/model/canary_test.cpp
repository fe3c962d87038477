#include <policies/canary/model/canary_model.hpp>
#include <policies/canary/model/canary_rig.hpp>
#include <support/operations.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace canaries;

const std::vector<canary_sample> canary_samples{
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::failure(errc::worker_down, true), canary_verdict::bad},
  {outcome::failure(errc::worker_down, false), canary_verdict::bad},
  {outcome::failure(errc::deadline_exceeded, true), canary_verdict::bad},
  {outcome::failure(errc::cancelled, true), canary_verdict::neutral},
};

canary_config canary_settings(int which) {
  auto c = quick_canary();
  c.stages = {0.2, 0.6, 1.0};
  c.dwell = 2s;
  c.min_calls = 3;
  c.window = 4s;
  c.max_error_excess = 0.4;
  c.max_failures_in_a_row = 3;
  c.retry_after = 20s;
  c.hand_over_after = 4s;
  if (which == 1) {
    c.stages = {0.3, {1.0, {.min_calls = 5, .max_failures_in_a_row = 1}}};
    c.max_p99 = 2s;
    c.hand_over_after = unlimited;
  }
  if (which == 2) {
    c.dwell = 7s;
    c.max_failures_in_a_row = 0;
    c.on_failure = on_canary_failure::pass;
    c.hand_over_after = 0s;
    c.stages = {{0.2, {.max_error_excess = 0.6}},
                {0.6, {.dwell = 1s, .min_calls = 2}},
                {1.0, {.max_p99 = 500ms}}};
  }
  if (which == 3)
    c.enabled = false;
  return c;
}

class canary_run {
public:
  canary_run() : real_(canary_settings(0)), model_(canary_settings(0)) {}

  void step(const operation& op) {
    switch (op.kind) {
      case 0:
      case 1:
        arrive(true, op);
        break;
      case 2:
        arrive(false, op);
        break;
      case 3:
      case 4:
      case 5:
      case 6:
        if (auto id = some_call(op.which))
          finish(id, pick(canary_samples, op.how));
        break;
      case 7:
        if (auto id = some_call(op.which); id != 0 && op.how % 4 == 0)
          abandon(id, op.how % 8 == 0);
        break;
      case 8:
      case 9:
        real_.advance(pick(steps, op.how));
        model_.advance(real_.e.now);
        break;
      case 10:
        // Rare, as it begins all over.
        if (op.how % 16 == 0) {
          auto what = op.which % 2 ? operator_command::reset
                                   : operator_command::enable;
          real_.advance(0ns);
          model_.advance(real_.e.now);
          real_.policy.command(what, real_.e);
          model_.command(what, real_.e.now);
        }
        break;
      case 11:
        if (op.how % 10 == 0) {
          auto next = canary_settings(static_cast<int>(op.which % 4));
          on_failure_ = next.on_failure;
          real_.advance(0ns);
          model_.advance(real_.e.now);
          real_.policy.reconfigure(next, real_.e);
          model_.reconfigure(next, real_.e.now);
        }
        break;
    }
    compare();
  }

private:
  static constexpr std::array<duration, 5> steps{0ns, 1ns, 5ms, 500ms, 3s};

  struct call {
    place where = place::below;
    bool of_canary = false;
    bool second = false;
    bool idempotent = false;
    bool may_have_executed = false;
    std::uint64_t run = 0;
    time_point sent;
  };

  void arrive(bool canary_key, const operation& op) {
    call_info f;
    f.key = canary_key ? real_.keys.canary : real_.keys.baseline;
    f.idempotent = op.how % 2 ? idempotence::yes : idempotence::unmarked;
    auto id = real_.arrive(f);
    model_.arrive(real_.e.now);
    auto& x = calls_[id];
    x.of_canary = model_.share() >= 1 || (canary_key && model_.share() > 0);
    x.where = x.of_canary ? place::redirected : place::below;
    x.idempotent = op.how % 2;
    x.run = model_.run;
    x.sent = real_.e.now;
    ++model_.count[x.of_canary ? "to_canary" : "to_baseline"];
    if (x.of_canary)
      model_.send(id, x.idempotent, real_.e.now);
  }

  void finish(call_id id, const canary_sample& s) {
    auto& x = calls_[id];
    real_.finish(id, s.result);
    x.may_have_executed = x.may_have_executed || s.result.may_have_executed;
    x.where = place::passed;
    if (!x.second)
      model_.answer(id, x.of_canary, s, x.run, x.sent, real_.e.now);
    if (x.of_canary && !x.second && s.meaning == canary_verdict::bad
        && on_failure_ == on_canary_failure::baseline
        && (!x.may_have_executed || x.idempotent)) {
      x.second = true;
      x.where = place::below;
      ++model_.count["given_to_baseline"];
    }
    if (x.where == place::passed)
      RC_ASSERT(real_.calls.at(id).result.may_have_executed
                == x.may_have_executed);
  }

  void abandon(call_id id, bool late) {
    auto& x = calls_[id];
    auto why = late ? errc::deadline_exceeded : errc::cancelled;
    real_.abandon(id, why);
    x.where = place::abandoned;
    if (!x.second)
      model_.answer(id, x.of_canary,
                    {outcome::failure(why, true),
                     late ? canary_verdict::bad : canary_verdict::neutral},
                    x.run, x.sent, real_.e.now);
  }

  call_id some_call(unsigned which) {
    std::vector<call_id> ids;
    for (auto& [id, x] : calls_)
      if (x.where == place::below || x.where == place::redirected)
        ids.push_back(id);
    return ids.empty() ? 0 : pick(ids, which);
  }

  // The baseline has them now, and the canary may have done the work.
  void take_handed_over() {
    for (auto id : std::exchange(model_.handed_over, {})) {
      auto& x = calls_[id];
      x.second = x.may_have_executed = true;
      x.where = place::below;
    }
  }

  void compare() {
    take_handed_over();
    RC_ASSERT(real_.policy.wakeup() == model_.due());
    auto state = model_.state;
    if (state == "stage")
      state = name_of_stage(model_.stage);
    RC_ASSERT(real_.state() == state);
    RC_ASSERT(real_.policy.share() == model_.share());
    std::int64_t with_canary = 0;
    for (auto& [id, x] : calls_) {
      RC_ASSERT(real_.where(id) == x.where);
      with_canary += x.where == place::redirected;
    }
    RC_ASSERT(real_.count("with_canary") == with_canary);
    RC_ASSERT(real_.count("stage_answers") == model_.answers);
    RC_ASSERT(real_.count("failures_in_a_row") == model_.in_a_row);
    std::vector<metric> ms;
    real_.policy.list_metrics(ms);
    for (auto& m : ms)
      if (!m.gauge)
        RC_ASSERT(m.value == model_.count[std::string{m.name}]);
  }

  canary_rig real_;
  canary_model model_;
  on_canary_failure on_failure_ = on_canary_failure::baseline;
  std::map<call_id, call> calls_;
};

RC_GTEST_PROP(canary, agrees_with_the_naive_one, ()) {
  canary_run r;
  for (auto& op : *operations(12))
    r.step(op);
}

} // namespace
} // namespace caisson::test
