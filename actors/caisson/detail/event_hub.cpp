#include <caisson/detail/event_hub.hpp>

namespace caisson::detail {

namespace {

// The key comes first, so that events can be told apart by it.
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
  out.detail = detail_of(x);
  out.call = x.call;
  out.delay = x.delay;
  return out;
}

} // namespace caisson::detail
