#include <caisson/deadline.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

namespace {

constexpr duration longest = std::chrono::hours(24 * 365);

} // namespace

void describe(field_visitor& v, deadline_config& c) {
  using namespace std::chrono_literals;
  describe_common(v, c);
  v.on({"timeout", "how long a call may stay below this layer"}, c.timeout,
       {1us, longest});
  v.on({"min_left", "a call with less time left than this is refused; not more "
                    "than `timeout`"},
       c.min_left, {0ns, longest});
}

void check(const deadline_config& c, const setting_path& path, problems& out) {
  // Otherwise every call would be refused.
  if (c.min_left > c.timeout)
    out.push_back({problem_kind::relation, path / "min_left",
                   fmt::format("{} is more than timeout, allowed: 0s to {}",
                               to_text(c.min_left), to_text(c.timeout))});
}

// -- construction -------------------------------------------------------------

deadline::deadline(deadline_config c) : policy_base(std::move(c)) {}

// -- calls --------------------------------------------------------------------

decision deadline::admit(call_info& call, slot& notes, env& e) {
  auto limit = time_after(e.now, config_.timeout);
  if (std::min(call.deadline, limit) <= e.now)
    return refuse(counter::expired_on_arrival, errc::deadline_exceeded, call.id,
                  e);
  // The host's default stands in for a limit that nobody gave; this is one.
  auto own = call.default_deadline || limit < call.deadline;
  if (!own)
    limit = call.deadline;
  if (time_until(limit, e.now) < config_.min_left)
    return refuse(counter::too_little_left, errc::deadline_exceeded, call.id,
                  e);
  notes.start<limits>({limit, own, false});
  call.deadline = limit;
  call.default_deadline = false;
  count(counter::admitted);
  return decision::pass();
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

} // namespace caisson
