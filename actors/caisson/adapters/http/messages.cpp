#include <caisson/adapters/http/messages.hpp>

#include <caisson/policy/trace_context.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace caisson {

namespace {

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

// RFC 9110 section 5.6.2.
bool is_token(std::string_view x) noexcept {
  constexpr std::string_view separators = "!#$%&'*+-.^_`|~";
  return !x.empty() && std::all_of(x.begin(), x.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
           || (c >= '0' && c <= '9')
           || separators.find(c) != std::string_view::npos;
  });
}

bool is_visible(char c) noexcept {
  return c > ' ' && c < '\x7f';
}

bool is_value(std::string_view x) noexcept {
  return std::all_of(x.begin(), x.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 ? c != '\x7f' : c == '\t';
  });
}

// To this library, whose settings name further headers.
bool has_other_meaning(std::string_view header) noexcept {
  constexpr std::array<std::string_view, 5> names{
    "host", "idempotency-key", "traceparent", "tracestate", "baggage"};
  return std::any_of(names.begin(), names.end(),
                     [&](auto x) { return same_name(x, header); });
}

} // namespace

std::string_view header_of(const http_headers& all,
                           std::string_view name) noexcept {
  for (const auto& [key, value] : all)
    if (same_name(key, name))
      return value;
  return {};
}

bool is_idempotent(std::string_view method) noexcept {
  constexpr std::array<std::string_view, 6> methods{"GET",   "HEAD", "OPTIONS",
                                                    "TRACE", "PUT",  "DELETE"};
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

call as_call(http_request x) {
  std::string key{header_of(x.headers, "Idempotency-Key")};
  std::string trace{header_of(x.headers, "traceparent")};
  propagated_fields fields;
  fields.set_baggage(header_of(x.headers, "baggage"));
  // Without a trace it means nothing.
  auto in_trace = trace_context::parse(trace).has_value();
  if (in_trace)
    fields.set_tracestate(header_of(x.headers, "tracestate"));
  auto repeatable = is_idempotent(x.method);
  auto result = wrap(std::move(x)).idempotent(repeatable);
  if (key.size() <= max_key_length)
    result.options.idempotency_key = std::move(key);
  if (in_trace)
    result.options.traceparent = std::move(trace);
  result.options.propagated = std::move(fields);
  return result;
}

std::string problem_with(const http_request& x) {
  if (!is_token(x.method))
    return "the method is not a token";
  if (!x.target.starts_with('/')
      || !std::all_of(x.target.begin(), x.target.end(), is_visible))
    return "the target is not a path";
  for (const auto& [name, value] : x.headers) {
    if (!is_token(name))
      return "the name of a header is not a token";
    if (!is_value(value))
      return "the value of the header " + name + " has control characters";
  }
  return {};
}

bool is_of_connection(std::string_view header) noexcept {
  constexpr std::array<std::string_view, 10> names{"connection",
                                                   "keep-alive",
                                                   "proxy-connection",
                                                   "proxy-authenticate",
                                                   "proxy-authorization",
                                                   "te",
                                                   "trailer",
                                                   "transfer-encoding",
                                                   "upgrade",
                                                   "content-length"};
  return std::any_of(names.begin(), names.end(),
                     [&](auto x) { return same_name(x, header); });
}

void check_header_names(
  const std::vector<std::pair<std::string_view, std::string>>& names,
  const setting_path& path, problems& out) {
  for (auto i = names.begin(); i != names.end(); ++i) {
    auto key = i->first;
    const auto& name = i->second;
    auto report = [&](std::string text) {
      out.push_back({problem_kind::range, path / key, std::move(text)});
    };
    if (name.empty())
      continue;
    if (!is_token(name))
      report("it is not the name of a header");
    if (is_of_connection(name) || has_other_meaning(name))
      report("a header of that name has another meaning");
    for (auto j = names.begin(); j != i; ++j)
      if (same_name(name, j->second))
        report(std::string{"it is also the "}.append(j->first));
  }
}

answer_adapter http_adapter() {
  return classify_http<http_response>([](const http_response& x) {
    return http_result{x.status,
                       std::string{header_of(x.headers, "retry-after")},
                       std::string{header_of(x.headers, "date")}};
  });
}

void init_http_types() {
  [[maybe_unused]] static const auto once = [] {
#if !CAISSON_CAF_LEGACY
    init_transport_types();
    portable::init_types<caf::id_block::caisson_http>();
#endif
    return true;
  }();
}

void register_http_types(caf::actor_system_config& cfg) {
  portable::add_types<caf::id_block::caisson_http>(cfg);
  register_transport_types(cfg);
}

} // namespace caisson
