#include <caisson/policies/cooldown.hpp>

#include <caisson/base/ensure.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

void describe(field_visitor& v, cooldown_config& c) {
  using namespace std::chrono_literals;
  describe_common(v, c);
  v.on({"max_time", "how long one answer can keep calls away; a longer time "
                    "that it names is capped at this"},
       c.max_time, {1ms, 24h});
  v.on({"default_time", "how long an answer keeps calls away that refuses a "
                        "call without saying until when; 0s: not at all"},
       c.default_time, {0s, 24h});
}

void check(const cooldown_config& c, const setting_path& path, problems& out) {
  if (c.default_time > c.max_time)
    out.push_back({problem_kind::relation, path / "default_time",
                   fmt::format("{} is longer than max_time, allowed: at most "
                               "{}, or a longer max_time",
                               to_text(c.default_time), to_text(c.max_time))});
}

// -- construction -------------------------------------------------------------

cooldown::cooldown(cooldown_config c) : policy_base(std::move(c)) {}

// -- calls --------------------------------------------------------------------

namespace {

// Whether the worker refuses calls because it has too much to do.
bool sheds_load(const outcome& o) noexcept {
  return o.kind == answer_class::shed || o.is(errc::rate_limited)
         || o.is(errc::queue_full) || o.is(errc::shed);
}

} // namespace

decision cooldown::admit(call_info& call, slot&, env& e) {
  catch_up(e);
  if (cooling_) {
    CAISSON_ENSURE(asked_at_ < until_,
                   "it is {}, and has ended {} before it began", state(),
                   asked_at_ - until_);
    return refuse(counter::rejected, errc::rate_limited, call.id, e,
                  until_ - e.now);
  }
  count(counter::passed);
  return decision::pass();
}

decision cooldown::complete(call_info&, slot&, outcome& result, env& e) {
  auto d = time_asked_by(result);
  if (d > duration::zero())
    stay_away_for(std::min(d, config_.max_time), e);
  return decision::pass();
}

// For how long the worker wants no calls. What a layer or a gate on the way has
// decided concerns that one, also if the worker passes it on: a breaker that is
// open between the worker and another one says nothing of most of its calls.
duration cooldown::time_asked_by(const outcome& o) const noexcept {
  auto sheds = sheds_load(o);
  if (o.ok || o.kind == answer_class::ok || !o.from_worker
      || (o.own_error && !sheds))
    return duration::zero();
  if (o.retry_after > duration::zero())
    return o.retry_after;
  return sheds ? config_.default_time : duration::zero();
}

void cooldown::abandon(call_info&, slot&, const outcome&, bool, env&) {
  count(counter::abandoned);
}

void cooldown::stay_away_for(duration d, env& e) {
  CAISSON_ENSURE(d > duration::zero() && d <= config_.max_time,
                 "calls stay away for {}, at most {}", d, config_.max_time);
  catch_up(e);
  auto end = time_after(e.now, d);
  if (cooling_ && end <= until_)
    return;
  asked_at_ = e.now;
  until_ = end;
  if (cooling_)
    return count(counter::extended);
  count(counter::started);
  move_to(true, fmt::format("the worker asks for {}", rounded_text(d)), e);
}

// -- time ---------------------------------------------------------------------

void cooldown::wake(env& e) {
  catch_up(e);
}

void cooldown::catch_up(env& e) {
  if (cooling_ && e.now >= until_)
    move_to(false, "its time is over", e);
}

bool cooldown::is_idle(time_point now) const noexcept {
  return !cooling_ || now >= until_;
}

// -- operation ----------------------------------------------------------------

std::string_view cooldown::state() const {
  return cooling_ ? "cooling" : "passing";
}

void cooldown::move_to(bool cooling, std::string_view why, env& e) {
  auto from = state();
  cooling_ = cooling;
  e.emit_change(from, state(), why);
}

void cooldown::adapt(env&) {
  if (cooling_)
    until_ = std::min(until_, time_after(asked_at_, config_.max_time));
  CAISSON_ENSURE(!cooling_ || until_ >= asked_at_,
                 "it is {}, and ends {} before it began", state(),
                 asked_at_ - until_);
}

void cooldown::forget(env& e) {
  move_to(false, "reset", e);
}

} // namespace caisson
