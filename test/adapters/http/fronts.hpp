// A front with an actor behind it, and what clients say to it.
#pragma once

#include <adapters/http/servers.hpp>

#include <caisson/adapters/http/front.hpp>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

namespace caisson::test {

// What comes back on a connection until the other side closes it.
inline std::string talk(std::uint16_t port, const std::string& text) {
  auto x = raw_socket::connected_to(port);
  x.write(text);
  std::string all;
  for (auto part = x.read(); !part.empty(); part = x.read())
    all += part;
  return all;
}

// With `Connection: close`, so that it ends.
inline std::string get(std::uint16_t port, const std::string& target,
                       const std::string& headers = {}) {
  return talk(port, "GET " + target
                      + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                      + headers + "\r\n");
}

inline int status_in(const std::string& x) {
  return x.size() > 12 ? std::atoi(x.c_str() + 9) : 0;
}

inline bool has_line(const std::string& x, const std::string& line) {
  return x.find("\r\n" + line + "\r\n") != std::string::npos;
}

inline std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != std::string::npos;
       at = text.find(what, at + 1))
    ++n;
  return n;
}

// Answers by the target: `/echo`, `/silence`, `/throw`, or with an error.
class front_worker final : public caf::event_based_actor {
public:
  explicit front_worker(caf::actor_config& cfg, std::atomic<int>* served)
    : caf::event_based_actor(cfg), served_(served) {}

  caf::behavior make_behavior() override {
    set_exception_handler([](std::exception_ptr&) -> caf::error {
      return caf::sec::runtime_error;
    });
    return {
      [this](const call& x) -> caf::result<http_response> {
        ++*served_;
        const auto& in = x.payload.get_as<http_request>(0);
        if (in.target == "/silence") {
          kept_.push_back(make_response_promise<http_response>());
          return kept_.back();
        }
        if (in.target == "/lost")
          return make_error(transport_errc::lost);
        if (in.target == "/bad-status")
          return http_response{42, {}, "x"};
        if (in.target == "/split")
          return http_response{200, {{"a", "b\r\nx-injected: 1"}}, "x"};
        auto left = time_point{duration{x.options.deadline_ns}} - clock().now();
        auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left);
        std::string body = in.method + ' ' + in.target + ' ' + in.body;
        return http_response{
          200,
          {{"x-left", std::to_string(ms.count())},
           {"x-key", x.options.idempotency_key},
           {"x-priority", std::to_string(x.options.priority)},
           {"x-whose", x.options.key},
           {"x-trace", x.options.traceparent},
           {"x-state", x.options.propagated.tracestate()},
           {"x-baggage", x.options.propagated.baggage()},
           {"x-idempotent", std::string{name_of(x.options.idempotent)}},
           {"x-mine", std::string{header_of(in.headers, "x-mine")}},
           {"x-accept", std::string{header_of(in.headers, "accept-encoding")}},
           {"x-headers", std::to_string(in.headers.size())}},
          body};
      },
    };
  }

  void on_exit() override { kept_.clear(); }

private:
  std::atomic<int>* served_;
  std::vector<caf::typed_response_promise<http_response>> kept_;
};

class http_front_test : public http_test {
protected:
  http_front_test()
    : worker_(caf::actor_cast<caf::actor>(sys->spawn<front_worker>(&served))),
      gate(spawn_gate(*sys, worker{worker_}.takes_calls(), stack{"shop"})) {}

  ~http_front_test() override {
    stop_gate(gate);
    caf::anon_send_exit(worker_, caf::exit_reason::user_shutdown);
  }

  std::atomic<int> served{0};
  caf::actor worker_;
  control_handle gate;
};

} // namespace caisson::test
