#include <caisson/adapters/http/front.hpp>

#include <caisson/adapters/http/detail/inbox.hpp>
#include <caisson/adapters/http/server.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

namespace caisson {

namespace {

using steady = std::chrono::steady_clock;

/// How long after the deadline the answer of a gate may come: it is sent by
/// then.
constexpr auto grace = std::chrono::milliseconds(25);

http_response plain(std::int32_t status, std::string_view text) {
  return {status,
          {{"content-type", "text/plain; charset=utf-8"}},
          std::string{text} + '\n'};
}

// What the client says, if that can be read and is less than `most`.
duration asked_time(std::string_view text, duration most) {
  std::int64_t ms = 0;
  auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), ms);
  auto whole = err == std::errc{} && end == text.data() + text.size();
  auto longest = std::chrono::ceil<std::chrono::milliseconds>(most).count();
  if (!whole || ms <= 0 || ms >= longest)
    return most;
  return std::chrono::milliseconds(ms);
}

// 0 if it is none that a priority can be.
std::int32_t whole_number(std::string_view text) {
  std::int32_t x = 0;
  auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), x);
  return err == std::errc{} && end == text.data() + text.size() ? x : 0;
}

detail::http_tls_files files_of(const http_front_config& c) {
  return {c.certificate, c.key, c.client_ca_file};
}

detail::http_server_limits limits_of(const http_front_config& c) {
  return {.threads = c.threads,
          .max_waiting = c.max_waiting,
          .max_connections = c.max_connections,
          .max_per_peer = c.max_per_peer,
          .handshake_timeout = c.handshake_timeout,
          .head_timeout = c.head_timeout,
          .read_timeout = c.read_timeout,
          .idle_timeout = c.idle_timeout,
          .max_body = static_cast<std::size_t>(c.max_body),
          .max_unread = static_cast<std::size_t>(c.max_unread)};
}

// A server behind would take it for its own name. A proxy in front may have
// passed on what the client called.
void forward_host(http_headers& x) {
  if (auto host = x.extract("host")) {
    host.key() = "x-forwarded-host";
    x.insert(std::move(host));
  }
}

} // namespace

struct http_front::parts {
  parts(caf::actor_system& s, http_router r, http_front_config c)
    : sys(s), routes(std::move(r)), config((require_valid(c), std::move(c))),
      server(config.host, config.port, limits_of(config),
             {.serve =
                [this](http_request&& x, time_point until) {
                  forward_host(x.headers);
                  return answer(x, until);
                },
              .time_for =
                [this](const http_headers& x) {
                  return asked_time(header_of(x, config.deadline_header),
                                    config.timeout);
                }},
             files_of(config)) {}

  http_response answer(const http_request& x, time_point until) {
    try {
      if (auto problem = problem_with(x); !problem.empty())
        return plain(400, problem);
      auto route = routes(x);
      if (!route || !route->to)
        return plain(404, "not found");
      return ask(*route, x, until);
    } catch (const std::exception&) {
      return plain(500, "internal error");
    } catch (...) {
      return plain(500, "internal error");
    }
  }

  http_response ask(const http_route& route, const http_request& x,
                    time_point until) {
    auto what = route.to_call ? route.to_call(x) : as_call(x);
    set_options(what.options, x.headers);
    auto left = time_until(until, steady::now());
    if (left <= duration::zero())
      return http_error(make_error(errc::deadline_exceeded));
    auto& time_left = what.options.time_left;
    if (time_left != duration::zero())
      left = std::min(left, time_left);
    time_left = left;
    // As many as threads, which end with the server.
    thread_local std::unique_ptr<detail::inbox> box;
    thread_local const parts* owner = nullptr;
    if (owner != this) {
      box = std::make_unique<detail::inbox>(sys);
      owner = this;
    }
    auto content = box->ask(route.to, caf::make_message(std::move(what)),
                            steady::now() + left + grace);
    if (!content)
      return http_error(make_error(errc::deadline_exceeded));
    if (auto* err = portable::get_if<caf::error>(*content))
      return http_error(*err, config.retry_after);
    if (route.to_response)
      return route.to_response(*content);
    if (auto* response = portable::get_if<http_response>(*content))
      return *response;
    return plain(500, "internal error");
  }

  // What the client says, where the route says nothing.
  void set_options(call_options& out, const http_headers& x) const {
    if (!config.priority_header.empty() && out.priority == 0)
      out.priority = whole_number(header_of(x, config.priority_header));
    if (config.key_header.empty() || !out.key.empty())
      return;
    if (auto key = header_of(x, config.key_header);
        key.size() <= max_key_length)
      out.key = key;
  }

  caf::actor_system& sys;
  http_router routes;
  http_front_config config;
  detail::http_server server;
};

http_front::http_front(caf::actor_system& sys, caf::actor gate,
                       http_front_config c)
  : http_front(
    sys,
    [gate = std::move(gate)](const http_request&) {
      return std::optional{http_route{gate}};
    },
    std::move(c)) {}

http_front::http_front(caf::actor_system& sys, http_router routes,
                       http_front_config c)
  : parts_(std::make_unique<parts>(sys, std::move(routes), std::move(c))) {}

http_front::~http_front() = default;

std::uint16_t http_front::port() const noexcept {
  return parts_->server.port();
}

std::uint64_t http_front::answered() const noexcept {
  return parts_->server.answered();
}

std::uint64_t http_front::rejected() const noexcept {
  return parts_->server.rejected();
}

std::uint64_t http_front::failed_handshakes() const noexcept {
  return parts_->server.failed_handshakes();
}

std::string http_front::tls_problem() const {
  return parts_->server.tls_problem();
}

void describe(field_visitor& v, http_front_config& c) {
  using namespace std::chrono_literals;
  v.on({"host", "where to listen: an IP address or a name of this machine"},
       c.host);
  v.integer({"port", "where to listen; 0: any free port"}, c.port,
            {std::uint16_t{0}, std::uint16_t{65'535}});
  v.on({"certificate",
        "a PEM file with the certificate that clients are shown; "
        "empty: HTTP without TLS"},
       c.certificate);
  v.on({"key", "a PEM file with its key"}, c.key);
  v.on({"client_ca_file",
        "a PEM file with the authorities of clients, which "
        "must have a certificate then; empty: they need none"},
       c.client_ca_file);
  v.integer({"threads", "how many requests are answered at once"}, c.threads,
            {1, 1024});
  v.integer({"max_waiting", "how many further requests wait for a thread; "
                            "beyond that they are rejected with 503"},
            c.max_waiting, {0, 100'000});
  v.integer({"max_connections", "how many connections are open at once; for "
                                "one more, an idle one is closed"},
            c.max_connections, {1, 100'000});
  v.integer({"max_per_peer", "how many connections of one address are open at "
                             "once"},
            c.max_per_peer, {1, 100'000});
  v.on({"timeout", "how long a request may take, counted from when it is "
                   "complete"},
       c.timeout, {1ms, 24h});
  v.on({"handshake_timeout", "how long the handshake of TLS may take"},
       c.handshake_timeout, {1ms, 1h});
  v.on({"head_timeout", "how long the head of a request may take to arrive"},
       c.head_timeout, {1ms, 1h});
  v.on({"read_timeout", "how long a request may take to arrive, and a response "
                        "to be taken"},
       c.read_timeout, {1ms, 1h});
  v.on({"idle_timeout", "how long a connection is kept without a request"},
       c.idle_timeout, {1ms, 1h});
  v.integer({"max_body", "how large the body of a request may be, in bytes"},
            c.max_body, {0, 1 << 30});
  v.integer({"max_unread", "how many bytes the responses may have together "
                           "that clients have not taken yet"},
            c.max_unread, {1 << 20, std::int64_t{1} << 40});
  v.on(
    {"retry_after", "what `Retry-After` says if the gate does not know when"},
    c.retry_after, {1s, 24h});
  v.on({"deadline_header", "the header by which clients say how many "
                           "milliseconds they wait; empty: none"},
       c.deadline_header);
  v.on({"priority_header", "the header by which clients say how important a "
                           "request is; empty: none"},
       c.priority_header);
  v.on({"key_header", "the header by which clients say whose request it is; "
                      "empty: none"},
       c.key_header);
}

void check(const http_front_config& c, const setting_path& path,
           problems& out) {
  if (c.host.empty())
    out.push_back({problem_kind::range, path / "host", "it is empty"});
  check_header_names({{"deadline_header", c.deadline_header},
                      {"priority_header", c.priority_header},
                      {"key_header", c.key_header}},
                     path, out);
  detail::check_http_tls(files_of(c), path, out);
}

} // namespace caisson
