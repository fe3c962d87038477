// A model of a retrier.
#pragma once

#include <caisson/policies/retrier/retrier.hpp>

#include <policies/retrier/model/retry_budget_model.hpp>
#include <support/against_model.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

struct retried_call : modelled_call {
  time_point deadline = never;
  idempotence mark = idempotence::unmarked;
  std::uint32_t attempt = 1;
  std::uint32_t sent = 1;
  std::size_t next_delay = 0;
  bool executed = false;
};

/// The schedule as a plain list.
struct retrier_settings {
  retrier_config config;
  std::vector<duration> delays;
  // Whether the last delay repeats for ever.
  bool endless = false;
};

class retrier_model : public policy_model<retrier, retried_call> {
public:
  using settings = retrier_settings;
  enum class means { success, worth_it, final };

  // `other`: the gate's breakers change.
  static constexpr step_shares shares{.arrive = 20,
                                      .end = 40,
                                      .abandon = 10,
                                      .advance = 20,
                                      .step_back = 10,
                                      .reconfigure = 10,
                                      .command = 1,
                                      .other = 9};

  explicit retrier_model(settings s)
    : s_(std::move(s)), budget_(limits_of(s_.config)) {}

  static const retrier_config& config_of(const settings& s) { return s.config; }

  // -- what is drawn ----------------------------------------------------------

  static settings any_settings() {
    using namespace std::chrono_literals;
    settings s;
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

  call_info arrival(const operation& x, unsigned) const {
    using namespace std::chrono_literals;
    call_info call;
    call.deadline = time_after(
      now, one_of<duration>({unlimited, 0ns, 1ns, 10ms, 1s, 1min}, x.which));
    call.idempotent = static_cast<idempotence>(x.how % 3);
    call.attempt = x.how % 4 == 0 ? 2 : 1;
    return call;
  }

  static ending<means> how_it_ends(const operation& x) {
    using namespace std::chrono_literals;
    auto failed = [](errc code, bool executed, duration again = {}) {
      return ending<means>{outcome::failure(code, executed, again),
                           means::worth_it};
    };
    return one_of<ending<means>>(
      {{outcome::success(), means::success},
       failed(errc::worker_down, true),
       failed(errc::worker_down, false),
       failed(errc::deadline_exceeded, true),
       failed(errc::rate_limited, false, 1ns),
       failed(errc::rate_limited, true, 5ms),
       failed(errc::breaker_open, false, 5s),
       failed(errc::queue_full, false, -1ns),
       failed(errc::wait_timeout, false),
       failed(errc::breaker_open, false, unlimited),
       {outcome::failure(errc::shed, false), means::final},
       {outcome::failure(errc::cancelled, true), means::final}},
      x.how);
  }

  static duration length(const operation& x) {
    using namespace std::chrono_literals;
    return one_of<duration>({0ns, 1ns, 1ms, 5ms, 10ms, 1s, 11s}, x.how);
  }

  // -- what happens -----------------------------------------------------------

  void arrive(call_id id, const call_info& call) {
    auto& x = calls[id];
    x.deadline = call.deadline;
    x.mark = call.idempotent;
    x.attempt = call.attempt;
    ++count["calls"];
    if (s_.config.budget && call.attempt == 1)
      budget_.deposit(now);
  }

  void finish(call_id id, const ending<means>& how) {
    auto& x = calls[id];
    const auto& o = how.result;
    x.executed = x.executed || o.may_have_executed;
    x.may_have_executed = x.executed || o.ok;
    auto rejected = o.is(errc::breaker_open) || o.is(errc::rate_limited);
    auto fine = s_.config.budget_rejection_cost;
    if (rejected && s_.config.budget && fine > 0) {
      ++count["rejections_charged"];
      budget_.charge(now, fine);
    }
    if (how.meaning != means::final)
      ++count[std::string{try_of(x)} + (o.ok ? "_ok" : "_failed")];
    x.where = place::passed;
    if (o.ok) {
      ++count[x.sent == 1 ? "succeeded" : "recovered"];
      return;
    }
    duration wait{};
    auto why = refusal(x, how, wait);
    ++count[why.empty() ? "retried" : why];
    if (!why.empty())
      return;
    x.hold(now + wait);
    if (o.retry_after > duration::zero())
      ++count["pushed_back"];
    if (o.retry_after > duration::zero() && wait >= o.retry_after)
      x.next_delay = 0;
    else
      ++x.next_delay;
  }

  void abandon(call_id id, errc) {
    auto& x = calls[id];
    ++count[x.where == place::held ? "abandoned_waiting" : "abandoned"];
    if (x.where != place::held)
      ++count[std::string{try_of(x)} + "_failed"];
  }

  void advance_to(time_point t) {
    for (auto& [id, x] : calls)
      if (x.where == place::held && *x.until <= t) {
        x.where = place::below;
        ++x.sent;
        ++x.attempt;
        ++count["resent"];
      }
  }

  void reconfigure(const settings& s) {
    const auto& a = s_.config;
    const auto& b = s.config;
    if (a.budget_ratio != b.budget_ratio || a.budget_ttl != b.budget_ttl
        || a.budget_reserve != b.budget_reserve || (b.budget && !a.budget))
      budget_ = retry_budget_model{limits_of(b)};
    if (a.backoff != b.backoff)
      for (auto& [id, x] : calls)
        x.next_delay = 0;
    s_ = s;
  }

  void command(const policy_command&) {
    count.clear();
    budget_.clear();
    was_reset_ = true;
  }

  void other(const operation& x, rig& real) {
    breakers_ = real.e.breakers = static_cast<circuit>(x.how % 3);
  }

  // -- what is compared -------------------------------------------------------

  void measure() {
    count["waiting"] = calls_at(place::held);
    count["budget_left"] = s_.config.budget ? budget_.balance() : 0;
  }

  // Every call ends exactly once.
  void check(const rig& real) const {
    auto n = [&](auto... names) { return (real.count(names) + ...); };
    if (!was_reset_)
      RC_ASSERT(n("calls")
                == n("succeeded", "recovered", "not_retryable",
                     "not_idempotent", "gave_up_pushback", "gave_up_attempts",
                     "gave_up_deadline", "gave_up_schedule", "gave_up_budget",
                     "gave_up_open", "gave_up_half_open", "abandoned",
                     "abandoned_waiting")
                     + calls_at(place::held) + calls_at(place::below));
    for (const auto& [id, x] : calls)
      RC_ASSERT(real.calls.at(id).call.attempt == x.attempt);
  }

private:
  static retry_budget::limits limits_of(const retrier_config& c) {
    return {c.budget_ttl, c.budget_reserve, c.budget_ratio};
  }

  static std::string_view try_of(const retried_call& x) {
    return x.sent == 1 ? "first_try" : x.sent == 2 ? "second_try" : "later_try";
  }

  bool repeatable(const retried_call& x) const {
    if (x.mark == idempotence::unmarked)
      return s_.config.idempotent;
    return x.mark == idempotence::yes;
  }

  // Why the call is not retried; empty, with the wait, if it is.
  std::string refusal(const retried_call& x, const ending<means>& s,
                      duration& wait) {
    if (s.meaning != means::worth_it)
      return "not_retryable";
    if (x.executed && !repeatable(x))
      return "not_idempotent";
    if (s.result.retry_after < duration::zero())
      return "gave_up_pushback";
    auto most = s_.config.max_attempts;
    if (most == 0)
      most = x.deadline == never ? 1'000 : 1'000'000;
    if (x.sent >= most)
      return "gave_up_attempts";
    if (x.deadline != never && now >= x.deadline)
      return "gave_up_deadline";
    if (x.next_delay < s_.delays.size())
      wait = s_.delays[x.next_delay];
    else if (s_.endless)
      wait = s_.delays.back();
    else
      return "gave_up_schedule";
    auto overload = s.result.is(errc::rate_limited)
                    || s.result.is(errc::wait_timeout);
    if (overload && wait != unlimited)
      wait *= static_cast<int>(s_.config.overload_factor);
    auto margin = s_.config.retry_after_margin;
    if (margin != unlimited && wait != unlimited)
      wait = std::clamp(s.result.retry_after, wait, wait + margin);
    else
      wait = std::max(wait, s.result.retry_after);
    if (s_.config.max_attempts == 0)
      wait = std::max<duration>(wait, std::chrono::milliseconds(1));
    if (wait == unlimited || (x.deadline != never && now + wait >= x.deadline))
      return "gave_up_deadline";
    if (s_.config.heed_breakers && breakers_ == circuit::open)
      return "gave_up_open";
    if (s_.config.heed_breakers && breakers_ == circuit::half_open
        && x.sent >= 2)
      return "gave_up_half_open";
    auto cost = s.result.is(errc::deadline_exceeded)
                  ? s_.config.budget_timeout_cost
                : overload ? s_.config.budget_overload_cost
                           : s_.config.budget_cost;
    if (s_.config.budget && !budget_.try_withdraw(now, cost))
      return "gave_up_budget";
    return {};
  }

  settings s_;
  retry_budget_model budget_;
  circuit breakers_ = circuit::closed;
  bool was_reset_ = false;
};

} // namespace caisson::test
