// Calls that a worker makes on behalf of the call that it works on.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/messages.hpp>

#include <utility>

namespace caisson {

/// What calls on behalf of `outer` inherit from it: its deadline, priorities,
/// key, idempotence and path, and its place in a trace with its `tracestate`
/// and `baggage`. Their weight and their attempt are 1.
///
/// `received` is when `outer` came to this node, and the deadline becomes an
/// instant of this node's clock, so the result may be kept and used later.
/// Options without a deadline, from a caller that is not a gate, stay so.
[[nodiscard]] call_options inherit(const call_options& outer,
                                   time_point received);

namespace detail {

/// As `inherit`, with the time left at `now` in place of the instant, which
/// gates on other nodes do not take.
[[nodiscard]] call_options inherit_time_left(const call_options& outer,
                                             time_point now);

/// What background work inherits.
[[nodiscard]] call_options inherit_trace(const call_options& outer);

} // namespace detail

/// A call with the message `xs...` on behalf of another one, with the options
/// of which a worker declared with `takes_calls()` was called:
///
///     portable::ask(self, rates, portable::no_timeout,
///                   nested(c.options, self->clock().now(), convert{…}))
///
/// It has the time that is left to `outer` and its priorities, key, idempotence
/// and path. Once no time is left, gates refuse it with `deadline_exceeded`. If
/// `outer` has no deadline, neither has this. `now` is the current instant; if
/// the handler has returned since it got `outer`, pass what `inherit` made of
/// it then.
///
/// With the path inherited, a call that comes back to a gate that it has passed
/// is refused with `call_loop`.
template <class... Ts>
[[nodiscard]] call nested(const call_options& outer, time_point now,
                          Ts&&... xs) {
  return {detail::make_early(std::forward<Ts>(xs)...),
          detail::inherit_time_left(outer, now)};
}

/// A call for work in the background that goes on when the deadline of `outer`
/// has passed: it inherits nothing but the path, so that endless loops are
/// still found, and its place in a trace with what belongs to it. The next gate
/// gives it its default deadline.
template <class... Ts>
[[nodiscard]] call detached(const call_options& outer, Ts&&... xs) {
  return {detail::make_early(std::forward<Ts>(xs)...),
          detail::inherit_trace(outer)};
}

} // namespace caisson
