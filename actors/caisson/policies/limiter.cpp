#include <caisson/policies/limiter.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/call_number.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

namespace {

// An answer that asks callers to slow down. A decision of a layer or gate on
// the way, such as an open breaker, concerns that layer and not the rate.
bool asks_to_slow_down(const outcome& o) noexcept {
  return !o.ok && o.from_worker
         && (o.is(errc::rate_limited) || o.kind == answer_class::shed
             || o.retry_after > duration::zero());
}

std::string_view algorithm_name(rate_algorithm x) {
  return enum_names<rate_algorithm>::value[static_cast<std::size_t>(x)];
}

// A setting without effect is a mistake of whoever wrote it.
template <class T>
void check_use(const limiter_config& c, rate_algorithm only, T value,
               T by_default, std::string_view name, const setting_path& path,
               problems& out) {
  if (c.algorithm != only && value != by_default)
    out.push_back(
      {problem_kind::relation, path / name,
       fmt::format("has no effect with the algorithm {}, allowed: with {}",
                   algorithm_name(c.algorithm), algorithm_name(only))});
}

void check_algorithm(const limiter_config& c, const setting_path& path,
                     problems& out) {
  const limiter_config d;
  using enum rate_algorithm;
  check_use(c, token_bucket, c.burst, d.burst, "burst", path, out);
  check_use(c, warm_up, c.warm_up_time, d.warm_up_time, "warm_up_time", path,
            out);
  check_use(c, warm_up, c.cold_factor, d.cold_factor, "cold_factor", path, out);
}

} // namespace

void describe(field_visitor& v, limiter_config& c) {
  using std::chrono::hours;
  using std::chrono::microseconds;
  describe_common(v, c);
  v.integer({"rate", "how many tokens arrive in each `per`, at most one per "
                     "nanosecond; a call of weight 1 costs one"},
            c.rate, {1, 1'000'000'000});
  v.on({"per", "the time in which `rate` tokens arrive"}, c.per,
       {microseconds(1), hours(24 * 365)});
  v.integer({"burst", "how many tokens the bucket holds, that is, how many "
                      "calls may go down at the same instant"},
            c.burst, {1, 1'000'000'000});
  v.choice({"algorithm", "how it counts, and so what `rate` and `per` mean"},
           c.algorithm);
  v.on({"warm_up_time", "`warm_up` only: how long it takes until calls go at "
                        "the full rate"},
       c.warm_up_time, {std::chrono::milliseconds(1), hours(24)});
  v.on({"cold_factor", "`warm_up` only: how many times as long the interval "
                       "between calls is at first"},
       c.cold_factor, {1.1, 1000.0});
  v.on({"max_wait", "how long a call may wait for its turn, also if that is "
                    "promised; 0: a call that finds too few tokens is refused "
                    "at once"},
       c.max_wait, {duration::zero(), unlimited});
  v.integer({"max_waiters", "how many calls may wait at the same time, those "
                            "included to which a turn is promised"},
            c.max_waiters, {0, 1'000'000});
  v.on({"drain_on_rejection",
        "whether an answer in which the worker asks for fewer calls empties "
        "the bucket"},
       c.drain_on_rejection);
  v.on({"retry_after_cap", "how long such an answer keeps the bucket empty at "
                           "most, however long it asks for"},
       c.retry_after_cap, {duration::zero(), unlimited});
}

void check(const limiter_config& c, const setting_path& path, problems& out) {
  if (c.max_waiters == 0 && c.max_wait > duration::zero())
    out.push_back({problem_kind::relation, path / "max_waiters",
                   fmt::format("0 lets no call wait, but max_wait is {}, "
                               "allowed: 1 to 1000000, or max_wait of 0s",
                               to_text(c.max_wait))});
  check_algorithm(c, path, out);
  // A `per` that is out of range has been reported already.
  if (c.per < std::chrono::microseconds(1) || c.rate <= c.per.count())
    return;
  out.push_back({problem_kind::relation, path / "rate",
                 fmt::format("{} per {} is more than one token per nanosecond, "
                             "allowed: 1 to {}",
                             c.rate, to_text(c.per), c.per.count())});
}

// -- construction -------------------------------------------------------------

limiter::limiter(limiter_config c)
  : policy_base(std::move(c)), source_(shape()) {}

detail::rate_shape limiter::shape() const noexcept {
  return {config_.algorithm, config_.rate,         config_.per,
          config_.burst,     config_.warm_up_time, config_.cold_factor};
}

// -- calls --------------------------------------------------------------------

decision limiter::admit(call_info& call, slot& notes, env& e) {
  auto& s = notes.start<call_state>({{std::max(call.permits, 1u)}, e.now});
  if (!has_waiters_) [[likely]] {
    source_.advance(std::max(e.now, seen_));
    if (s.permits <= source_.heaviest() && source_.take(s.permits)) [[likely]]
      return pass_at_once();
  }
  return admit_slow_path(call, s, e);
}

decision limiter::admit_slow_path(const call_info& call, call_state& s,
                                  env& e) {
  if (has_waiters_)
    return admit_behind_waiters(call, s, e);
  if (s.permits > source_.heaviest())
    return reject_call(counter::too_heavy, errc::rate_limited, call.id,
                       duration::zero(), e);
  return enqueue(call, s, e);
}

decision limiter::admit_behind_waiters(const call_info& call, call_state& s,
                                       env& e) {
  catch_up(e.now);
  if (s.permits > source_.heaviest())
    return reject_call(counter::too_heavy, errc::rate_limited, call.id,
                       duration::zero(), e);
  // If the wake-up is late, the waiting calls get the tokens first.
  serve(e);
  if (waiting_.empty() && promised_.take(source_, s.permits))
    return pass_at_once();
  return enqueue(call, s, e);
}

// Inlined: the usual way must not get longer.
[[gnu::always_inline]] inline decision limiter::pass_at_once() {
  count(counter::passed);
  ++running_;
  return decision::pass();
}

decision limiter::reserve(call_info& call, slot& notes,
                          const reservation& times, env& e) {
  auto& s = notes.start<call_state>({{std::max(call.permits, 1u)}, e.now});
  catch_up(e.now);
  if (s.permits > source_.heaviest())
    return reject_call(counter::too_heavy, errc::rate_limited, call.id,
                       duration::zero(), e);
  serve(e);
  if (waiting_.empty() && times.earliest <= e.now && e.now <= times.latest
      && promised_.take(source_, s.permits))
    return pass_at_once();
  auto turn = turn_of(s.permits, times.earliest);
  // It begins to wait here when it could go on from the limits further out.
  auto limit = time_after(times.earliest, config_.max_wait);
  if (auto no = refusal(call, turn, std::min(limit, times.latest), e))
    return *no;
  count(counter::reserved);
  ++running_;
  s.earliest_turn = turn;
  promised_.add(turn, call.id, s.permits);
  has_waiters_ = true;
  CAISSON_ENSURE(turn >= times.earliest && turn <= times.latest
                   && turn < call.deadline,
                 "a turn {} after the latest", turn - times.latest);
  CAISSON_ENSURE(waiting() <= config_.max_waiters, "{} of {} calls wait",
                 waiting(), config_.max_waiters);
  return decision::pass_from(turn);
}

decision limiter::complete(call_info& call, slot& notes, outcome& result,
                           env& e) {
  CAISSON_ENSURE(running_ > 0, "a call comes back that has not paid");
  count(counter::finished);
  --running_;
  // What has succeeded changes nothing but the time. One that warms up hears of
  // it now, as it rounds.
  if (!has_waiters_ && result.ok && !source_.needs_order()) [[likely]] {
    seen_ = std::max(seen_, e.now);
    return decision::pass();
  }
  return complete_slow_path(call, notes.as<call_state>(), result, e);
}

decision limiter::complete_slow_path(const call_info& call, const call_state& s,
                                     const outcome& result, env& e) {
  catch_up(e.now);
  if (withdraw(s, call.id, e.now)) {
    move_up(e);
  } else {
    apply_result(s, result, e);
    serve(e);
  }
  return decision::pass();
}

void limiter::catch_up(time_point now) {
  CAISSON_ENSURE(has_waiters_ || waiting() == 0,
                 "{} calls wait although has_waiters_ is false", waiting());
  source_.advance(std::exchange(seen_, time_point::min()));
  promised_.catch_up(source_, now);
}

// The tokens as of the latest instant seen.
detail::rate_source limiter::source_now() const {
  auto x = source_;
  x.advance(seen_);
  return x;
}

// What a call that comes back means for the tokens.
void limiter::apply_result(const call_state& s, const outcome& result, env& e) {
  // An answer was work for the worker, even if it says that nothing was done.
  if (!result.ok && !result.may_have_executed && !result.from_worker)
    put_back(s, e);
  if (config_.drain_on_rejection && asks_to_slow_down(result))
    drain_for(result, e);
}

// Returns whether the call has a turn that has not come yet, and now has none.
bool limiter::withdraw(const call_state& s, call_id call, time_point now) {
  if (!promised_.remove(source_, s.earliest_turn, call))
    return false;
  CAISSON_ENSURE(s.earliest_turn > now, "a turn that came {} ago is given back",
                 now - s.earliest_turn);
  count(counter::returned);
  return true;
}

void limiter::abandon(call_info& call, slot& notes, const outcome& why,
                      bool in_flight, env& e) {
  auto& s = notes.as<call_state>();
  catch_up(e.now);
  if (waiting_.waits(s, call.id)) {
    // It has paid nothing yet. Those behind it move up by themselves.
    count(counter::gave_up);
    waits_.refused(waiting_.leave(s).waited(e.now));
  } else {
    CAISSON_ENSURE(running_ > 0, "a call is given up that has not paid");
    count(counter::abandoned);
    --running_;
    // Not in flight: it was granted its tokens but has not gone down.
    if (withdraw(s, call.id, e.now))
      return move_up(e);
    if (!in_flight || !why.may_have_executed)
      put_back(s, e);
  }
  serve(e);
}

// A turn was given back. If many are at once, as when their holder ends, those
// who wait look once for what that leaves them: it takes long.
void limiter::move_up(env& e) {
  next_turn_ = e.now;
  has_waiters_ = waiting() > 0;
}

decision limiter::enqueue(const call_info& call, call_state& s, env& e) {
  auto turn = pass_time(s.permits);
  CAISSON_ENSURE(turn > e.now || !waiting_.empty(),
                 "a call waits for tokens that are there");
  if (auto no = refusal(call, turn, time_after(e.now, config_.max_wait), e))
    return *no;
  count(counter::queued);
  if (waiting_.empty())
    next_turn_ = turn;
  waiting_.join(call, s, e.now);
  has_waiters_ = true;
  CAISSON_ENSURE(waiting() <= config_.max_waiters && waiting_.waits(s, call.id),
                 "{} of {} calls wait", waiting(), config_.max_waiters);
  e.emit_wait(call.id, running_, waiting_.size());
  return decision::hold(time_after(e.now, config_.max_wait));
}

// Why a call must not wait for that turn; nothing if it may.
std::optional<decision> limiter::refusal(const call_info& call, time_point turn,
                                         time_point latest, env& e) {
  auto wait = time_until(turn, e.now);
  if (turn > latest || turn == never)
    return reject_call(counter::rate_limited, errc::rate_limited, call.id, wait,
                       e);
  // A call that goes down at its deadline has no time left to be answered in.
  if (turn >= call.deadline)
    return reject_call(counter::past_deadline, errc::rate_limited, call.id,
                       wait, e);
  if (waiting() >= config_.max_waiters)
    return reject_call(counter::queue_full, errc::queue_full, call.id, wait, e);
  return std::nullopt;
}

// Grants turns, in order, as long as there are tokens. Returns whether `self`
// was among them; its caller passes it on, without a resume.
bool limiter::serve(env& e, call_id self) {
  auto found = false;
  while (!waiting_.empty()
         && promised_.take(source_, waiting_.next().permits)) {
    auto w = waiting_.take_next();
    CAISSON_ENSURE(w.call != 0 && w.permits <= source_.heaviest(),
                   "a turn of weight {} in a bucket of {}", w.permits,
                   source_.heaviest());
    count(counter::granted);
    ++running_;
    waits_.granted(w.waited(e.now));
    e.emit(
      {.kind = event_kind::granted, .call = w.call, .delay = w.waited(e.now)});
    if (self != 0 && w.call == self)
      found = true;
    else
      e.resume(w.call);
  }
  if (!waiting_.empty())
    next_turn_ = turn_of_first();
  has_waiters_ = waiting() > 0;
  return found;
}

void limiter::put_back(const call_state& s, env& e) {
  count(counter::returned);
  source_.put_back(s.permits, s.earliest_turn, e.now);
}

void limiter::drain_for(const outcome& result, env& e) {
  count(counter::drained);
  auto wait = std::min(result.retry_after, config_.retry_after_cap);
  source_.drain(time_after(e.now, wait));
}

decision limiter::reject_call(counter why, errc code, call_id call,
                              duration retry_after, env& e,
                              std::string_view detail) {
  // `never` is no hint.
  if (retry_after == unlimited)
    retry_after = duration::zero();
  return refuse(why, code, call, e, retry_after, detail);
}

// Those included to which a turn is promised.
std::size_t limiter::waiting() const noexcept {
  return waiting_.size() + promised_.size();
}

// When a call of that weight could go that arrived now, behind all waiting
// ones.
time_point limiter::pass_time(std::uint32_t permits) {
  return promised_.empty() ? source_.ready_at(waiting_.weight(), permits)
                           : turn_of(permits, time_point::min());
}

// The same among promised turns, and if those who wait go one by one.
time_point limiter::turn_of(std::uint32_t permits, time_point earliest) {
  std::vector<std::uint32_t> before;
  waiting_.for_each(
    [&](const waiting_queue::entry& w) { before.push_back(w.permits); });
  return promised_.turn_of(source_, before, permits, earliest);
}

time_point limiter::turn_of_first() {
  auto permits = waiting_.next().permits;
  return promised_.empty()
           ? source_.ready_at(0, permits)
           : promised_.turn_of(source_, {}, permits, time_point::min());
}

// -- time ---------------------------------------------------------------------

decision limiter::expire(call_info& call, slot& notes, env& e) {
  auto& s = notes.as<call_state>();
  // A grant that was made is kept: the call has paid for its turn.
  if (!waiting_.waits(s, call.id))
    return decision::pass();
  catch_up(e.now);
  // A turn that comes at the very end of waiting is not lost either.
  if (serve(e, call.id))
    return decision::pass();
  CAISSON_ENSURE(waiting_.waits(s, call.id), "call {} has had its turn",
                 call_number(call.id));
  auto waited = waiting_.leave(s).waited(e.now);
  waits_.refused(waited);
  auto retry_after = time_until(pass_time(s.permits), e.now);
  serve(e);
  return reject_call(counter::timed_out, errc::wait_timeout, call.id,
                     retry_after, e, detail::wait_text(waited));
}

bool limiter::is_idle(time_point now) const noexcept {
  return promised_.are_over(source_now(), now);
}

void limiter::wake(env& e) {
  catch_up(e.now);
  serve(e);
}

// -- operation ----------------------------------------------------------------

void limiter::prepare(limiter_config&, env& e) {
  catch_up(e.now);
}

void limiter::adapt(env& e) {
  source_.reshape(shape(), e.now);
  auto heaviest = static_cast<std::uint32_t>(std::min<std::int64_t>(
    source_.heaviest(), std::numeric_limits<std::uint32_t>::max()));
  waiting_.take_heavier(heaviest, [&](const waiting_queue::entry& w) {
    auto waited = w.waited(e.now);
    waits_.refused(waited);
    refuse(counter::outgrown, errc::rate_limited, w.call, e, duration::zero(),
           detail::wait_text(waited));
    e.reject(w.call, errc::rate_limited);
  });
  serve(e);
}

void limiter::forget(env& e) {
  waits_.clear();
  catch_up(e.now);
  source_.fill(e.now);
  serve(e);
}

void limiter::list_gauges(std::vector<metric>& out) const {
  out.push_back({"tokens", source_now().tokens(), true});
  out.push_back({"waiting", static_cast<std::int64_t>(waiting_.size()), true});
  out.push_back(
    {"promised", static_cast<std::int64_t>(promised_.size()), true});
  waits_.list(out);
}

} // namespace caisson
