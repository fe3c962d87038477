#include <caisson/adapters/grpc/detail/context.hpp>

#include <grpc/support/time.h>

#include <algorithm>
#include <chrono>
#include <string_view>

namespace caisson::detail {

void set_deadline(::grpc::ClientContext& to, time_point until) {
  if (until == never)
    return;
  auto left = time_until(until, std::chrono::steady_clock::now());
  to.set_deadline(
    gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                 gpr_time_from_nanos(left.count(), GPR_TIMESPAN)));
}

void add_metadata(::grpc::ClientContext& to, const grpc_metadata& own,
                  const call_options& options, const option_names& names) {
  constexpr std::string_view trace = "traceparent";
  constexpr std::string_view idempotency_key = "idempotency-key";
  constexpr std::string_view state = "tracestate";
  constexpr std::string_view baggage = "baggage";
  const auto& fields = options.propagated;
  auto has_trace = !options.traceparent.empty();
  for (const auto& [name, value] : own) {
    // That of a request that is passed on names the span before the gate's.
    auto is_replaced = (name == trace && has_trace)
                       || (name == state
                           && (has_trace || !fields.tracestate().empty()))
                       || (name == baggage && !fields.baggage().empty())
                       || name == names.priority || name == names.key;
    if (!is_replaced)
      to.AddMetadata(name, value);
  }
  auto add = [&](std::string_view name, const std::string& value) {
    // It may have come with bytes that no metadata can have.
    if (!name.empty() && !value.empty() && is_metadata(name, value))
      to.AddMetadata(std::string{name}, value);
  };
  add(trace, options.traceparent);
  add(state, fields.tracestate());
  add(baggage, fields.baggage());
  if (!metadata_of(own, idempotency_key))
    add(idempotency_key, options.idempotency_key);
  if (options.priority != 0)
    add(names.priority, std::to_string(options.priority));
  add(names.key, options.key);
}

} // namespace caisson::detail
