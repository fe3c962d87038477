#include <caisson/policies/deadline/deadline.hpp>

#include <caisson/base/ensure.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson {

// -- construction -------------------------------------------------------------

deadline::deadline(deadline_config c)
  : policy_base(std::move(c)), reported_(config_.timeout) {
  if (config_.learned.on)
    learner_ = std::make_unique<detail::limit_learner>(config_.learned);
}

// -- calls --------------------------------------------------------------------

decision deadline::admit(call_info& call, slot& notes, env& e) {
  auto timeout = learner_ ? learn_timeout(e) : config_.timeout;
  auto latest = time_after(e.now, timeout);
  if (std::min(call.deadline, latest) <= e.now)
    return refuse(counter::expired_on_arrival, errc::deadline_exceeded, call.id,
                  e);
  auto limit = limit_of(call, e.now, timeout);
  // The host's default applies only where there is no limit; this is one.
  auto own = call.default_deadline || limit < call.deadline;
  if (!own)
    limit = call.deadline;
  // Nothing is left if all that there is stays in reserve.
  if (limit <= e.now || time_until(limit, e.now) < config_.min_left)
    return refuse(counter::too_little_left, errc::deadline_exceeded, call.id,
                  e);
  CAISSON_ENSURE(limit > e.now && limit <= latest, "{} are left of {}",
                 limit - e.now, timeout);
  notes.start<call_state>({limit, latest, own, false}).since = e.now;
  call.deadline = limit;
  call.default_deadline = false;
  count(counter::admitted);
  return decision::pass();
}

// What the deadline that the call has leaves to the layers below.
time_point deadline::share_of(const call_info& call,
                              time_point now) const noexcept {
  auto limit = never;
  auto left = time_until(call.deadline, now);
  if (config_.share < 1) {
    auto floor = std::max(config_.least, config_.min_left);
    auto part = std::max(duration_times(left, config_.share), floor);
    limit = time_after(now, part);
  }
  if (config_.reserve > duration::zero())
    limit = std::min(limit, left > config_.reserve
                              ? time_after(now, left - config_.reserve)
                              : now);
  return limit;
}

namespace {

// Errors say nothing about how long answers take. A layer further in that
// refuses a call, as too little of its time is left, has not cut it off.
bool measures_duration(const outcome& result, bool limit_passed) noexcept {
  return result.ok
         || (result.is(errc::deadline_exceeded)
             && (result.may_have_executed || limit_passed));
}

} // namespace

decision deadline::complete(call_info& call, slot& notes, outcome& result,
                            env& e) {
  auto& saved = notes.as<call_state>();
  // A host that only observes does not call `deadline_passed`, so that the
  // layers further in do not see this deadline: what overran shows here.
  if (!saved.expired && saved.own && e.now >= saved.limit)
    note_expiry(saved, call.id, e);
  if (learner_ && measures_duration(result, e.now >= saved.limit))
    measure(saved, result.ok, e.now);
  count(saved.expired ? counter::overran : counter::answered);
  return decision::pass();
}

void deadline::abandon(call_info&, slot& notes, const outcome& why, bool,
                       env& e) {
  auto& saved = notes.as<call_state>();
  // A call that has expired was counted when it did.
  if (!saved.expired)
    count(counter::abandoned);
  if (why.is(errc::deadline_exceeded))
    measure(saved, false, e.now);
}

// -- time ---------------------------------------------------------------------

decision deadline::deadline_passed(call_info& call, slot& notes, env& e) {
  auto& saved = notes.as<call_state>();
  note_expiry(saved, call.id, e);
  measure(saved, false, e.now);
  return decision::reject(errc::deadline_exceeded);
}

void deadline::note_expiry(call_state& saved, call_id call, env& e) {
  if (std::exchange(saved.expired, true))
    return;
  count(counter::expired);
  e.emit({.kind = event_kind::expired, .call = call});
}

time_point deadline::latest_end(const call_info&, slot& notes) const {
  return notes.as<call_state>().latest;
}

// -- learning -----------------------------------------------------------------

// Answers that are errors say nothing about how long good ones take.
void deadline::measure(call_state& saved, bool ok, time_point now) {
  if (!learner_ || std::exchange(saved.measured, true))
    return;
  auto took = time_until(now, saved.since);
  if (ok)
    learner_->succeeded(took, now);
  else
    learner_->cut_off(took, now);
  CAISSON_ENSURE(learner_->samples() > 0, "nothing was learned of {}", took);
}

duration deadline::learn_timeout(env& e) {
  auto timeout = learner_->limit(e.now, config_.timeout)
                   .value_or(config_.timeout);
  if (timeout != reported_)
    emit_change(timeout, e);
  return timeout;
}

// Small changes are not reported, and large ones not more often than five times
// per window.
void deadline::emit_change(duration timeout, env& e) {
  constexpr auto much = 4;
  auto change = timeout > reported_ ? timeout - reported_ : reported_ - timeout;
  if (change < reported_ / much || e.now < next_report_at_)
    return;
  next_report_at_ = time_after(e.now, config_.learned.window / 5);
  e.emit({.kind = event_kind::limit_changed,
          .from = rounded_text(reported_),
          .to = rounded_text(timeout),
          .detail = fmt::format("of {} calls", learner_->samples())});
  reported_ = timeout;
}

duration deadline::present_timeout() const noexcept {
  return learner_ ? learner_->last().value_or(config_.timeout)
                  : config_.timeout;
}

// -- operation ----------------------------------------------------------------

void deadline::adapt(env& e) {
  if (!config_.learned.on)
    learner_.reset();
  else if (learner_)
    learner_->reconfigure(config_.learned);
  else
    learner_ = std::make_unique<detail::limit_learner>(config_.learned);
  // What an operator sets is reported by the host.
  if (learner_)
    (void)learner_->limit(e.now, config_.timeout);
  reported_ = present_timeout();
  CAISSON_ENSURE((learner_ != nullptr) == config_.learned.on,
                 "whether a limit is learned is not what is set");
}

void deadline::list_gauges(std::vector<metric>& out) const {
  if (!learner_)
    return;
  using std::chrono::microseconds;
  out.push_back(
    {"limit_us",
     std::chrono::duration_cast<microseconds>(present_timeout()).count(),
     true});
  out.push_back(
    {"samples", static_cast<std::int64_t>(learner_->samples()), true});
}

void deadline::forget(env&) {
  if (learner_)
    learner_->clear();
  CAISSON_ENSURE(!learner_ || learner_->samples() == 0,
                 "{} calls are known after a reset", learner_->samples());
}

} // namespace caisson
