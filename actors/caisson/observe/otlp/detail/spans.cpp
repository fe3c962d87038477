#include <caisson/observe/otlp/detail/spans.hpp>

#include <caisson/observe/otlp/detail/requests.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace caisson::detail {

namespace {

// Of the schema: what the gate does itself, and what it asks others for.
constexpr int internal_kind = 1;
constexpr int client_kind = 3;

bool is_id(std::string_view x, std::size_t digits) {
  auto is_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  };
  return x.size() == digits && std::all_of(x.begin(), x.end(), is_digit);
}

std::int64_t nanoseconds(utc_time at) {
  return std::max<std::int64_t>(at.time_since_epoch().count(), 0);
}

} // namespace

std::optional<std::string> otlp_span(const event& x, utc_time at) {
  auto is_call = x.kind == event_kind::call_ended;
  if (!is_call && x.kind != event_kind::attempt_ended)
    return std::nullopt;
  if (!is_id(x.trace_id, 32) || !is_id(x.span_id, 16)
      || !is_id(x.parent_span_id, 16))
    return std::nullopt;
  auto attributes = otlp_attribute("caisson.gate", x.gate) + ','
                    + otlp_attribute("caisson.outcome", x.to);
  if (!is_call)
    attributes += ',' + otlp_attribute("caisson.target", x.detail);
  // Every span of a trace has it.
  std::string state;
  if (auto valid = valid_tracestate(x.tracestate); !valid.empty())
    state = fmt::format(R"("traceState":{},)", json_string(valid));
  // An instrumentation leaves the status of what succeeds as it is.
  std::string status;
  if (x.to != "ok") {
    attributes += ',' + otlp_attribute("error.type", x.to);
    status = fmt::format(R"(,"status":{{"message":{},"code":2}})",
                         json_string(x.to));
  }
  return fmt::format(
    R"({{"traceId":"{}","spanId":"{}",{}"parentSpanId":"{}","name":{},)"
    R"("kind":{},"startTimeUnixNano":"{}","endTimeUnixNano":"{}",)"
    R"("attributes":[{},{{"key":"caisson.call","value":{{"intValue":"{}"}}}}])"
    R"({}}})",
    x.trace_id, x.span_id, state, x.parent_span_id,
    json_string(is_call ? x.gate : x.gate + " to " + x.detail),
    is_call ? internal_kind : client_kind, nanoseconds(at - x.delay),
    nanoseconds(at), attributes, x.call, status);
}

} // namespace caisson::detail
