// The events of a gate, on their way to subscribers.
#pragma once

#include <caisson/engine/call_table.hpp>
#include <caisson/engine/engine_host.hpp>
#include <caisson/policy/policy.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace caisson::detail {

/// Numbers events, and builds them if there are subscribers.
class event_hub {
public:
  /// `calls` are asked for the traces of calls.
  event_hub(engine_host& host, std::string gate, call_table& calls)
    : host_(host), gate_(std::move(gate)), calls_(calls) {}

  /// `layer` is empty if it is the gate's own event.
  void publish(time_point now, const std::string& layer, const event_info& x);

  /// The event itself, under the last number given.
  [[nodiscard]] event make(time_point now, const std::string& layer,
                           const event_info& x) const;

private:
  void add_trace(const event_info& x, event& out) const;

  engine_host& host_;
  std::string gate_;
  call_table& calls_;
  std::uint64_t count_ = 0;
};

} // namespace caisson::detail
