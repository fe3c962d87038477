#include <caisson/http/client.hpp>

#include <caisson/http/detail/stream.hpp>

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace caisson {

namespace {

using detail::http_limits;
using detail::http_stream;

// cpp-httplib's client, which reads and writes by way of an `http_stream`.
class limited_client final : public httplib::ClientImpl {
public:
  limited_client(const std::string& host, int port, interruption& signal)
    : httplib::ClientImpl(host, port), signal_(signal) {
    set_keep_alive(true);
    set_follow_location(false);
    set_url_encode(false);
    set_decompress(false);
    set_tcp_nodelay(true);
  }

  void begin(time_point until, const http_limits& limits) {
    until_ = until;
    limits_ = limits;
    stream_.reset();
  }

  /// Whether there is an idle connection on which something has come. That is
  /// its end, or an answer to no request of ours.
  [[nodiscard]] bool is_stale() const {
    pollfd x{socket(), POLLIN, 0};
    return x.fd != INVALID_SOCKET && ::poll(&x, 1, 0) != 0;
  }

  /// The stream of the present message; null if there was no connection.
  [[nodiscard]] const http_stream* stream() const { return stream_.get(); }

private:
  bool process_socket(const Socket& socket,
                      std::function<bool(httplib::Stream&)> callback) override {
    stream_ = std::make_unique<http_stream>(socket.sock, signal_, false);
    stream_->begin(until_, limits_);
    return callback(*stream_);
  }

  interruption& signal_;
  time_point until_ = never;
  http_limits limits_;
  std::unique_ptr<http_stream> stream_;
};

caf::message failed_request(transport_errc code, std::string text) {
  return caf::make_message(make_error(code, std::move(text)));
}

class http_session final : public blocking_session {
public:
  explicit http_session(const http_client_config& c)
    : config_(c), client_(c.host, c.port, signal()) {}

  ~http_session() override { reset(); }

  void reset() noexcept override { client_.stop(); }

  result run(const job& x) override {
    auto* request = portable::get_if<http_request>(x.content);
    if (!request)
      return {caf::make_message(make_error(caf::sec::unexpected_message))};
    if (auto problem = problem_with(*request); !problem.empty())
      return {failed_request(transport_errc::bad_request, std::move(problem))};
    auto left = time_until(x.until, std::chrono::steady_clock::now());
    if (left <= duration::zero())
      return {failed_request(transport_errc::busy, "no time is left")};
    return {exchange(outgoing(*request, x.options, left), x.until, left)};
  }

private:
  [[nodiscard]] httplib::Request outgoing(const http_request& x,
                                          const call_options& options,
                                          duration left) const {
    httplib::Request out;
    out.method = x.method;
    out.path = x.target;
    out.body = x.body;
    for (const auto& [name, value] : x.headers)
      if (!is_of_connection(name))
        out.headers.emplace(name, value);
    if (out.headers.count("Accept-Encoding") == 0)
      out.headers.emplace("Accept-Encoding", "identity");
    if (const auto& name = config_.deadline_header; !name.empty()) {
      auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left);
      out.headers.erase(name);
      out.headers.emplace(
        name, std::to_string(std::max<std::int64_t>(ms.count(), 1)));
    }
    // It may have come with bytes that no header can have.
    auto sends_key = !options.idempotency_key.empty()
                     && out.headers.count("Idempotency-Key") == 0
                     && problem_with(
                          {.headers = {{"k", options.idempotency_key}}})
                          .empty();
    if (sends_key)
      out.headers.emplace("Idempotency-Key", options.idempotency_key);
    return out;
  }

  caf::message exchange(httplib::Request out, time_point until, duration left) {
    auto most = static_cast<std::size_t>(config_.max_body);
    http_response answer;
    auto too_large = false;
    out.content_receiver = [&](const char* part, std::size_t n, std::uint64_t,
                               std::uint64_t) {
      too_large = n > most - answer.body.size();
      if (!too_large)
        answer.body.append(part, n);
      return !too_large;
    };
    if (client_.is_stale())
      client_.stop();
    set_connect_time(std::min(left, config_.connect_timeout));
    // Chunks of one byte each are sent as six.
    client_.begin(until, {.body = 65'536 + 6 * most});
    httplib::Response in;
    auto error = httplib::Error::Success;
    if (!client_.send(out, in, error))
      return failed_request(too_large ? transport_errc::too_large : cause(),
                            httplib::to_string(error));
    // What follows would be taken for the next answer.
    if (client_.stream() && client_.stream()->has_left())
      client_.stop();
    answer.status = in.status;
    for (const auto& [name, value] : in.headers)
      add_header(answer.headers, name, value);
    return caf::make_message(std::move(answer));
  }

  void set_connect_time(duration d) {
    auto us = std::max<std::int64_t>(
      std::chrono::ceil<std::chrono::microseconds>(d).count(), 1);
    client_.set_connection_timeout(us / 1'000'000, us % 1'000'000);
  }

  // Why the last message failed.
  [[nodiscard]] transport_errc cause() const {
    const auto* x = client_.stream();
    if (!x)
      return transport_errc::not_connected;
    switch (x->why()) {
      case http_stream::trouble::timed_out:
        return x->written() == 0 ? transport_errc::busy
                                 : transport_errc::timed_out;
      case http_stream::trouble::too_large:
        return transport_errc::too_large;
      case http_stream::trouble::closed:
      case http_stream::trouble::interrupted:
        return x->written() == 0 ? transport_errc::not_connected
                                 : transport_errc::lost;
      case http_stream::trouble::bad_head:
      case http_stream::trouble::none:
        break;
    }
    return transport_errc::garbled;
  }

  static void add_header(http_headers& all, std::string name,
                         const std::string& value) {
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    auto [i, added] = all.emplace(std::move(name), value);
    // Cookies cannot be joined: commas are part of them.
    if (!added && i->first != "set-cookie")
      i->second += ", " + value;
  }

  http_client_config config_;
  limited_client client_;
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
  v.on({"deadline_header", "the header that tells the server how many "
                           "milliseconds are left; empty: none"},
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
