#include <caisson/observe/metrics/server.hpp>

#include <caisson/adapters/http/parser.hpp>
#include <caisson/adapters/http/server.hpp>
#include <caisson/observe/gate_watch.hpp>
#include <caisson/observe/metrics/detail/address.hpp>
#include <caisson/observe/metrics/detail/page.hpp>
#include <caisson/observe/metrics/detail/text.hpp>
#include <caisson/settings/settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <exception>
#include <mutex>
#include <string_view>
#include <utility>

namespace caisson {

namespace {

/// A page may be large and its reader far away. The threads mostly wait for one
/// of them, which makes the page.
constexpr detail::http_server_limits limits{
  .threads = 4,
  .max_waiting = 32,
  .max_connections = 64,
  .max_per_peer = 32,
  .read_timeout = std::chrono::seconds(10),
  .max_body = 0,
  .max_unread = std::size_t{1} << 40,
  .max_bodies = 4};

http_response plain(std::int32_t status, std::string text) {
  return {
    status, {{"content-type", "text/plain; charset=utf-8"}}, std::move(text)};
}

http_response directory() {
  http_response out{
    200, {{"content-type", "text/html; charset=utf-8"}}, R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Caisson: metrics</title>
<h1>Gates of this program</h1>
<ul>
<li><a href="/metrics">/metrics</a>: their metrics, for Prometheus
<li><a href="/healthz">/healthz</a>: whether the program is healthy
<li><a href="/readyz">/readyz</a>: whether it is ready for requests
</ul>
</html>
)"};
  out.headers.emplace("content-security-policy", "default-src 'none'");
  out.headers.emplace("x-content-type-options", "nosniff");
  return out;
}

// Whether it says so without a weight: one of zero would mean the opposite.
bool takes_packed(const http_request& x) {
  auto all = detail::in_lower_case(header_of(x.headers, "accept-encoding"));
  std::string_view left = all;
  while (!left.empty()) {
    auto comma = std::min(left.find(','), left.size());
    auto one = left.substr(0, comma);
    one.remove_prefix(std::min(one.find_first_not_of(" \t"), one.size()));
    if (one.substr(0, one.find_last_not_of(" \t") + 1) == "gzip")
      return true;
    left.remove_prefix(std::min(comma + 1, left.size()));
  }
  return false;
}

struct place {
  std::string host;
  std::uint16_t port = 0;
};

// Of an address that was checked.
place place_of(const std::string& address) {
  place out;
  auto colon = address.rfind(':');
  out.host = address.substr(0, colon);
  if (out.host.front() == '[')
    out.host = out.host.substr(1, out.host.size() - 2);
  std::from_chars(address.data() + colon + 1, address.data() + address.size(),
                  out.port);
  return out;
}

} // namespace

struct metrics_server::parts {
  parts(caf::actor_system& sys, const place& where, const metrics_config& c)
    : config((require_valid(c), c)),
      gates(sys, {.every = c.publish_every, .keys = c.keys_per_layer}),
      page([this] { return detail::text_of(gates.gates(), config); },
           c.publish_every),
      server(where.host, where.port, limits,
             {.serve = [this](const http_request& x, time_point) {
               return answer(x);
             }}) {}

  ~parts() { closing = true; }

  parts(const parts&) = delete;
  parts& operator=(const parts&) = delete;

  detail::http_answer answer(const http_request& x) {
    auto path = x.target.substr(0, x.target.find('?'));
    auto* rule = path == "/healthz"  ? &healthy
                 : path == "/readyz" ? &ready
                                     : nullptr;
    if (!rule && path != "/metrics" && path != "/")
      return plain(404, "only /metrics, /healthz and /readyz are here\n");
    if (x.method != "GET" && x.method != "HEAD") {
      auto out = plain(405, "GET\n");
      out.headers.emplace("allow", "GET, HEAD");
      return out;
    }
    // Nobody needs what those who still wait would have made.
    if (closing)
      return plain(503, "it ends\n");
    if (rule)
      return probe(*rule);
    if (path == "/")
      return directory();
    http_response head{
      200, {{"content-type", "text/plain; version=0.0.4; charset=utf-8"}}, {}};
    if (!detail::can_pack() || !takes_packed(x))
      return {std::move(head), page.plain()};
    head.headers.emplace("content-encoding", "gzip");
    return {std::move(head), page.zipped()};
  }

  void set(health_rule& rule, health_rule x) {
    std::lock_guard guard{mutex};
    rule = std::move(x);
  }

  http_response probe(const health_rule& rule) {
    std::unique_lock lock{mutex};
    auto reason_of = rule;
    lock.unlock();
    std::string why;
    try {
      if (reason_of)
        why = reason_of(gates.gates());
    } catch (const std::exception& e) {
      why = std::string{"the health check threw: "} + e.what();
    } catch (...) {
      why = "the health check threw";
    }
    auto out = why.empty() ? plain(200, "ok\n") : plain(503, why + '\n');
    out.headers.emplace("cache-control", "no-store");
    return out;
  }

  const metrics_config config;
  std::mutex mutex;
  health_rule healthy;
  health_rule ready = draining_gates;
  const gate_watch gates;
  std::atomic<bool> closing{false};
  detail::metrics_page page;
  /// Ends first.
  detail::http_server server;
};

metrics_server::metrics_server(caf::actor_system& sys,
                               const std::string& address, metrics_config c)
  : parts_(std::make_unique<parts>(
    sys, place_of(detail::listening_address(address)), c)) {}

metrics_server::~metrics_server() = default;

std::uint16_t metrics_server::port() const noexcept {
  return parts_->server.port();
}

void metrics_server::set_healthy(health_rule rule) {
  parts_->set(parts_->healthy, std::move(rule));
}

void metrics_server::set_ready(health_rule rule) {
  parts_->set(parts_->ready, std::move(rule));
}

std::string draining_gates(const std::vector<watched_gate>& all) {
  std::string names;
  for (const auto& x : all)
    if (x.last->state == gate_state::draining && !x.leaving)
      names += (names.empty() ? "" : ", ") + x.name;
  return names.empty() ? names : "draining: " + names;
}

} // namespace caisson
