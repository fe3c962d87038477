#include <caisson/adapters/http_client/detail/option_headers.hpp>

#include <caisson/adapters/http/parser.hpp>

#include <string>

namespace caisson::detail {

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
  // The call alone says these, and not whoever has sent the request.
  out.erase(in_lower_case(config.priority_header));
  out.erase(in_lower_case(config.key_header));
  if (options.priority != 0)
    set(config.priority_header, std::to_string(options.priority));
  if (own)
    set(config.key_header, options.key);
}

} // namespace caisson::detail
