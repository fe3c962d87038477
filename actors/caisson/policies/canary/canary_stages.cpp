// Stages of a canary: when the next one begins, and when it is given up.
#include <caisson/policies/canary/canary.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson {

// -- what is in force ---------------------------------------------------------

double canary::share() const noexcept {
  switch (phase_) {
    case phase::stage:
      return config_.stages[stage_].share;
    case phase::promoted:
      return config_.stages.back().share;
    case phase::waiting:
    case phase::rolled_back:
      break;
  }
  return 0;
}

bool canary::judged() const noexcept {
  return phase_ == phase::stage || phase_ == phase::promoted;
}

// After the last stage they may be of another time of day.
detail::canary_comparison::old_latency canary::old_latency() const noexcept {
  return phase_ == phase::promoted
           ? detail::canary_comparison::old_latency::ignored
           : detail::canary_comparison::old_latency::counts;
}

const canary_stage& canary::ruling_stage() const {
  switch (phase_) {
    case phase::stage:
      return config_.stages[stage_];
    case phase::promoted:
      return config_.stages.back();
    case phase::waiting:
    case phase::rolled_back:
      break;
  }
  return config_.stages.front();
}

void canary::use_rules() {
  auto before = rules_.max_p99;
  rules_ = rules_of(config_, ruling_stage());
  if (rules_.max_p99 == before)
    return;
  comparison_.forget_timed();
  calls_.time_anew();
}

// -- time ---------------------------------------------------------------------

time_point canary::wakeup() const {
  return std::min({next_phase(), next_overdue(), next_hand_over()});
}

time_point canary::next_overdue() const {
  return judged() ? calls_.next_overdue(rules_.max_p99) : never;
}

time_point canary::next_hand_over() const {
  return calls_.next_hand_over(config_.hand_over_after);
}

time_point canary::next_phase() const {
  if (phase_ == phase::stage && !dwelt_)
    return time_after(since_, rules_.dwell);
  if (phase_ == phase::rolled_back)
    return time_after(since_, config_.retry_after);
  return never;
}

void canary::wake(env& e) {
  catch_up(e);
}

// What is due by now, and what becomes due by it.
void canary::catch_up(env& e) {
  while (e.now >= wakeup()) {
    hand_over(e);
    note_overdue(e);
    if (e.now < next_phase())
      continue;
    if (phase_ == phase::rolled_back) {
      begin("retry_after over", e);
    } else {
      dwelt_ = true;
      go_on_if_due(e);
    }
  }
}

void canary::note_overdue(env& e) {
  auto any = false;
  while (e.now >= next_overdue()) {
    if (!counts(calls_.take_overdue().run))
      continue;
    comparison_.add_timed(true);
    any = true;
  }
  if (any)
    weigh(e);
}

void canary::hand_over(env& e) {
  if (e.now < next_hand_over())
    return;
  // Those that must not be repeated, or have no time left, stay.
  auto may_go = [&e, acts = sends()](call_id id) {
    const auto* call = e.find(id);
    return acts && call && call->idempotent == idempotence::yes
           && e.now < call->deadline;
  };
  while (
    auto call = calls_.take_hand_over(config_.hand_over_after, e.now, may_go)) {
    --with_canary_;
    count(counter::canary_neutral);
    count(counter::handed_over);
    send_to_baseline(*call, "handed over", e);
  }
}

// -- stages -------------------------------------------------------------------

void canary::begin(std::string_view why, env& e) {
  ++run_;
  comparison_.clear();
  differences_.clear();
  enter(phase::stage, 0, why, e);
}

void canary::enter(phase next, std::size_t stage, std::string_view why,
                   env& e) {
  auto from = state();
  phase_ = next;
  stage_ = stage;
  since_ = e.now;
  dwelt_ = false;
  answers_ = failures_in_a_row_ = compared_ = differing_ = 0;
  described_ = 0;
  comparison_.restart(rules_, e.now);
  use_rules();
  if (auto to = state(); to != from)
    e.emit({.kind = event_kind::state_changed,
            .from = from,
            .to = to,
            .detail = why});
}

void canary::weigh(env& e) {
  if (rules_.max_failures_in_a_row != 0
      && failures_in_a_row_ >= rules_.max_failures_in_a_row)
    return roll_back(fmt::format("{} failures in a row", failures_in_a_row_),
                     e);
  auto why = comparison_.worse_in(rules_, old_latency(), false);
  if (!why.empty())
    return roll_back(why, e);
  go_on_if_due(e);
}

void canary::go_on_if_due(env& e) {
  if (phase_ != phase::stage || !dwelt_ || answers_ < rules_.min_calls)
    return;
  auto why = comparison_.worse_in(rules_, old_latency(), true);
  if (!why.empty())
    return roll_back(why, e);
  if (stage_ + 1 < config_.stages.size()) {
    count(counter::went_on);
    return enter(phase::stage, stage_ + 1, "as good as the baseline", e);
  }
  count(counter::promotions);
  enter(phase::promoted, stage_, "as good as the baseline", e);
}

void canary::roll_back(std::string_view why, env& e) {
  give_up(e);
  ++run_;
  count(counter::rollbacks);
  enter(phase::rolled_back, 0, why, e);
}

// What the canary has by now goes to the baseline later.
void canary::give_up(env& e) {
  calls_.give_up(run_, e.now);
}

} // namespace caisson
