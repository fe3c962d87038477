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

namespace {

// RFC 9113 section 6.5.2.
constexpr std::size_t around_each = 32;

} // namespace

std::size_t size_of_metadata(const grpc_request& x,
                             const call_options& options) {
  // `user-agent`, `grpc-timeout`, `:authority` and the like.
  constexpr std::size_t of_grpc = 700;
  auto size = of_grpc + x.method.size();
  for (const auto& [name, value] : x.metadata)
    size += name.size() + value.size() + around_each;
  for (const auto* text :
       {&options.traceparent, &options.propagated.tracestate(),
        &options.idempotency_key, &options.key})
    if (!text->empty())
      size += text->size() + 2 * around_each;
  if (options.priority != 0)
    size += 2 * around_each;
  return size;
}

void add_metadata(::grpc::ClientContext& to, const grpc_metadata& own,
                  const call_options& options, const option_names& names,
                  std::size_t room) {
  constexpr std::string_view trace = "traceparent";
  constexpr std::string_view idempotency_key = "idempotency-key";
  constexpr std::string_view state = "tracestate";
  constexpr std::string_view baggage = "baggage";
  const auto& fields = options.propagated;
  const auto has_baggage = !fields.baggage().empty()
                           && fields.baggage().size() + baggage.size()
                                  + around_each
                                <= room;
  auto has_trace = !options.traceparent.empty();
  for (const auto& [name, value] : own) {
    // That of a request that is passed on names the span before the gate's.
    auto is_replaced = (name == trace && has_trace)
                       || (name == state
                           && (has_trace || !fields.tracestate().empty()))
                       || (name == baggage && has_baggage)
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
  if (has_baggage)
    add(baggage, fields.baggage());
  if (!metadata_of(own, idempotency_key))
    add(idempotency_key, options.idempotency_key);
  if (options.priority != 0)
    add(names.priority, std::to_string(options.priority));
  add(names.key, options.key);
}

} // namespace caisson::detail
