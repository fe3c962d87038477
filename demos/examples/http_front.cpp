// HTTP in front of a gate, and HTTP behind it: a shop whose catalog has a bad
// day.
#include "http_get.hpp"
#include "story.hpp"

#include <caisson/adapters/http/front.hpp>
#include <caisson/adapters/http_client/client.hpp>
#include <caisson/gate.hpp>

#include <fmt/format.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

/// A real server, which fails, is slow, and goes away.
class catalog {
public:
  catalog() {
    // It ends only when idle connections have.
    server_.set_keep_alive_timeout(1);
    server_.Get(
      "/items/7", [this](const httplib::Request&, httplib::Response& out) {
        ++served;
        if (failing-- > 0) {
          out.status = 503;
          return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        out.set_content("a teapot\n", "text/plain");
      });
    start(server_.bind_to_any_port("127.0.0.1"));
  }

  ~catalog() { stop(); }

  catalog(const catalog&) = delete;
  catalog& operator=(const catalog&) = delete;

  void stop() {
    server_.stop();
    if (thread_.joinable())
      thread_.join();
  }

  void start_again() {
    server_.bind_to_port("127.0.0.1", port_);
    start(port_);
  }

  [[nodiscard]] std::uint16_t port() const {
    return static_cast<std::uint16_t>(port_);
  }

  std::atomic<int> served{0};
  std::atomic<int> failing{0};
  std::atomic<int> milliseconds{0};

private:
  void start(int port) {
    port_ = port;
    thread_ = std::thread{[this] { server_.listen_after_bind(); }};
    while (!server_.is_running())
      std::this_thread::yield();
  }

  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

// [gate]
caisson::control_handle catalog_gate(caf::actor_system& sys,
                                     std::uint16_t port) {
  return caisson::spawn_gate(
    sys,
    caisson::http_worker({.url = fmt::format("http://127.0.0.1:{}", port)}),
    caisson::stack{"catalog"}
      .deadline({.timeout = 400ms})
      .retrier(
        {.max_attempts = 3, .backoff = caisson::schedule::constant(10ms)})
      .breaker({.threshold = 4, .open = caisson::schedule::constant(2s)})
      .semaphore({.permits = 8}));
}
// [/gate]

/// The first line of the answer, `Retry-After`, and the body; without the body
/// if no time was left, which the gate and its worker find out together: on a
/// busy machine either may say so.
std::string in_brief(const std::string& answer) {
  auto line = [&](const std::string& begin) {
    auto at = answer.find(begin);
    return at == std::string::npos
             ? std::string{}
             : answer.substr(at, answer.find('\r', at) - at);
  };
  auto text = line("HTTP/1.1 ").substr(9);
  if (auto after = line("retry-after: "); !after.empty())
    text += ", " + after;
  if (text.starts_with("504"))
    return text;
  auto body = answer.substr(answer.find("\r\n\r\n") + 4);
  return text + ": " + body.substr(0, body.find('\n'));
}

} // namespace

int main() {
  demo::story story;
  catalog behind;
  caisson::init_http_types();
  caisson::system_config config;
  caisson::register_http_types(config);
  caf::actor_system system{config};
  {
    auto gate = catalog_gate(system, behind.port());
    // [front]
    caisson::http_front front{system, gate, {.timeout = 2s}};
    // [/front]

    auto get = [&] {
      behind.served = 0;
      auto answer = in_brief(demo::http_get(front.port(), "/items/7"));
      story.print("GET /items/7  {:<55} requests behind: {}", answer,
                  behind.served.load());
      return answer.substr(0, 3);
    };

    story.check(get() == "200", "all is well");
    story.print("-- the catalog answers 503, twice");
    behind.failing = 2;
    story.check(get() == "200", "retries hide that");
    story.print("-- the catalog takes a second");
    behind.milliseconds = 1'000;
    story.check(get() == "504", "the deadline is over");
    behind.milliseconds = 0;
    story.print("-- the catalog is gone");
    behind.stop();
    story.check(get() == "503", "nobody listens");
    story.check(get() == "503", "the breaker is open");
    story.print("-- the catalog is back");
    behind.start_again();
    std::this_thread::sleep_for(2'100ms);
    story.check(get() == "200", "the breaker has closed");
    caisson::stop_gate(gate);
  }
  return story.end();
}

/* It prints:

GET /items/7  200 OK: a teapot                                        requests behind: 1
-- the catalog answers 503, twice
GET /items/7  200 OK: a teapot                                        requests behind: 3
-- the catalog takes a second
GET /items/7  504 Gateway Timeout                                     requests behind: 1
-- the catalog is gone
GET /items/7  503 Service Unavailable, retry-after: 1: not_connected  requests behind: 0
GET /items/7  503 Service Unavailable, retry-after: 2: breaker_open   requests behind: 0
-- the catalog is back
GET /items/7  200 OK: a teapot                                        requests behind: 1
*/
