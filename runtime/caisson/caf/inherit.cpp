#include <caisson/caf/inherit.hpp>

#include <algorithm>

namespace caisson {

namespace {

time_point deadline_of(const call_options& o, time_point received) noexcept {
  auto deadline = never;
  if (o.time_left != duration::zero())
    deadline = time_after(received, o.time_left);
  if (o.deadline_ns != 0)
    deadline = std::min(deadline, time_point{duration{o.deadline_ns}});
  return deadline;
}

bool has_limit(const call_options& o) noexcept {
  return o.time_left != duration::zero() || o.deadline_ns != 0;
}

} // namespace

namespace detail {

call_options inherit_trace(const call_options& outer) {
  call_options o;
  o.path = outer.path;
  o.traceparent = outer.traceparent;
  o.propagated = outer.propagated;
  return o;
}

call_options inherit_time_left(const call_options& outer, time_point now) {
  auto o = inherit_trace(outer);
  o.priority = outer.priority;
  o.user_priority = outer.user_priority;
  o.idempotent = outer.idempotent;
  o.key = outer.key;
  if (!has_limit(outer))
    return o;
  auto left = time_until(deadline_of(outer, now), now);
  o.time_left = left > duration::zero() ? left : no_time_left;
  return o;
}

} // namespace detail

call_options inherit(const call_options& outer, time_point received) {
  auto o = detail::inherit_time_left(outer, received);
  auto deadline = deadline_of(outer, received);
  auto ns = deadline.time_since_epoch().count();
  // The epoch itself cannot be distinguished from no deadline.
  if (has_limit(outer) && deadline != never && ns != 0) {
    o.time_left = duration::zero();
    o.deadline_ns = ns;
  }
  return o;
}

} // namespace caisson
