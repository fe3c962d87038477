#include <caisson/engine/arrivals.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/engine/dead_letters.hpp>
#include <caisson/engine/default_deadline.hpp>
#include <caisson/policy/call_number.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson::detail {

// -- refusals -----------------------------------------------------------------

void arrivals::refuse(reply_slot& from, errc code, std::string text) {
  if (from.expects_reply())
    core_.host.answer(std::move(from), core_.refusal(code, std::move(text)));
}

// Whether anything may come in at all.
std::optional<arrivals::refusal> arrivals::refuse_if_unavailable() {
  if (operations_.draining()) {
    ++core_.totals.refused_draining;
    return refusal{errc::draining};
  }
  if (core_.calls.live() >= core_.config.max_calls) {
    ++core_.totals.refused_full;
    return refusal{errc::shed, fmt::format("the gate is full ({} calls)",
                                           core_.config.max_calls)};
  }
  return std::nullopt;
}

// Refuses options that no gate sends, and calls that loop.
std::optional<arrivals::refusal>
arrivals::refuse_if_invalid(const reply_slot& from, const call_options& o) {
  auto invalid = [&](std::string text) {
    ++core_.totals.refused_invalid;
    return refusal{errc::invalid_config, std::move(text)};
  };
  if (o.deadline_ns != 0 && from.remote())
    return invalid("a deadline of another node's clock; give time_left");
  if (o.key.size() > max_key_length)
    return invalid("the key is too long");
  if (o.idempotency_key.size() > max_key_length)
    return invalid("the idempotency key is too long");
  if (o.path.size() < max_path_length
      && std::find(o.path.begin(), o.path.end(), core_.path_key)
           == o.path.end())
    return std::nullopt;
  ++core_.totals.refused_loop;
  return refusal{errc::call_loop,
                 o.path.size() < max_path_length
                   ? "the call has passed this gate before"
                   : fmt::format("the call exceeds the maximum of {} gates",
                                 max_path_length)};
}

void arrivals::refuse_call(reply_slot& from, caf::message&& payload,
                           call_options* options, refusal why) {
  const auto& t = core_.totals;
  CAISSON_ENSURE(
    t.refused_draining + t.refused_full + t.refused_invalid + t.refused_loop
      <= t.calls + t.acquires,
    "more than the {} calls and {} requests are refused", t.calls, t.acquires);
  CAISSON_ENSURE(t.plain_sends <= t.calls, "{} of {} calls are plain sends",
                 t.plain_sends, t.calls);
  if (!core_.are_dead_letters(from))
    return refuse(from, why.code, std::move(why.text));
  auto content = core_.refusal(why.code, std::move(why.text));
  send_dead_letter(core_, from, std::move(payload), options, content);
  if (from.expects_reply())
    core_.host.answer(std::move(from), std::move(content));
}

// -- calls --------------------------------------------------------------------

moved_call arrivals::take(reply_slot&& from, caf::message&& payload,
                          call_options* options) {
  ++core_.totals.calls;
  if (!from.expects_reply())
    ++core_.totals.plain_sends;
  auto refused = refuse_if_unavailable();
  if (!refused && options)
    refused = refuse_if_invalid(from, *options);
  if (refused) [[unlikely]] {
    refuse_call(from, std::move(payload), options, std::move(*refused));
    return {};
  }
  auto& r = core_.calls.take();
  core_.take_up(r);
  r.from = std::move(from);
  r.payload = std::move(payload);
  r.arrived = core_.now();
  use_default_deadline(r, core_);
  if (options && !set_options(r, *options)) {
    r.limit = r.deadline;
    return end_late(r);
  }
  return enter(r);
}

// Returns whether there is time left.
bool arrivals::set_options(call_record& r, call_options& o) {
  CAISSON_ENSURE(r.path.empty() && r.key.empty() && !r.trace,
                 "call {} begins with a path of {} gates, or a key",
                 call_number(r.id), r.path.size());
  // A record begins without them.
  if (!o.path.empty())
    r.path = std::move(o.path);
  r.priority = o.priority;
  r.user_priority = o.user_priority <= highest_user_priority ? o.user_priority
                                                             : 0;
  r.stands_for = std::min(o.stands_for, most_stood_for);
  r.permits = std::max<std::uint32_t>(o.permits, 1);
  r.attempt = std::max<std::uint32_t>(o.attempt, 1);
  // Another node may say anything.
  r.idempotent = o.idempotent == idempotence::yes
                     || o.idempotent == idempotence::no
                   ? o.idempotent
                   : idempotence::unmarked;
  if (!o.key.empty())
    r.key = std::move(o.key);
  if (!o.idempotency_key.empty())
    r.idempotency_key = std::move(o.idempotency_key);
  if (!o.traceparent.empty() || !o.propagated.empty())
    core_.traces.begin(r, o.traceparent, std::move(o.propagated));
  if (o.deadline_ns == 0 && o.time_left == duration::zero())
    return true;
  auto deadline = never;
  if (o.time_left != duration::zero())
    deadline = time_after(core_.now(), o.time_left);
  if (o.deadline_ns != 0)
    deadline = std::min(deadline, time_point{duration{o.deadline_ns}});
  r.deadline = deadline;
  r.default_deadline = false;
  return r.deadline > core_.now();
}

moved_call arrivals::enter(call_record& r) {
  CAISSON_ENSURE(r.deadline > core_.now() && r.inside == 0,
                 "call {} comes too late", call_number(r.id));
  r.limit = r.deadline;
  if (r.from.expects_reply() && r.from.caller() != 0)
    core_.calls.index(r);
  return {&r, next_step::descend(0)};
}

moved_call arrivals::end_late(call_record& r) {
  CAISSON_ENSURE(r.deadline <= core_.now() && !r.indexed,
                 "call {} has time left", call_number(r.id));
  ++core_.totals.expired_on_arrival;
  return {&r,
          next_step::finish(outcome::failure(errc::deadline_exceeded, false))};
}

// -- requests for permits -----------------------------------------------------

moved_call arrivals::acquire(reply_slot&& from, const caisson::acquire& what) {
  ++core_.totals.acquires;
  // There is no holder for the permit.
  if (!from.expects_reply()) {
    ++core_.totals.without_holder;
    return {};
  }
  if (auto refused = refuse_if_unavailable()) {
    refuse(from, refused->code, std::move(refused->text));
    return {};
  }
  if (what.key.size() > max_key_length) {
    ++core_.totals.refused_invalid;
    refuse(from, errc::invalid_config, "the key is too long");
    return {};
  }
  auto& r = core_.calls.take();
  core_.take_up(r);
  CAISSON_ENSURE(!r.granted && r.permit == 0,
                 "a request begins as call {}, which has permit {}",
                 call_number(r.id), r.permit);
  r.from = std::move(from);
  r.lease = true;
  r.arrived = core_.now();
  r.permits = std::max<std::uint32_t>(what.permits, 1);
  r.priority = what.priority;
  r.key = what.key;
  if (what.reserve)
    r.begin_by = time_after(core_.now(), what.max_wait);
  if (what.time_left == duration::zero())
    use_default_deadline(r, core_);
  else
    r.deadline = time_after(core_.now(), what.time_left);
  return r.deadline <= core_.now() ? end_late(r) : enter(r);
}

} // namespace caisson::detail
