#include <caisson/detail/event_hub.hpp>

namespace caisson::detail {

void event_hub::publish(time_point now, const std::string& layer,
                        const event_info& x) {
  ++count_;
  if (host_.has_subscribers())
    host_.tell(make(now, layer, x));
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
  out.detail = x.detail;
  out.call = x.call;
  out.delay = x.delay;
  return out;
}

} // namespace caisson::detail
