#include <caisson/policies/throttle.hpp>

#include <caisson/base/ensure.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

void describe(field_visitor& v, throttle_config& c) {
  using namespace std::chrono_literals;
  describe_common(v, c);
  v.on({"window", "how far back calls count"}, c.window, {1s, 24h});
  v.on({"multiplier", "how many calls may come for each one that is accepted, "
                      "before calls are rejected"},
       c.multiplier, {1.0, 100.0});
  v.on({"max_rejection", "the largest probability with which a call is "
                         "rejected"},
       c.max_rejection, {0.0, 1.0});
  v.integer({"min_rate", "how many calls per second are always let through"},
            c.min_rate, {0, 1'000'000});
  v.on(
    {"pass_after", "if no call was let through for this long, the next one is"},
    c.pass_after, {1ms, unlimited});
  v.on({"count_only", "errors that count as not accepted, all others being "
                      "accepted; empty: the default table"},
       c.classify.allow);
  v.on({"ignore", "errors that count neither way; wins over count_only"},
       c.classify.deny);
}

void check(const throttle_config& c, const setting_path& path, problems& out) {
  if (c.max_rejection == 1 && c.min_rate == 0 && c.pass_after == unlimited)
    out.push_back({problem_kind::relation, path / "max_rejection",
                   "1 lets hardly any call find out that the worker is well "
                   "again, allowed: less than 1, or a min_rate of at least 1, "
                   "or a pass_after that ends"});
  check_lists(c.classify, "count_only", "ignore", path, out);
}

// -- construction -------------------------------------------------------------

namespace {

constexpr duration a_second = std::chrono::seconds(1);

// A bucket must hold something; with a rate of 0 it is not asked.
std::int64_t tokens_for(std::uint32_t min_rate) noexcept {
  return std::max(min_rate, 1u);
}

} // namespace

throttle::throttle(throttle_config c)
  : policy_base(std::move(c)), window_(config_.window, steps),
    floor_(tokens_for(config_.min_rate), a_second,
           tokens_for(config_.min_rate)) {}

// -- calls --------------------------------------------------------------------

decision throttle::admit(call_info& call, slot&, env& e) {
  window_.roll(e.now);
  auto p = rejection();
  if (p <= 0)
    return let_pass(counter::passed, e);
  floor_.advance(e.now);
  auto promised = config_.min_rate > 0 && floor_.take(1);
  if (e.random.uniform() >= p) {
    // It is one of the calls that `min_rate` promises, also if it takes less
    // than a token: so that setting adds next to none to a rate above it.
    if (!promised)
      floor_.drain(e.now);
    return let_pass(counter::passed, e);
  }
  if (promised)
    return let_pass(counter::passed_by_rate, e);
  if (e.now >= time_after(last_pass_, config_.pass_after))
    return let_pass(counter::forced, e);
  return reject_call(call, e);
}

decision throttle::complete(call_info&, slot&, outcome& result, env& e) {
  credit(result, e);
  return decision::pass();
}

void throttle::abandon(call_info&, slot&, const outcome& why, bool, env& e) {
  count(counter::abandoned);
  credit(why, e);
}

double throttle::rejection() const noexcept {
  auto requests = static_cast<double>(window_.total());
  auto excess = requests - config_.multiplier * static_cast<double>(accepts());
  return excess <= 0 ? 0
                     : std::min(excess / (requests + 1), config_.max_rejection);
}

std::int64_t throttle::accepts() const noexcept {
  return window_.total() - window_.failures();
}

decision throttle::let_pass(counter why, env& e) {
  count(why);
  last_pass_ = std::max(last_pass_, e.now);
  return decision::pass();
}

decision throttle::reject_call(const call_info& call, env& e) {
  // Callers that go on asking keep the probability up. Without these requests
  // it would fall, and the worker would get more than it was seen to bear.
  window_.add(true, e.now);
  last_failure_ = last_rejection_ = std::max(last_rejection_, e.now);
  if (!throttling_) {
    move_to(true,
            fmt::format("{} of {} calls accepted", accepts(), window_.total()),
            e);
    check_at_ = time_after(e.now, window_.bucket_length());
  }
  CAISSON_ENSURE(throttling_, "it is {}, and rejects", state());
  CAISSON_ENSURE(accepts() >= 0 && accepts() < window_.total(),
                 "{} of {} calls accepted", accepts(), window_.total());
  return refuse(counter::rejected, errc::throttled, call.id, e);
}

void throttle::credit(const outcome& o, env& e) {
  switch (judge(o, e)) {
    case sign::accepted:
      count(counter::accepted);
      window_.add(false, e.now);
      CAISSON_ENSURE(accepts() > 0, "{} calls, {} were not accepted",
                     window_.total(), window_.failures());
      break;
    case sign::not_accepted:
      count(counter::not_accepted);
      window_.add(true, e.now);
      last_failure_ = std::max(last_failure_, e.now);
      CAISSON_ENSURE(window_.failures() > 0 && accepts() >= 0,
                     "{} calls, {} were not accepted", window_.total(),
                     window_.failures());
      break;
    case sign::none:
      count(counter::ignored);
      break;
  }
}

namespace {

// Whether one of Caisson's errors says nothing about how much the worker
// accepts: the call is over for reasons of its caller or of a layer.
bool is_inconclusive(errc code) noexcept {
  switch (code) {
    case errc::queue_full:
    case errc::wait_timeout:
    case errc::rate_limited:
    case errc::deadline_exceeded:
    case errc::worker_down:
    case errc::shed:
    case errc::batch_failed:
    case errc::injected:
      return false;
    case errc::breaker_open:
      // It holds back what would fail. If that counted, the throttle would go
      // on for the whole window after the breaker has closed.
    case errc::cancelled:
    case errc::budget_exhausted:
    case errc::no_such_permit:
    case errc::invalid_config:
    case errc::draining:
    case errc::callback_failed:
    case errc::call_loop:
    case errc::feature_off:
    case errc::internal_error:
    case errc::throttled:
      break;
  }
  return true;
}

// Whether it is a sign of overload. An error with which the worker answers on
// purpose is none, but an adapter may know better.
bool is_overload(const outcome& o) noexcept {
  if (o.unanswered || o.is_time_limit())
    return true;
  switch (o.kind) {
    case answer_class::retry:
    case answer_class::retry_after:
    case answer_class::shed:
      return true;
    case answer_class::ok:
    case answer_class::conflict:
    case answer_class::fail:
      return false;
    case answer_class::unknown:
      break;
  }
  return o.own_error && !o.is(errc::batch_failed);
}

} // namespace

throttle::sign throttle::judge(const outcome& o, env& e) const {
  const auto& c = config_.classify;
  // Whatever the lists say: it has no outcome.
  if (o.neutral || o.is(errc::cancelled))
    return sign::none;
  if (c.by_value) {
    auto v = c.judge(o, count_lists, e);
    return v == verdict::neutral ? sign::none
           : v == verdict::transient || v == verdict::refused
             ? sign::not_accepted
             : sign::accepted;
  }
  if (o.ok)
    return sign::accepted;
  if (classifier::is_any(c.deny, o))
    return sign::none;
  if (classifier::is_any(c.allow, o))
    return sign::not_accepted;
  if (o.own_error && is_inconclusive(static_cast<errc>(o.code)))
    return sign::none;
  return c.allow.empty() && is_overload(o) ? sign::not_accepted
                                           : sign::accepted;
}

// -- time ---------------------------------------------------------------------

void throttle::wake(env& e) {
  auto calm = time_after(last_rejection_, window_.bucket_length());
  if (e.now < calm) {
    check_at_ = calm;
    return;
  }
  check_at_ = never;
  move_to(false, "no call rejected", e);
}

bool throttle::is_idle(time_point now) const noexcept {
  return window_.failures() == 0
         || now >= time_after(last_failure_, config_.window);
}

// -- operation ----------------------------------------------------------------

std::string_view throttle::state() const {
  return throttling_ ? "throttling" : "passing";
}

void throttle::move_to(bool throttling, std::string_view why, env& e) {
  auto from = state();
  throttling_ = throttling;
  e.emit_change(from, state(), why);
}

void throttle::prepare(throttle_config&, env& e) {
  floor_.advance(e.now);
}

void throttle::adapt(env& e) {
  window_.resize(config_.window, steps, e.now);
  CAISSON_ENSURE(window_.failures() >= 0 && accepts() >= 0,
                 "{} calls, {} were not accepted", window_.total(),
                 window_.failures());
  auto tokens = tokens_for(config_.min_rate);
  floor_.reshape(tokens, a_second, tokens);
  if (check_at_ != never)
    check_at_ = time_after(last_rejection_, window_.bucket_length());
}

void throttle::forget(env& e) {
  window_ = time_window{config_.window, steps};
  floor_.fill(e.now);
  last_rejection_ = last_failure_ = time_point::min();
  check_at_ = never;
  move_to(false, "reset", e);
  CAISSON_ENSURE(window_.total() == 0 && rejection() <= 0,
                 "{} calls are known after a reset", window_.total());
}

void throttle::list_gauges(std::vector<metric>& out) const {
  out.push_back({"requests", window_.total(), true});
  out.push_back({"accepts", accepts(), true});
  out.push_back({"rejection_permille",
                 static_cast<std::int64_t>(rejection() * 1000), true});
}

} // namespace caisson
