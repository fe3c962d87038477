#include <caisson/adapters/http/client.hpp>

#include <caisson/adapters/http/exchange.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace caisson {

namespace {

caf::message failed_request(transport_errc code, std::string text) {
  return caf::make_message(make_error(code, std::move(text)));
}

using detail::http_exchange;
using detail::http_parser;
using detail::http_stream;

class http_session final : public blocking_session {
public:
  explicit http_session(const http_client_config& c)
    : config_(c),
      exchange_(signal(), {.body = static_cast<std::size_t>(c.max_body)}) {}

  void reset() noexcept override { exchange_.close(); }

  result run(const job& x) override {
    auto* request = portable::get_if<http_request>(x.content);
    if (!request)
      return {caf::make_message(make_error(caf::sec::unexpected_message))};
    if (auto problem = problem_with(*request); !problem.empty())
      return {failed_request(transport_errc::bad_request, std::move(problem))};
    auto left = time_until(x.until, std::chrono::steady_clock::now());
    if (left <= duration::zero())
      return {failed_request(transport_errc::busy, "no time is left")};
    auto answer = exchange(*request, head_of(*request, x.options, left),
                           x.until, left);
    return {std::move(answer)};
  }

private:
  [[nodiscard]] http_headers headers_of(const http_request& x,
                                        const call_options& options,
                                        duration left) const {
    http_headers out;
    for (const auto& [name, value] : x.headers)
      if (!is_of_connection(name)) {
        auto [i, is_new] = out.emplace(detail::in_lower_case(name), value);
        if (!is_new)
          i->second.append(", ").append(value);
      }
    detail::drop_named_by_connection(out, header_of(x.headers, "connection"));
    out.emplace("host", host());
    out.emplace("accept", "*/*");
    out.emplace("accept-encoding", "identity");
    if (!config_.deadline_header.empty()) {
      auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left);
      out.insert_or_assign(
        detail::in_lower_case(config_.deadline_header),
        std::to_string(std::max<std::int64_t>(ms.count(), 1)));
    }
    // It may have come with bytes that no header can have.
    if (!options.idempotency_key.empty()
        && problem_with({.headers = {{"k", options.idempotency_key}}}).empty())
      out.emplace("idempotency-key", options.idempotency_key);
    return out;
  }

  [[nodiscard]] std::string host() const {
    auto name = config_.host.find(':') == std::string::npos
                  ? config_.host
                  : '[' + config_.host + ']';
    return config_.port == 80 ? name : fmt::format("{}:{}", name, config_.port);
  }

  [[nodiscard]] std::string head_of(const http_request& x,
                                    const call_options& options,
                                    duration left) const {
    auto out = fmt::format("{} {} HTTP/1.1\r\n", x.method, x.target);
    for (const auto& [name, value] : headers_of(x, options, left))
      out.append(name).append(": ").append(value).append("\r\n");
    auto may_have_one = x.method != "GET" && x.method != "HEAD"
                        && x.method != "OPTIONS" && x.method != "DELETE";
    if (may_have_one || !x.body.empty())
      out += fmt::format("content-length: {}\r\n", x.body.size());
    return out + "\r\n";
  }

  caf::message exchange(const http_request& x, const std::string& head,
                        time_point until, duration left) {
    auto& response = exchange_.response();
    if (!exchange_.run(config_.host, config_.port,
                       std::min(left, config_.connect_timeout), until, head,
                       x.body, x.method == "HEAD"))
      return failed_request(cause(), problem());
    // The length of a body that is not there is known from nothing else.
    detail::drop_those_of_connection(response.headers(), x.method == "HEAD");
    return caf::make_message(http_response{response.status(),
                                           std::move(response.headers()),
                                           std::move(response.body())});
  }

  // Why the last message failed.
  [[nodiscard]] transport_errc cause() const {
    if (exchange_.is_garbled())
      return exchange_.response().why() == http_parser::fault::large_body
               ? transport_errc::too_large
               : transport_errc::garbled;
    auto unsent = exchange_.is_unsent();
    switch (exchange_.why()) {
      case http_stream::trouble::not_connected:
        return transport_errc::not_connected;
      case http_stream::trouble::timed_out:
        return unsent ? transport_errc::busy : transport_errc::timed_out;
      default:
        return unsent ? transport_errc::not_connected : transport_errc::lost;
    }
  }

  [[nodiscard]] std::string problem() const {
    if (exchange_.is_garbled())
      return exchange_.response().why() == http_parser::fault::large_body
               ? "the body is too large"
               : "the answer is no valid HTTP response";
    switch (exchange_.why()) {
      case http_stream::trouble::not_connected:
        return "could not connect";
      case http_stream::trouble::timed_out:
        return "no answer in time";
      case http_stream::trouble::interrupted:
        return "it was called off";
      default:
        return "the connection was closed";
    }
  }

  http_client_config config_;
  http_exchange exchange_;
};

blocking_worker_kind kind_for(const http_client_config& c) {
  require_valid(c);
  return {.name = "caisson.http_worker",
          .make = [c] { return std::make_unique<http_session>(c); },
          .adapter = http_adapter()};
}

} // namespace

void describe(field_visitor& v, http_client_config& c) {
  using namespace std::chrono_literals;
  v.on({"host", "the server: a name or an IP address"}, c.host);
  v.integer({"port", "the server's port"}, c.port,
            {std::uint16_t{1}, std::uint16_t{65'535}});
  describe_blocking_pool(v, c);
  v.on({"connect_timeout", "how long to try to connect at most"},
       c.connect_timeout, {1ms, 1h});
  v.integer({"max_body", "how large the body of a response may be, in bytes"},
            c.max_body, {0, 1 << 30});
  v.on({"deadline_header", "the header that gives the server the milliseconds "
                           "that are left; empty: none"},
       c.deadline_header);
}

void check(const http_client_config& c, const setting_path& path,
           problems& out) {
  if (c.host.empty())
    out.push_back({problem_kind::range, path / "host", "it is empty"});
  if (!c.deadline_header.empty()
      && !problem_with({.headers = {{c.deadline_header, ""}}}).empty())
    out.push_back({problem_kind::range, path / "deadline_header",
                   "it is not the name of a header"});
}

worker http_worker(const http_client_config& c, supervision_config s) {
  return blocking_worker(kind_for(c), pool_config_of(c), std::move(s));
}

caf::actor spawn_http_worker(caf::actor_system& sys,
                             const http_client_config& c) {
  return spawn_blocking_pool(sys, kind_for(c), pool_config_of(c));
}

} // namespace caisson
