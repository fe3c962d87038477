#include <caisson/observe/otlp/detail/requests.hpp>

#include <caisson/adapters/http/parser.hpp>
#include <caisson/base/entropy.hpp>
#include <caisson/observe/event_text.hpp>
#include <caisson/settings/settings_text.hpp>
#include <caisson/version.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson::detail {

namespace {

// A random UUID (RFC 9562, version 4).
std::string random_id() {
  auto a = entropy_bits();
  auto b = entropy_bits();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32,
                     a >> 16 & 0xffff, a & 0xfff, 0x8000 | (b >> 48 & 0x3fff),
                     b & 0xffff'ffff'ffff);
}

otlp_frame frame_for(const otlp_config& c, const std::string& target,
                     std::string_view outer, std::string_view middle,
                     std::string_view inner, const std::string& resource) {
  otlp_frame out;
  out.target = target;
  out.headers = {
    {"content-type", "application/json"},
    {"user-agent", "OTel-OTLP-Exporter-Caisson/" CAISSON_VERSION_TEXT}};
  for (const auto& text : c.headers) {
    auto [name, value] = pair_of(text);
    if (in_lower_case(name) == "user-agent")
      name = "user-agent";
    out.headers.insert_or_assign(name, value);
  }
  out.head = fmt::format(R"({{"{}":[{{"resource":{},"{}":[{{"scope":{},)"
                         R"("{}":[)",
                         outer, resource, middle, otlp_scope(), inner);
  out.tail = "]}]}]}";
  return out;
}

} // namespace

std::pair<std::string, std::string> pair_of(std::string_view text) {
  auto at = text.find('=');
  if (at == text.npos)
    return {};
  return {std::string{trimmed(text.substr(0, at))},
          std::string{trimmed(text.substr(at + 1))}};
}

std::string otlp_attribute(std::string_view key, std::string_view value) {
  return fmt::format(R"({{"key":{},"value":{{"stringValue":{}}}}})",
                     json_string(key), json_string(value));
}

std::string otlp_resource(const otlp_config& c) {
  auto out = otlp_attribute("service.name", c.service_name);
  auto has_id = false;
  for (const auto& text : c.resource) {
    auto [name, value] = pair_of(text);
    has_id = has_id || name == "service.instance.id";
    out += ',' + otlp_attribute(name, value);
  }
  if (!has_id)
    out += ',' + otlp_attribute("service.instance.id", random_id());
  return R"({"attributes":[)" + out + "]}";
}

std::string otlp_scope() {
  return R"({"name":"caisson","version":")" CAISSON_VERSION_TEXT "\"}";
}

http_request otlp_frame::around(const std::vector<std::string>& parts) const {
  http_request out{.method = "POST", .target = target, .headers = headers};
  auto size = head.size() + tail.size() + parts.size();
  for (const auto& x : parts)
    size += x.size();
  out.body.reserve(size);
  out.body = head;
  for (const auto& x : parts) {
    if (&x != parts.data())
      out.body += ',';
    out.body += x;
  }
  out.body += tail;
  return out;
}

otlp_frame traces_frame(const otlp_config& c, const std::string& resource) {
  return frame_for(c, c.traces_path, "resourceSpans", "scopeSpans", "spans",
                   resource);
}

otlp_frame metrics_frame(const otlp_config& c, const std::string& resource) {
  return frame_for(c, c.metrics_path, "resourceMetrics", "scopeMetrics",
                   "metrics", resource);
}

} // namespace caisson::detail
