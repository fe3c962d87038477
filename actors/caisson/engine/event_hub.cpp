#include <caisson/engine/event_hub.hpp>

#include <caisson/policy/call_number.hpp>

namespace caisson::detail {

namespace {

// The key comes first, so that events can be distinguished by it.
std::string detail_of(const event_info& x) {
  if (x.key.empty())
    return std::string{x.detail};
  auto out = "key " + std::string{x.key};
  return x.detail.empty() ? out : out + ": " + std::string{x.detail};
}

} // namespace

void event_hub::publish(time_point now, const std::string& layer,
                        const event_info& x) {
  ++count_;
  if (host_.has_subscribers())
    host_.emit(make(now, layer, x));
}

event event_hub::make(time_point now, const std::string& layer,
                      const event_info& x) const {
  event out;
  out.number = count_;
  out.time_ns = now.time_since_epoch().count();
  out.gate = gate_;
  out.layer = layer;
  out.kind = x.kind;
  out.from = x.from;
  out.to = x.to;
  out.detail = detail_of(x);
  out.call = call_number(x.call);
  out.delay = x.delay;
  if (x.call != 0)
    add_trace(x, out);
  return out;
}

void event_hub::add_trace(const event_info& x, event& out) const {
  auto* r = calls_.find(x.call);
  if (!r || !r->trace || !r->trace->in_trace())
    return;
  const auto& t = *r->trace;
  auto of_attempt = x.kind == event_kind::attempt_ended;
  out.trace_id = t.above.trace_id();
  out.span_id = span_text(of_attempt ? t.attempt : t.span);
  out.parent_span_id = span_text(of_attempt ? t.span : t.above.span);
  if (of_attempt || x.kind == event_kind::call_ended)
    out.tracestate = t.propagated.tracestate();
}

} // namespace caisson::detail
