#include <caisson/adapters/grpc/messages.hpp>

#include <caisson/policy/grpc_codes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace caisson {

namespace {

bool is_metadata_name_char(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'
         || c == '_' || c == '.';
}

// Those that gRPC makes itself, or takes for its own: with one of these, the
// process would end. And those that HTTP/2 forbids.
bool is_reserved(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 13> names{"content-type",
                                                   "content-length",
                                                   "host",
                                                   "te",
                                                   "user-agent",
                                                   "connection",
                                                   "keep-alive",
                                                   "proxy-connection",
                                                   "transfer-encoding",
                                                   "upgrade",
                                                   "grpclb_client_stats",
                                                   "lb-cost-bin",
                                                   "endpoint-load-metrics-bin"};
  return name.starts_with("grpc-")
         || std::find(names.begin(), names.end(), name) != names.end();
}

bool is_printable(char c) noexcept {
  return c >= ' ' && c <= '~';
}

// `/package.Service/Method`.
bool is_method(std::string_view x) noexcept {
  auto middle = x.find('/', 1);
  return x.starts_with('/') && middle != std::string_view::npos && middle > 1
         && middle + 1 < x.size()
         && x.find('/', middle + 1) == std::string_view::npos
         && std::all_of(x.begin(), x.end(),
                        [](char c) { return is_printable(c) && c != ' '; });
}

} // namespace

std::string to_text(const grpc_response& x) {
  std::string out;
  auto code = static_cast<std::size_t>(x.code);
  if (x.code >= 0 && code < std::size(detail::grpc_names))
    for (auto c : detail::grpc_names[code])
      out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  else
    out = std::to_string(x.code);
  if (!x.message.empty())
    out.append(": ").append(x.message);
  return out;
}

const std::string* metadata_of(const grpc_metadata& all,
                               std::string_view name) noexcept {
  for (const auto& [key, value] : all)
    if (key == name)
      return &value;
  return nullptr;
}

bool is_metadata(std::string_view name, std::string_view value) {
  return !name.empty()
         && std::all_of(name.begin(), name.end(), is_metadata_name_char)
         && !is_reserved(name)
         && (name.ends_with("-bin")
             || std::all_of(value.begin(), value.end(), is_printable));
}

std::string problem_with(const grpc_request& x) {
  if (!is_method(x.method))
    return "the method is not a name such as /package.Service/Method";
  for (const auto& [name, value] : x.metadata) {
    if (!is_metadata(name, {}))
      return "\"" + name + "\" is not a name of metadata: "
             + std::string{detail::metadata_name_rule};
    if (!is_metadata(name, value))
      return "the metadata " + name
             + " is not printable ASCII: use a name that ends with -bin";
  }
  return {};
}

answer_adapter grpc_adapter() {
  return classify_grpc<grpc_response>([](const grpc_response& x) {
    auto* pushback = metadata_of(x.trailers, grpc_pushback_trailer);
    return grpc_result{x.code,
                       pushback ? std::optional{*pushback} : std::nullopt};
  });
}

void init_grpc_types() {
  [[maybe_unused]] static const auto once = [] {
#if !CAISSON_CAF_LEGACY
    init_transport_types();
    portable::init_types<caf::id_block::caisson_grpc>();
#endif
    return true;
  }();
}

void register_grpc_types(caf::actor_system_config& cfg) {
  portable::add_types<caf::id_block::caisson_grpc>(cfg);
  register_transport_types(cfg);
}

} // namespace caisson
