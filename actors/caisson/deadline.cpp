#include <caisson/deadline.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

namespace {

constexpr duration longest_timeout = std::chrono::hours(24 * 365);

} // namespace

void describe(field_visitor& v, deadline_config& c) {
  using namespace std::chrono_literals;
  describe_common(v, c);
  v.on({"timeout", "how long a call may stay below this layer"}, c.timeout,
       {1us, longest_timeout});
  v.on({"min_left", "a call with less time left than this is refused; not more "
                    "than `timeout`"},
       c.min_left, {0ns, longest_timeout});
  v.on({"share", "the share of its remaining time that a call may stay below "
                 "this layer, so that a retrier has time for another attempt"},
       c.share, {0.001, 1.0});
  v.on({"least", "however small the `share`, a call gets this long, and at "
                 "least `min_left`, if it has that much time left"},
       c.least, {1us, longest_timeout});
  v.on({"reserve", "the part of a call's remaining time that the layers below "
                   "may not use; a call with no more time left than this is "
                   "refused"},
       c.reserve, {0ns, longest_timeout});
}

void check(const deadline_config& c, const setting_path& path, problems& out) {
  // Otherwise every call would be refused.
  if (c.min_left > c.timeout)
    out.push_back({problem_kind::relation, path / "min_left",
                   fmt::format("{} is more than timeout, allowed: 0s to {}",
                               to_text(c.min_left), to_text(c.timeout))});
  // Otherwise the share would have no effect.
  if (c.share < 1 && c.least > c.timeout)
    out.push_back({problem_kind::relation, path / "least",
                   fmt::format("{} is more than timeout, so that share has no "
                               "effect, allowed: 1us to {}, or share of 1",
                               to_text(c.least), to_text(c.timeout))});
}

deadline_config deadline_of(const stage_budget& budget,
                            std::string_view stage) {
  deadline_config c;
  c.timeout = budget.share_of(stage);
  c.reserve = budget.config().reserve;
  return c;
}

// -- construction -------------------------------------------------------------

deadline::deadline(deadline_config c) : policy_base(std::move(c)) {}

// -- calls --------------------------------------------------------------------

decision deadline::admit(call_info& call, slot& notes, env& e) {
  auto latest = time_after(e.now, config_.timeout);
  if (std::min(call.deadline, latest) <= e.now)
    return refuse(counter::expired_on_arrival, errc::deadline_exceeded, call.id,
                  e);
  auto limit = limit_of(call, e.now);
  // The host's default applies only where there is no limit; this is one.
  auto own = call.default_deadline || limit < call.deadline;
  if (!own)
    limit = call.deadline;
  // Nothing is left if all that there is stays in reserve.
  if (limit <= e.now || time_until(limit, e.now) < config_.min_left)
    return refuse(counter::too_little_left, errc::deadline_exceeded, call.id,
                  e);
  notes.start<limits>({limit, latest, own, false});
  call.deadline = limit;
  call.default_deadline = false;
  count(counter::admitted);
  return decision::pass();
}

// What this layer's settings allow the call, whether or not its own deadline is
// earlier.
time_point deadline::limit_of(const call_info& call,
                              time_point now) const noexcept {
  auto limit = time_after(now, config_.timeout);
  // A default has no share.
  if (call.default_deadline || call.deadline == never)
    return limit;
  auto left = time_until(call.deadline, now);
  if (config_.share < 1) {
    auto floor = std::max(config_.least, config_.min_left);
    auto part = std::max(duration_times(left, config_.share), floor);
    limit = std::min(limit, time_after(now, part));
  }
  if (config_.reserve > duration::zero())
    limit = std::min(limit, left > config_.reserve
                              ? time_after(now, left - config_.reserve)
                              : now);
  return limit;
}

decision deadline::settle(call_info& call, slot& notes, outcome&, env& e) {
  auto& my = notes.as<limits>();
  // A host that only observes does not call `deadline_passed`, so that the
  // layers further in do not see this deadline: what overran shows here.
  if (!my.expired && my.own && e.now >= my.limit)
    deadline_passed(call, notes, e);
  count(my.expired ? counter::overran : counter::answered);
  return decision::pass();
}

void deadline::abandon(call_info&, slot& notes, const outcome&, bool, env&) {
  // A call that has expired was counted when it did.
  if (!notes.as<limits>().expired)
    count(counter::abandoned);
}

// -- time ---------------------------------------------------------------------

decision deadline::deadline_passed(call_info& call, slot& notes, env& e) {
  if (!std::exchange(notes.as<limits>().expired, true)) {
    count(counter::expired);
    e.tell({.kind = event_kind::expired, .call = call.id});
  }
  return decision::reject(errc::deadline_exceeded);
}

time_point deadline::latest_end(slot& notes) const {
  return notes.as<limits>().latest;
}

} // namespace caisson
