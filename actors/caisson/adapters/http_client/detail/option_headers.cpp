#include <caisson/adapters/http_client/detail/option_headers.hpp>

#include <caisson/adapters/http/parser.hpp>

#include <caisson/policy/propagated_fields.hpp>

#include <string>

namespace caisson::detail {

namespace {

// A request that is passed on may have them as they came. What the call says
// takes their place, and what is not valid goes no further.
void add_propagated(http_headers& out, const call_options& options, bool own) {
  auto put = [&](const char* name, const std::string& value) {
    if (value.empty())
      out.erase(name);
    else
      out.insert_or_assign(name, value);
  };
  auto from_request = [&](const char* name) {
    return std::string{header_of(out, name)};
  };
  const auto& of_call = options.propagated;
  // That of a request belongs to its `traceparent`.
  auto takes_place = !of_call.tracestate().empty()
                     || !options.traceparent.empty();
  put("tracestate", takes_place ? of_call.tracestate()
                                : valid_tracestate(from_request("tracestate")));
  // It is for those that the program calls, and not for whoever these name.
  put("baggage", !own ? std::string{}
                 : of_call.baggage().empty()
                   ? valid_baggage(from_request("baggage"))
                   : of_call.baggage());
}

} // namespace

void add_option_headers(http_headers& out, const call_options& options,
                        const http_client_config& config, bool own) {
  auto set = [&](const std::string& name, const std::string& value) {
    // It may have come with bytes that no header can have.
    if (!name.empty() && !value.empty()
        && problem_with({.headers = {{"k", value}}}).empty())
      out.insert_or_assign(in_lower_case(name), value);
  };
  if (out.count("idempotency-key") == 0)
    set("idempotency-key", options.idempotency_key);
  // That of a request that is passed on names the span before the gate's.
  set("traceparent", options.traceparent);
  add_propagated(out, options, own);
  // The call alone says these, and not whoever has sent the request.
  out.erase(in_lower_case(config.priority_header));
  out.erase(in_lower_case(config.key_header));
  if (options.priority != 0)
    set(config.priority_header, std::to_string(options.priority));
  if (own)
    set(config.key_header, options.key);
}

} // namespace caisson::detail
