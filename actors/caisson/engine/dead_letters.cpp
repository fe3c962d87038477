#include <caisson/engine/dead_letters.hpp>

#include <utility>

namespace caisson::detail {

namespace {

// Of children that are not over as well.
std::uint32_t attempts_of(engine_core& core, const call_record& r) {
  auto n = r.sends;
  for (auto id : r.children)
    if (auto* c = core.calls.find(id))
      n += attempts_of(core, *c);
  return n;
}

void send(engine_core& core, dead_letter&& x) {
  ++core.totals.dead_letters;
  x.gate = core.config.name;
  core.host.send_dead_letter(std::move(x));
}

} // namespace

void send_dead_letter(engine_core& core, call_record& r,
                      const caf::message& answer) {
  dead_letter x;
  x.content = std::move(r.payload);
  x.options.priority = r.priority;
  x.options.user_priority = r.user_priority;
  x.options.permits = r.permits;
  x.options.idempotent = r.idempotent;
  x.options.key = r.key;
  x.options.idempotency_key = r.idempotency_key;
  if (r.trace) {
    if (r.trace->in_trace())
      x.options.traceparent = r.trace->above.traceparent();
    x.options.propagated = r.trace->propagated;
  }
  x.answer = answer;
  x.answered = r.from.expects_reply();
  x.attempts = attempts_of(core, r);
  x.may_have_executed = may_have_executed(r);
  x.age = core.now() - r.arrived;
  send(core, std::move(x));
}

void send_dead_letter(engine_core& core, const reply_slot& from,
                      caf::message&& content, call_options* options,
                      const caf::message& answer) {
  dead_letter x;
  x.content = std::move(content);
  if (options)
    x.options = std::move(*options);
  x.options.attempt = 1;
  x.options.path.clear();
  x.options.time_left = duration::zero();
  x.options.deadline_ns = 0;
  x.answer = answer;
  x.answered = from.expects_reply();
  send(core, std::move(x));
}

} // namespace caisson::detail
