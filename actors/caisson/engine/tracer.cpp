#include <caisson/engine/tracer.hpp>

#include <caisson/policy/errc.hpp>

#include <fmt/format.h>

#include <random>

namespace caisson::detail {

namespace {

std::string_view name_of_end(const outcome& o) {
  if (o.ok)
    return "ok";
  return o.own_error ? name_of(static_cast<errc>(o.code)) : "error";
}

} // namespace

void tracer::begin(call_record& r, std::string_view traceparent,
                   propagated_fields&& propagated) {
  // An invalid one is ignored, as the standard says: no call fails for it.
  auto above = trace_context::parse(traceparent);
  // It says something of a trace.
  if (!above)
    propagated.set_tracestate({});
  if (above)
    r.trace = std::make_unique<call_trace>(
      call_trace{.above = *above, .span = next_span()});
  else if (!propagated.empty())
    r.trace = std::make_unique<call_trace>();
  if (r.trace)
    r.trace->propagated = std::move(propagated);
}

void tracer::inherit(call_record& child, const call_record& from) {
  // Of several calls, the first one that has a trace.
  if (!from.trace
      || (child.trace && (child.trace->in_trace() || !from.trace->in_trace())))
    return;
  child.trace = std::make_unique<call_trace>(
    call_trace{.above = from.trace->above,
               .span = from.trace->span,
               .propagated = from.trace->propagated});
}

void tracer::begin_attempt(call_record& r) {
  if (!r.trace || !r.trace->in_trace())
    return;
  r.trace->attempt = next_span();
  r.trace->target = r.target;
  // The call's wait is over.
  if (r.sends == 1 && !r.child && r.trace->above.sampled)
    note(measured::waits, true, r, r.trace->span, r.sent_at,
         r.sent_at - r.arrived);
}

void tracer::continue_in(call_options& out, const call_record& r) {
  if (!r.trace)
    return;
  out.propagated = r.trace->propagated;
  if (!r.trace->in_trace())
    return;
  auto x = r.trace->above;
  x.span = r.trace->attempt;
  out.traceparent = x.traceparent();
}

// 0 is no id.
std::uint64_t tracer::next_span() {
  if (!random_) {
    std::random_device entropy;
    random_ = std::make_unique<random_source>(
      seed_ ? *seed_ : std::uint64_t{entropy()} << 32 | entropy());
  }
  auto id = random_->bits();
  while (id == 0)
    id = random_->bits();
  return id;
}

void tracer::note(measured what, bool ok, const call_record& r,
                  std::uint64_t span, time_point now, duration took) {
  const auto& above = r.trace->above;
  examples_.note(what, ok,
                 {above.trace_high, above.trace_low, span, now, took});
}

void tracer::emit_attempt(time_point now, const call_record& r,
                          const outcome& o) {
  if (!r.trace->above.sampled)
    return;
  note(measured::attempts, o.ok || o.neutral, r, r.trace->attempt, now,
       now - r.sent_at);
  auto target = r.trace->target == worker_target
                  ? std::string{"worker"}
                  : fmt::format("target {}", r.trace->target);
  events_.publish(now, {},
                  {.kind = event_kind::attempt_ended,
                   .to = name_of_end(o),
                   .detail = target,
                   .call = r.id,
                   .delay = now - r.sent_at});
}

void tracer::emit_call(time_point now, const call_record& r, const outcome& o) {
  if (!r.trace->above.sampled)
    return;
  auto span = r.trace->span;
  note(measured::calls, o.ok || o.neutral, r, span, now, now - r.arrived);
  // As the histogram of waits counts them.
  if (r.sent_at == never && !o.ok && !may_have_executed(r))
    note(measured::waits, false, r, span, now, now - r.arrived);
  events_.publish(now, {},
                  {.kind = event_kind::call_ended,
                   .to = name_of_end(o),
                   .call = r.id,
                   .delay = now - r.arrived});
}

} // namespace caisson::detail
