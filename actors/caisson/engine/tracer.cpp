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

void tracer::begin(call_record& r, std::string_view traceparent) {
  // An invalid one is ignored, as the standard says: no call fails for it.
  if (auto above = trace_context::parse(traceparent))
    r.trace = std::make_unique<call_trace>(call_trace{*above, next_span()});
}

void tracer::inherit(call_record& child, const call_record& from) {
  if (!child.trace && from.trace)
    child.trace = std::make_unique<call_trace>(
      call_trace{from.trace->above, from.trace->span});
}

void tracer::begin_attempt(call_record& r) {
  if (!r.trace)
    return;
  r.trace->attempt = next_span();
  r.trace->target = r.target;
}

std::string tracer::traceparent_of(const call_record& r) {
  if (!r.trace)
    return {};
  auto x = r.trace->above;
  x.span = r.trace->attempt;
  return x.traceparent();
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

void tracer::emit_attempt(time_point now, const call_record& r,
                          const outcome& o) {
  if (!r.trace->above.sampled)
    return;
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
  events_.publish(now, {},
                  {.kind = event_kind::call_ended,
                   .to = name_of_end(o),
                   .call = r.id,
                   .delay = now - r.arrived});
}

} // namespace caisson::detail
