#include <caisson/policies/retrier/retrier.hpp>

#include <policies/retrier/model/naive_retry_budget.hpp>
#include <support/operations.hpp>
#include <support/solo.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// -- settings -----------------------------------------------------------------

// A retrier's settings with the schedule as a plain list.
struct settings_of_run {
  retrier_config config;
  std::vector<duration> delays;
  // Whether the last delay repeats for ever.
  bool endless = false;
};

settings_of_run some_settings() {
  settings_of_run s;
  s.delays = *rc::gen::container<std::vector<duration>>(
    *rc::gen::inRange(0, 4),
    rc::gen::element<duration>(0ns, 1ns, 1ms, 10ms, 1s, unlimited));
  s.endless = !s.delays.empty() && *rc::gen::arbitrary<bool>();
  auto& c = s.config;
  c.backoff = schedule{};
  for (auto d : s.delays)
    c.backoff = c.backoff.then(schedule::constant(d).take(1));
  if (s.endless)
    c.backoff = c.backoff.then(schedule::constant(s.delays.back()));
  c.max_attempts = *rc::gen::element<std::uint32_t>(0, 1, 2, 3, 1'000);
  // More delays than retries are refused.
  if (c.max_attempts > 1 && s.delays.size() + s.endless >= c.max_attempts)
    c.max_attempts = 1'000;
  c.idempotent = *rc::gen::arbitrary<bool>();
  c.budget = *rc::gen::arbitrary<bool>();
  c.unsafe = true;
  c.alarm_first_try = 0;
  c.budget_ratio = *rc::gen::element(0.0, 0.000001, 0.2, 0.5, 1.0);
  c.budget_reserve = *rc::gen::element<std::uint32_t>(0, 1, 10, 1'000'000);
  // Nor is a budget accepted that pays for nothing.
  if (c.budget_ratio == 0.0)
    c.budget_reserve = std::max(c.budget_reserve, 1u);
  c.budget_ttl = *rc::gen::element<duration>(1s, 10s, 60s);
  c.budget_cost = *rc::gen::element<std::uint32_t>(1, 1, 3);
  c.budget_timeout_cost = *rc::gen::element<std::uint32_t>(1, 2, 100);
  c.budget_overload_cost = *rc::gen::element<std::uint32_t>(1, 1, 5);
  c.overload_factor = *rc::gen::element(1.0, 1.0, 2.0, 20.0);
  c.retry_after_margin = *rc::gen::element<duration>(0ns, 1ms, 1s, unlimited,
                                                     unlimited);
  c.budget_rejection_cost = *rc::gen::element<std::uint32_t>(0, 1, 1, 100);
  c.heed_breakers = *rc::gen::arbitrary<bool>();
  if (c.budget_ratio == 0.0 && c.budget_reserve < 100)
    c.budget_cost = c.budget_timeout_cost = c.budget_overload_cost = 1;
  return s;
}

// -- outcomes -----------------------------------------------------------------

struct retrier_sample {
  outcome result;
  bool success;
  bool worth_it;
};

const std::vector<retrier_sample> retrier_samples{
  {outcome::success(), true, false},
  {outcome::failure(errc::worker_down, true), false, true},
  {outcome::failure(errc::worker_down, false), false, true},
  {outcome::failure(errc::deadline_exceeded, true), false, true},
  {outcome::failure(errc::rate_limited, false, 1ns), false, true},
  {outcome::failure(errc::rate_limited, true, 5ms), false, true},
  {outcome::failure(errc::breaker_open, false, 5s), false, true},
  {outcome::failure(errc::queue_full, false, -1ns), false, true},
  {outcome::failure(errc::wait_timeout, false), false, true},
  {outcome::failure(errc::breaker_open, false, unlimited), false, true},
  {outcome::failure(errc::shed, false), false, false},
  {outcome::failure(errc::cancelled, true), false, false},
};

// -- the second model ---------------------------------------------------------

class retrier_model {
public:
  struct call {
    place where = place::below;
    time_point until = never;
    time_point deadline = never;
    idempotence mark = idempotence::unmarked;
    std::uint32_t attempt = 1;
    std::uint32_t sent = 1;
    std::size_t next_delay = 0;
    bool may_have_executed = false;
  };

  explicit retrier_model(settings_of_run s)
    : now_(std::move(s)), budget_(limits_of(now_.config)) {}

  void arrive(call_id id, const call_info& f, time_point now) {
    auto& x = calls[id];
    x.deadline = f.deadline;
    x.mark = f.idempotent;
    x.attempt = f.attempt;
    ++count["calls"];
    if (now_.config.budget && f.attempt == 1)
      budget_.deposit(now);
  }

  void finish(call_id id, const retrier_sample& s, time_point now) {
    auto& x = calls[id];
    x.may_have_executed = x.may_have_executed || s.result.may_have_executed;
    auto rejected = s.result.is(errc::breaker_open)
                    || s.result.is(errc::rate_limited);
    auto fine = now_.config.budget_rejection_cost;
    if (rejected && now_.config.budget && fine > 0) {
      ++count["rejections_charged"];
      budget_.charge(now, fine);
    }
    if (s.success || s.worth_it)
      ++count[std::string{try_of(x)} + (s.success ? "_ok" : "_failed")];
    if (s.success) {
      ++count[x.sent == 1 ? "succeeded" : "recovered"];
      x.where = place::passed;
      return;
    }
    duration wait{};
    auto why = refusal(x, s, now, wait);
    ++count[why.empty() ? "retried" : why];
    x.where = why.empty() ? place::held : place::passed;
    if (!why.empty())
      return;
    x.until = now + wait;
    if (s.result.retry_after > 0ns)
      ++count["pushed_back"];
    if (s.result.retry_after > 0ns && wait >= s.result.retry_after)
      x.next_delay = 0;
    else
      ++x.next_delay;
  }

  void abandon(call_id id) {
    auto& x = calls[id];
    ++count[x.where == place::held ? "abandoned_waiting" : "abandoned"];
    if (x.where != place::held)
      ++count[std::string{try_of(x)} + "_failed"];
    x.where = place::abandoned;
  }

  void advance(time_point now) {
    for (auto& [id, x] : calls)
      if (x.where == place::held && x.until <= now) {
        x.where = place::below;
        ++x.sent;
        ++x.attempt;
        ++count["resent"];
      }
  }

  void reconfigure(settings_of_run s) {
    auto& a = now_.config;
    auto& b = s.config;
    if (a.budget_ratio != b.budget_ratio || a.budget_ttl != b.budget_ttl
        || a.budget_reserve != b.budget_reserve || (b.budget && !a.budget))
      budget_ = naive_retry_budget{limits_of(b)};
    if (a.backoff != b.backoff)
      for (auto& [id, x] : calls)
        x.next_delay = 0;
    now_ = std::move(s);
  }

  void reset() {
    count.clear();
    budget_.clear();
  }

  std::int64_t waiting() const {
    std::int64_t n = 0;
    for (auto& [id, x] : calls)
      n += x.where == place::held;
    return n;
  }

  std::int64_t budget_left() const {
    return now_.config.budget ? budget_.balance() : 0;
  }

  std::map<call_id, call> calls;
  std::map<std::string, std::int64_t> count;
  circuit breakers = circuit::closed;

private:
  static retry_budget::limits limits_of(const retrier_config& c) {
    return {c.budget_ttl, c.budget_reserve, c.budget_ratio};
  }

  static std::string_view try_of(const call& x) {
    return x.sent == 1 ? "first_try" : x.sent == 2 ? "second_try" : "later_try";
  }

  bool repeatable(const call& x) const {
    if (x.mark == idempotence::unmarked)
      return now_.config.idempotent;
    return x.mark == idempotence::yes;
  }

  // Why the call is not retried; empty, with the wait, if it is.
  std::string refusal(const call& x, const retrier_sample& s, time_point now,
                      duration& wait) {
    if (!s.worth_it)
      return "not_retryable";
    if (x.may_have_executed && !repeatable(x))
      return "not_idempotent";
    if (s.result.retry_after < 0ns)
      return "gave_up_pushback";
    auto most = now_.config.max_attempts;
    if (most == 0)
      most = x.deadline == never ? 1'000 : 1'000'000;
    if (x.sent >= most)
      return "gave_up_attempts";
    if (x.deadline != never && now >= x.deadline)
      return "gave_up_deadline";
    if (x.next_delay < now_.delays.size())
      wait = now_.delays[x.next_delay];
    else if (now_.endless)
      wait = now_.delays.back();
    else
      return "gave_up_schedule";
    auto overload = s.result.is(errc::rate_limited)
                    || s.result.is(errc::wait_timeout);
    if (overload && wait != unlimited)
      wait *= static_cast<int>(now_.config.overload_factor);
    auto margin = now_.config.retry_after_margin;
    if (margin != unlimited && wait != unlimited)
      wait = std::clamp(s.result.retry_after, wait, wait + margin);
    else
      wait = std::max(wait, s.result.retry_after);
    if (now_.config.max_attempts == 0)
      wait = std::max<duration>(wait, 1ms);
    if (wait == unlimited || (x.deadline != never && now + wait >= x.deadline))
      return "gave_up_deadline";
    if (now_.config.heed_breakers && breakers == circuit::open)
      return "gave_up_open";
    if (now_.config.heed_breakers && breakers == circuit::half_open
        && x.sent >= 2)
      return "gave_up_half_open";
    auto cost = s.result.is(errc::deadline_exceeded)
                  ? now_.config.budget_timeout_cost
                : overload ? now_.config.budget_overload_cost
                           : now_.config.budget_cost;
    if (now_.config.budget && !budget_.try_withdraw(now, cost))
      return "gave_up_budget";
    return {};
  }

  settings_of_run now_;
  naive_retry_budget budget_;
};

// -- the run ------------------------------------------------------------------

class retrier_run {
public:
  explicit retrier_run(std::vector<settings_of_run> s)
    : settings_(std::move(s)), real_(settings_.front().config),
      model_(settings_.front()) {}

  void step(const operation& op) {
    switch (op.kind) {
      case 0:
      case 1:
        arrive(op);
        break;
      case 2:
      case 3:
      case 4:
      case 5:
        finish(op);
        break;
      case 6:
        if (auto id = some_call(op.which, true)) {
          real_.abandon(id);
          model_.abandon(id);
        }
        break;
      case 7:
      case 8:
        real_.advance(pick(steps, op.how));
        model_.advance(real_.e.now);
        break;
      case 9:
        real_.set_clock(real_.now() - pick(steps, op.how));
        break;
      case 10:
        reconfigure(pick(settings_, op.which));
        break;
      case 11:
        if (op.how < 100)
          reset();
        else
          model_.breakers = real_.e.breakers = static_cast<circuit>(op.how % 3);
        break;
    }
    compare();
  }

private:
  static constexpr std::array<duration, 7> steps{0ns,  1ns, 1ms, 5ms,
                                                 10ms, 1s,  11s};

  void arrive(const operation& op) {
    static constexpr std::array<duration, 6> lefts{unlimited, 0ns, 1ns,
                                                   10ms,      1s,  1min};
    call_info f;
    f.deadline = time_after(real_.e.now, pick(lefts, op.which));
    f.idempotent = static_cast<idempotence>(op.how % 3);
    f.attempt = op.how % 4 == 0 ? 2 : 1;
    model_.arrive(real_.arrive(f), f, real_.e.now);
  }

  void finish(const operation& op) {
    if (auto id = some_call(op.which, false)) {
      auto& s = pick(retrier_samples, op.how);
      real_.finish(id, s.result);
      model_.finish(id, s, real_.e.now);
      if (real_.where(id) == place::passed)
        RC_ASSERT(real_.calls.at(id).result.may_have_executed
                  == (model_.calls.at(id).may_have_executed || s.success));
    }
  }

  void reconfigure(const settings_of_run& s) {
    real_.policy.reconfigure(s.config, real_.e);
    model_.reconfigure(s);
  }

  void reset() {
    RC_ASSERT(real_.policy.command(operator_command::reset, real_.e));
    model_.reset();
    was_reset_ = true;
  }

  // One of the calls that are below (or held, too); 0 if there is none.
  call_id some_call(unsigned which, bool held_too) {
    std::vector<call_id> ids;
    for (auto& [id, x] : model_.calls)
      if (x.where == place::below || (held_too && x.where == place::held))
        ids.push_back(id);
    return ids.empty() ? 0 : pick(ids, which);
  }

  void compare() {
    std::int64_t live = 0;
    for (auto& [id, x] : model_.calls) {
      auto& y = real_.calls.at(id);
      RC_ASSERT(x.where == y.where);
      if (x.where == place::held)
        RC_ASSERT(x.until == y.until);
      RC_ASSERT(x.attempt == y.call.attempt);
      live += x.where == place::held || x.where == place::below;
    }
    std::vector<metric> ms;
    real_.policy.list_metrics(ms);
    std::map<std::string_view, std::int64_t> got;
    for (auto& m : ms) {
      got[m.name] = m.value;
      if (!m.gauge)
        RC_ASSERT(m.value == model_.count[std::string{m.name}]);
    }
    RC_ASSERT(got["waiting"] == model_.waiting());
    RC_ASSERT(got["budget_left"] == model_.budget_left());
    // Every call ends exactly once.
    std::int64_t ended = 0;
    for (auto name :
         {"succeeded", "recovered", "not_retryable", "not_idempotent",
          "gave_up_pushback", "gave_up_attempts", "gave_up_deadline",
          "gave_up_schedule", "gave_up_budget", "gave_up_open",
          "gave_up_half_open", "abandoned", "abandoned_waiting"})
      ended += got[name];
    if (!was_reset_)
      RC_ASSERT(got["calls"] == ended + live);
  }

  std::vector<settings_of_run> settings_;
  solo<retrier> real_;
  retrier_model model_;
  bool was_reset_ = false;
};

RC_GTEST_PROP(retrier, agrees_with_the_naive_one, ()) {
  retrier_run r{{some_settings(), some_settings(), some_settings()}};
  for (auto& op : *operations(12))
    r.step(op);
}

RC_GTEST_PROP(retrier, same_seed_same_delays_within_their_bounds, ()) {
  retrier_config c;
  c.max_attempts = 1'000;
  c.idempotent = true;
  c.budget = false;
  auto seed = *rc::gen::arbitrary<std::uint64_t>();
  auto delay = *rc::gen::element<duration>(0ns, 1ms, 100ms, 3s);
  auto delays = [&] {
    solo<retrier> h{c};
    h.random = random_source{seed};
    auto id = h.arrive();
    std::vector<duration> out;
    for (int i = 0; i < 50; ++i) {
      h.finish(id, outcome::failure(errc::rate_limited, false, delay));
      out.push_back(h.calls.at(id).until - h.e.now);
      h.advance(out.back());
    }
    return out;
  };
  auto first = delays();
  RC_ASSERT(first == delays());
  for (auto d : first) {
    RC_ASSERT(d >= delay);
    RC_ASSERT(d < delay + 2s);
  }
}

} // namespace
} // namespace caisson::test
