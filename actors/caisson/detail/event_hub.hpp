// The events of a gate, on their way to subscribers.
#pragma once

#include <caisson/detail/engine_host.hpp>
#include <caisson/policy.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace caisson::detail {

/// Numbers events, and builds those that somebody listens to.
class event_hub {
public:
  event_hub(engine_host& host, std::string gate)
    : host_(host), gate_(std::move(gate)) {}

  /// `layer` is empty if it is the gate's own event.
  void publish(time_point now, const std::string& layer, const event_info& x);

  /// The event itself, under the last number given.
  [[nodiscard]] event make(time_point now, const std::string& layer,
                           const event_info& x) const;

private:
  engine_host& host_;
  std::string gate_;
  std::uint64_t count_ = 0;
};

} // namespace caisson::detail
