#include <caisson/base/ensure.hpp>
#include <caisson/policies/retrier/retrier.hpp>
#include <caisson/policy/call_number.hpp>
#include <caisson/policy/callback.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace caisson {

// -- construction -------------------------------------------------------------

namespace {

constexpr std::uint32_t unlimited_attempts = ~std::uint32_t{0};

retry_budget::limits limits_of(const retrier_config& c) {
  return {c.budget_ttl, c.budget_reserve, c.budget_ratio};
}

detail::first_try_alarm::limits alarm_of(const retrier_config& c) {
  return {c.alarm_first_try, c.alarm_window, c.alarm_minimum_calls};
}

// Whether there was too much work for the worker, or for a layer in front of
// it, and not something wrong with it.
bool is_overload_failure(const outcome& o) noexcept {
  if (o.kind != answer_class::unknown)
    return o.kind == answer_class::shed;
  return o.is(errc::queue_full) || o.is(errc::wait_timeout)
         || o.is(errc::rate_limited) || o.is(errc::shed)
         || o.is(errc::throttled);
}

} // namespace

retrier::retrier(retrier_config c)
  : policy_base(std::move(c)), budget_(limits_of(config_)),
    alarm_(alarm_of(config_)) {
  config_.backoff = config_.backoff.detached();
}

void retrier::share(std::shared_ptr<shared_retry_budget> budget) noexcept {
  shared_ = std::move(budget);
}

// -- calls --------------------------------------------------------------------

decision retrier::admit(call_info& call, slot& notes, env& e) {
  notes.start<call_state>().epoch = epoch_;
  count(counter::calls);
  // A call that is already a retry pays for no further ones: otherwise chained
  // retriers would fund each other's budgets.
  if (config_.budget && call.attempt <= 1)
    deposit(e.now);
  if (config_.idempotency_keys && call.idempotency_key.empty()) [[unlikely]]
    name_call(call, e);
  return decision::pass();
}

// Not from the seed: a worker that knows the key of another gate's call would
// take this one for a repetition of it.
void retrier::name_call(call_info& call, env& e) {
  auto high = e.secret_bits();
  call.idempotency_key = fmt::format("{:016x}{:016x}", high, e.secret_bits());
}

decision retrier::complete(call_info& call, slot& notes, outcome& result,
                           env& e) {
  auto& saved = notes.as<call_state>();
  // What most calls are; the rest is the same for them.
  if (saved.at == stage::attempt && saved.attempts == 1
      && config_.classify.is_plain_success(result)) [[likely]] {
    count(counter::first_try_ok);
    count(counter::succeeded);
    if (alarm_.add_first_success(e.now)) [[unlikely]]
      judge_alarm(e);
    return decision::pass();
  }
  return complete_slow_path(call, saved, result, e);
}

decision retrier::complete_slow_path(call_info& call, call_state& saved,
                                     outcome& result, env& e) {
  if (saved.at == stage::verifying)
    return judge_verification(call, saved, result, e);
  if (saved.at == stage::answering)
    return answer_over(call, saved, result);
  return attempt_over(call, saved, result, e);
}

decision retrier::attempt_over(call_info& call, call_state& saved,
                               outcome& result, env& e) {
  auto v = config_.classify.judge(result, retry_lists, e);
  saved.may_have_executed = saved.may_have_executed || result.may_have_executed;
  charge(result, e.now);
  // A neutral outcome says nothing about the worker.
  if (v != verdict::neutral)
    count_try(saved, v == verdict::success, e);
  if (v == verdict::success)
    return finish(saved.attempts == 1 ? counter::succeeded : counter::recovered,
                  true, e);
  CAISSON_ENSURE(saved.at == stage::attempt && saved.attempts > 0,
                 "attempt {} comes back at stage {}", saved.attempts, saved.at);
  // The conflict may be with an earlier attempt at this call.
  auto conflict = result.kind == answer_class::conflict && replies_;
  if (v == verdict::neutral) {
    count(counter::not_retryable);
  } else if (v == verdict::failure && !conflict) {
    finish(counter::not_retryable, false, e);
  } else if (!conflict && (!saved.may_have_executed || may_repeat(call))) {
    if (auto held = try_again(call, saved, result, e))
      return *held;
  } else if (!replies_) {
    finish(counter::not_idempotent, false, e);
  } else if (e.now >= call.deadline) {
    finish(counter::gave_up_deadline, false, e);
  } else {
    return start_verification(call, saved, result, e);
  }
  // The last attempt may not have executed although an earlier one
  // did; a retrier further out must know.
  result.may_have_executed = saved.may_have_executed;
  return decision::pass();
}

decision retrier::finish(counter why, bool good, env& e) {
  count(why);
  alarm_.add_call(good, e.now);
  judge_alarm(e);
  return decision::pass();
}

bool retrier::may_repeat(const call_info& call) const noexcept {
  return call.idempotent == idempotence::yes
         || (config_.idempotent && call.idempotent == idempotence::unmarked);
}

std::optional<decision> retrier::try_again(const call_info& call,
                                           call_state& saved,
                                           const outcome& result, env& e) {
  auto delay = next_delay(call, saved, result, e);
  if (!delay)
    return std::nullopt;
  CAISSON_ENSURE(
    *delay >= duration::zero()
      && (config_.max_attempts == 0 || saved.attempts < config_.max_attempts),
    "attempt {} follows after {}", saved.attempts + 1, *delay);
  count(counter::retried);
  ++waiting_;
  saved.at = stage::backoff;
  e.emit({.kind = event_kind::retried, .call = call.id, .delay = *delay});
  // One that was not executed says nothing about the worker.
  if (result.is(errc::deadline_exceeded) && result.may_have_executed)
    e.attempt_timed_out(call.id);
  return decision::hold(time_after(e.now, *delay));
}

std::optional<duration> retrier::next_delay(const call_info& call,
                                            call_state& saved,
                                            const outcome& result, env& e) {
  auto give_up = [&](counter why) -> std::optional<duration> {
    finish(why, false, e);
    return std::nullopt;
  };
  // As in gRPC (proposal A6): "do not come back".
  if (result.retry_after < duration::zero()
      || result.retry_after > config_.retry_after_cap)
    return give_up(counter::gave_up_pushback);
  if (!attempts_left(call, saved, result))
    return give_up(counter::gave_up_attempts);
  // Asked twice, so that a call without time left draws no random number.
  if (e.now >= call.deadline)
    return give_up(counter::gave_up_deadline);
  if (saved.epoch != epoch_)
    saved.place = {}, saved.epoch = epoch_;
  // One that throws is exhausted.
  auto next = [&] { return config_.backoff.next(saved.place, e.random); };
  auto delay = call_user("schedule", next, e).value_or(std::nullopt);
  if (!delay)
    return give_up(counter::gave_up_schedule);
  auto wait = *pause_after(result, *delay, e);
  // Also true of a wait without end, which no call should begin.
  if (time_after(e.now, wait) >= call.deadline)
    return give_up(counter::gave_up_deadline);
  if (auto why = withheld(call, saved, e))
    return give_up(*why);
  if (config_.budget && !withdraw(result, e.now))
    return give_up(counter::gave_up_budget);
  if (result.retry_after > duration::zero()) {
    count(counter::pushed_back);
    // The worker has said what it needs, and gets it: guessing starts over.
    if (wait >= result.retry_after)
      saved.place = {};
  }
  return wait;
}

// Why the gate's breakers allow no retry; nothing if they do.
std::optional<retrier::counter> retrier::withheld(const call_info& call,
                                                  const call_state& saved,
                                                  const env& e) const {
  if (!config_.heed_breakers)
    return std::nullopt;
  switch (e.circuit(call.key)) {
    case circuit::closed:
      break;
    case circuit::half_open:
      if (saved.attempts > 1)
        return counter::gave_up_half_open;
      break;
    case circuit::open:
      return counter::gave_up_open;
  }
  return std::nullopt;
}

bool retrier::attempts_left(const call_info& call, const call_state& saved,
                            const outcome& result) const noexcept {
  auto most = config_.max_attempts;
  if (most == 0)
    most = call.deadline != never ? unlimited_attempts : most_attempts;
  return saved.attempts < config_.classify.attempts_for(result, most);
}

void retrier::abandon(call_info& call, slot& notes, const outcome& why,
                      bool in_flight, env& e) {
  auto& saved = notes.as<call_state>();
  auto at = std::exchange(saved.at, stage::attempt);
  if (at == stage::verifying || at == stage::before_verification
      || at == stage::answering) {
    unverified_.erase(call.id);
    replies_->drop(call.id);
  }
  if (at == stage::answering)
    return; // Counted.
  if (at == stage::backoff)
    --waiting_;
  CAISSON_ENSURE(waiting_ >= 0, "{} calls wait for their next attempt",
                 waiting_);
  count(in_flight ? counter::abandoned : counter::abandoned_waiting);
  // A cancellation does not say how the attempt went.
  if (why.is(errc::cancelled))
    return;
  if (at == stage::attempt)
    count_try(saved, false, e);
  alarm_.add_call(false, e.now);
  judge_alarm(e);
}

// -- time ---------------------------------------------------------------------

decision retrier::expire(call_info& call, slot& notes, env& e) {
  auto& saved = notes.as<call_state>();
  if (saved.at == stage::before_verification)
    return verify(call, saved, e);
  CAISSON_ENSURE(saved.at == stage::backoff && waiting_ > 0,
                 "a call at stage {} is sent again", saved.at);
  --waiting_;
  saved.at = stage::attempt;
  saved.verifications = 0;
  // Both may be counted on without end: the first has no limit within a
  // deadline, and the second comes from the caller.
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  saved.attempts += saved.attempts < most ? 1 : 0;
  call.attempt += call.attempt < most ? 1 : 0;
  count(counter::resent);
  return decision::pass();
}

// How long to wait, given what the schedule says.
std::optional<duration> retrier::pause_after(const outcome& result,
                                             duration scheduled, env& e) const {
  std::optional<duration> custom;
  if (config_.delay_of)
    custom = call_user(
               "delay_of", [&] { return config_.delay_of(result); }, e)
               .value_or(std::nullopt);
  if (config_.overload_factor > 1 && is_overload_failure(result))
    scheduled = duration_times(scheduled, config_.overload_factor);
  auto own = std::max(custom.value_or(scheduled), duration::zero());
  auto latest = duration_sum(own, config_.retry_after_margin);
  // Jitter also applies after `retry_after`, because other callers got the same
  // instant.
  auto wait = !custom && config_.backoff.random()
                ? duration_sum(own, result.retry_after)
                : std::max(own, result.retry_after);
  wait = std::min(wait, latest);
  // Without a limit on attempts there must be one on how many fit into the time
  // left.
  return config_.max_attempts == 0 ? std::max(wait, shortest_pause) : wait;
}

// -- verification -------------------------------------------------------------

decision retrier::start_verification(const call_info& call, call_state& saved,
                                     const outcome& result, env& e) {
  replies_->keep(call.id, result);
  CAISSON_ENSURE(!unverified_.contains(call.id), "call {} is being verified",
                 call_number(call.id));
  auto& kept = unverified_[call.id] = result;
  kept.reply = nullptr;
  return verify(call, saved, e);
}

decision retrier::verify(const call_info& call, call_state& saved, env& e) {
  CAISSON_ENSURE(replies_ && unverified_.contains(call.id),
                 "the attempt of call {} is not known", call_number(call.id));
  saved.at = stage::verifying;
  ++saved.verifications;
  count(counter::verifications);
  e.start_child({.parents = {call.id},
                 .target = 0,
                 .deadline = time_after(e.now, config_.verify_timeout)});
  return decision::hold();
}

decision retrier::judge_verification(const call_info& call, call_state& saved,
                                     outcome& result, env& e) {
  switch (replies_->read(call.id, result)) {
    case effect::done:
      saved.at = stage::answering;
      unverified_.erase(call.id);
      finish(counter::found_done, true, e);
      e.answer(call.id, call.id);
      return decision::hold();
    case effect::not_done:
      count(counter::found_not_done);
      if (auto held = try_again(call, saved, unverified_.at(call.id), e)) {
        unverified_.erase(call.id);
        replies_->drop(call.id);
        return *held;
      }
      return give_back(call, saved, result, e);
    case effect::unknown:
      break;
  }
  return reverify(call, saved, result, e);
}

decision retrier::reverify(const call_info& call, call_state& saved,
                           outcome& result, env& e) {
  if (saved.verifications < config_.verify_attempts) {
    constexpr int most_doublings = 30;
    auto factor = std::int64_t{1}
                  << std::min(saved.verifications - 1, most_doublings);
    auto at = time_after(
      e.now, duration_times(config_.verify_pause, static_cast<double>(factor)));
    if (at < call.deadline) {
      saved.at = stage::before_verification;
      return decision::hold(at);
    }
  }
  finish(counter::not_verified, false, e);
  return give_back(call, saved, result, e);
}

// The outcome of the last attempt goes up after all.
decision retrier::give_back(const call_info& call, call_state& saved,
                            outcome& result, env& e) {
  if (replies_->has(call.id)) {
    saved.at = stage::answering;
    e.answer(call.id, call.id);
    return decision::hold();
  }
  result = unverified_.at(call.id);
  result.may_have_executed = result.as_held = true;
  unverified_.erase(call.id);
  return decision::pass();
}

// What was kept is there.
decision retrier::answer_over(const call_info& call, call_state&,
                              outcome& result) {
  if (auto i = unverified_.find(call.id); i != unverified_.end()) {
    auto* reply = result.reply;
    result = i->second;
    result.reply = reply;
    unverified_.erase(i);
  }
  result.may_have_executed = true;
  CAISSON_ENSURE(replies_->has(call.id), "nothing is kept for call {}",
                 call_number(call.id));
  replies_->drop(call.id);
  return decision::pass();
}

// -- numbers ------------------------------------------------------------------

void retrier::count_try(const call_state& saved, bool good, env& e) {
  if (saved.attempts == 1) {
    count(good ? counter::first_try_ok : counter::first_try_failed);
    alarm_.add_first(good, e.now);
  } else if (saved.attempts == 2) {
    count(good ? counter::second_try_ok : counter::second_try_failed);
  } else {
    count(good ? counter::later_try_ok : counter::later_try_failed);
  }
}

void retrier::judge_alarm(env& e) {
  if (!alarm_.update(e.now))
    return;
  if (alarm_.raised())
    count(counter::alarms);
  auto text = alarm_.text();
  e.emit({.kind = event_kind::state_changed,
          .from = alarm_.raised() ? "quiet" : "alarm",
          .to = alarm_.raised() ? "alarm" : "quiet",
          .detail = text});
}

void retrier::deposit(time_point now) {
  if (shared_)
    shared_->deposit(now);
  else
    budget_.deposit(now);
}

bool retrier::withdraw(const outcome& failed, time_point now) {
  auto cost = failed.is(errc::deadline_exceeded) ? config_.budget_timeout_cost
              : is_overload_failure(failed)      ? config_.budget_overload_cost
                                                 : config_.budget_cost;
  return shared_ ? shared_->try_withdraw(now, cost)
                 : budget_.try_withdraw(now, cost);
}

// A worker whose calls are rejected does not need further attempts.
void retrier::charge(const outcome& failed, time_point now) {
  auto rejected = failed.is(errc::breaker_open)
                  || failed.is(errc::rate_limited);
  if (!rejected || !config_.budget || config_.budget_rejection_cost == 0)
    return;
  count(counter::rejections_charged);
  auto cost = config_.budget_rejection_cost;
  shared_ ? shared_->charge(now, cost) : budget_.charge(now, cost);
}

std::int64_t retrier::budget_left() const {
  if (!config_.budget)
    return 0;
  return shared_ ? shared_->balance() : budget_.balance();
}

// -- operation ----------------------------------------------------------------

void retrier::prepare(retrier_config& next, env& e) {
  auto changed = limits_of(next) != limits_of(config_);
  // A budget that was off has not seen the traffic.
  if (changed || (next.budget && !config_.budget))
    budget_ = retry_budget{limits_of(next)};
  // One that is left belongs to others.
  if (changed && shared_ && next.budget_name == config_.budget_name)
    shared_->change(limits_of(next));
  // Places in the old schedule mean nothing in the new one.
  if (!take_over_schedule(next.backoff, config_.backoff))
    ++epoch_;
  if (alarm_of(next) != alarm_of(config_))
    alarm_.change(alarm_of(next), e.now);
}

void retrier::forget(env& e) {
  budget_.clear();
  alarm_.clear();
  judge_alarm(e);
}

void retrier::list_gauges(std::vector<metric>& out) const {
  out.push_back({"waiting", waiting_, true});
  out.push_back(
    {"verifying", static_cast<std::int64_t>(unverified_.size()), true});
  out.push_back({"budget_left", budget_left(), true});
  out.push_back({"alarm", alarm_.raised() ? 1 : 0, true});
}

} // namespace caisson
