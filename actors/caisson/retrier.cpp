#include <caisson/callback.hpp>
#include <caisson/retrier.hpp>

#include <caisson/schedule_settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

void describe(field_visitor& v, retrier_config& c) {
  using namespace std::chrono_literals;
  describe_common(v, c);
  v.integer<std::uint32_t>({"max_attempts",
                            "how often a call is attempted at most, the first "
                            "time included",
                            "attempts"},
                           c.max_attempts, {1, 1'000});
  v.on({"backoff", "how long to wait before each further attempt; when it is "
                   "exhausted, so are the retries"},
       c.backoff);
  v.on({"idempotent", "whether a call that is not marked may be carried out "
                      "twice"},
       c.idempotent);
  v.on({"retry_on", "errors that are retried, and no others; empty: as in the "
                    "default table"},
       c.classify.allow);
  v.on({"fail_on", "errors that are not retried, whatever `retry_on` says"},
       c.classify.deny);
  v.on({"budget", "whether retries are kept to a share of the traffic"},
       c.budget);
  v.on({"budget_ratio",
        "how many retries each first attempt pays for; 0: only "
        "the reserve",
        "retries"},
       c.budget_ratio, {0.0, 1.0});
  v.integer<std::uint32_t>({"budget_reserve",
                            "how many retries are paid for in any case",
                            "retries per second"},
                           c.budget_reserve, {0, 1'000'000});
  v.on({"budget_ttl", "how long attempts and retries count in the budget"},
       c.budget_ttl, {1s, 60s});
}

namespace {

// With how many retries each part of the schedule has come into use, as far as
// that is certain: a function or a sum may end a part early.
std::uint64_t retries_used_by(const schedule& s) {
  std::uint64_t n = 0;
  for (const auto& part : s.segments()) {
    auto certain = part.kind != schedule::shape::custom
                   && part.until == unlimited;
    auto last = &part == &s.segments().back();
    if (certain && part.take != 0)
      n += part.take;
    else if (certain || last)
      ++n;
  }
  return n;
}

} // namespace

void check(const retrier_config& c, const setting_path& path, problems& out) {
  // With a single attempt retries are switched off, whatever the schedule.
  auto retries = c.max_attempts - 1;
  if (auto n = retries_used_by(c.backoff); c.max_attempts > 1 && n > retries)
    out.push_back({problem_kind::relation, path / "backoff",
                   fmt::format("has delays for {} retries or more, but "
                               "max_attempts is {}, allowed: delays for 1 to "
                               "{}, or max_attempts of at least {}",
                               n, c.max_attempts, retries, n + 1)});
  if (c.max_attempts > 1 && c.budget && c.budget_reserve == 0
      && c.budget_ratio < 0.000'000'5)
    out.push_back({problem_kind::relation, path / "budget_ratio",
                   fmt::format("{} pays for no retry ever, and budget_reserve "
                               "is 0, allowed: 0.000001 to 1, or "
                               "budget_reserve of at least 1",
                               to_text(c.budget_ratio))});
  check_lists(c.classify, "retry_on", "fail_on", path, out);
}

// -- construction -------------------------------------------------------------

namespace {

retry_budget::limits limits_of(const retrier_config& c) {
  return {c.budget_ttl, c.budget_reserve, c.budget_ratio};
}

} // namespace

retrier::retrier(retrier_config c)
  : policy_base(std::move(c)), budget_(limits_of(config_)) {
  config_.backoff = config_.backoff.detached();
}

// -- calls --------------------------------------------------------------------

decision retrier::admit(call_info& call, slot& notes, env& e) {
  notes.start<progress>().era = era_;
  count(counter::calls);
  // What is a retry already does not pay for further ones: otherwise chained
  // retriers would earn their budgets from each other.
  if (config_.budget && call.attempt <= 1)
    budget_.deposit(e.now);
  return decision::pass();
}

decision retrier::settle(call_info& call, slot& notes, outcome& result,
                         env& e) {
  auto& my = notes.as<progress>();
  auto v = config_.classify.judge(result, retry_lists, e);
  my.reached = my.reached || result.reached;
  if (v == verdict::success) {
    count(my.attempts == 1 ? counter::succeeded : counter::recovered);
    return decision::pass();
  }
  if (auto delay = next_delay(call, my, result, v, e)) {
    count(counter::retried);
    ++waiting_;
    e.tell({.kind = event_kind::retried, .call = call.id, .delay = *delay});
    return decision::hold(time_after(e.now, *delay));
  }
  // The last attempt may not have reached the worker although an earlier one
  // did; a retrier further out must know.
  result.reached = my.reached;
  return decision::pass();
}

bool retrier::may_repeat(const call_info& call) const noexcept {
  return call.idempotent == idempotence::yes
         || (config_.idempotent && call.idempotent == idempotence::unmarked);
}

std::optional<duration> retrier::next_delay(const call_info& call, progress& my,
                                            const outcome& result, verdict v,
                                            env& e) {
  auto give_up = [this](counter why) -> std::optional<duration> {
    count(why);
    return std::nullopt;
  };
  if (v != verdict::transient && v != verdict::refused)
    return give_up(counter::not_retryable);
  if (my.reached && !may_repeat(call))
    return give_up(counter::not_idempotent);
  // As in gRPC (proposal A6): "do not come back".
  if (result.retry_after < duration::zero())
    return give_up(counter::gave_up_pushback);
  if (my.attempts >= config_.max_attempts)
    return give_up(counter::gave_up_attempts);
  // Asked twice, so that a call without time left draws no random number.
  if (e.now >= call.deadline)
    return give_up(counter::gave_up_deadline);
  if (my.era != era_)
    my.place = {}, my.era = era_;
  // One that throws is exhausted.
  auto next = [&] { return config_.backoff.next(my.place, e.random); };
  auto delay = call_user("schedule", next, e).value_or(std::nullopt);
  if (!delay)
    return give_up(counter::gave_up_schedule);
  // Whoever spreads his retries does so from the instant that he was told, too:
  // others were told the same.
  auto wait = config_.backoff.random() ? plus(*delay, result.retry_after)
                                       : std::max(*delay, result.retry_after);
  // Also true of a wait without end, which no call should begin.
  if (time_after(e.now, wait) >= call.deadline)
    return give_up(counter::gave_up_deadline);
  if (config_.budget && !budget_.try_withdraw(e.now))
    return give_up(counter::gave_up_budget);
  if (result.retry_after > duration::zero()) {
    // The worker has said what it needs; guessing starts over.
    count(counter::pushed_back);
    my.place = {};
  }
  return wait;
}

void retrier::abandon(call_info&, slot&, const outcome&, bool in_flight, env&) {
  if (in_flight) {
    count(counter::abandoned);
    return;
  }
  --waiting_;
  count(counter::abandoned_waiting);
}

// -- time ---------------------------------------------------------------------

decision retrier::expire(call_info& call, slot& notes, env&) {
  --waiting_;
  ++notes.as<progress>().attempts;
  // Comes from the caller, so it may be anything.
  if (call.attempt < std::numeric_limits<std::uint32_t>::max())
    ++call.attempt;
  count(counter::resent);
  return decision::pass();
}

// -- operation ----------------------------------------------------------------

void retrier::prepare(retrier_config& next, env&) {
  // A budget that was off has missed the traffic, so that it knows nothing.
  if (limits_of(next) != limits_of(config_) || (next.budget && !config_.budget))
    budget_ = retry_budget{limits_of(next)};
  // Places in the old schedule mean nothing in the new one.
  if (!take_over(next.backoff, config_.backoff))
    ++era_;
}

void retrier::forget(env&) {
  budget_.clear();
}

void retrier::list_gauges(std::vector<metric>& out) const {
  out.push_back({"waiting", waiting_, true});
  out.push_back({"budget_left", config_.budget ? budget_.balance() : 0, true});
}

} // namespace caisson
