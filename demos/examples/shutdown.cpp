// Ends on SIGTERM without losing a request: readiness, drain, stop.
#include "http_get.hpp"
#include "story.hpp"

#include <caisson/adapters/http/front.hpp>
#include <caisson/gate.hpp>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

using caisson::http_request;
using caisson::http_response;

/// Takes half a second for an order.
caf::behavior orders() {
  return {
    [](const http_request&) {
      std::this_thread::sleep_for(500ms);
      return http_response{.body = "ordered\n"};
    },
  };
}

// [health]
/// Answers probes. No gate unwraps their calls.
caf::behavior health(caf::event_based_actor*, const std::atomic<bool>* ready) {
  return {
    [ready](const caisson::call&) {
      return *ready ? http_response{.body = "ready\n"}
                    : http_response{.status = 503, .body = "ending\n"};
    },
  };
}
// [/health]

/// What balances the load, and a client, which sends an order just before the
/// end.
void outside(demo::story& story, std::uint16_t port) {
  auto get = [&](const std::string& path) {
    auto answer = demo::http_get(port, path);
    auto body = answer.substr(answer.find("\r\n\r\n") + 4);
    story.print("GET {:<8} {} {}", path, answer.substr(9, 3),
                body.substr(0, body.find('\n')));
    return answer.substr(9, 3);
  };
  story.check(get("/ready") == "200", "it is ready");
  std::thread client{
    [&] { story.check(get("/orders") == "200", "no request is lost"); }};
  std::this_thread::sleep_for(100ms);
  story.print("-- SIGTERM");
  kill(getpid(), SIGTERM);
  std::this_thread::sleep_for(100ms);
  story.check(get("/ready") == "503", "it gets no more requests");
  client.join();
}

} // namespace

// [main]
int main() {
  // The threads of the actor system inherit this, so that the signals come to
  // sigwait below.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  caisson::init_http_types();
  caisson::system_config config;
  caisson::register_http_types(config);
  caf::actor_system system{config};
  auto gate = caisson::spawn_gate(
    system, system.spawn<caf::detached>(orders),
    caisson::stack{"orders"}.deadline({.timeout = 2s}));
  std::atomic<bool> ready{true};
  auto probes = system.spawn(health, &ready);
  caisson::http_front front{system, [=](const http_request& x) {
                              return std::optional{caisson::http_route{
                                .to = x.target == "/ready" ? probes : gate}};
                            }};
  // [/main]
  demo::story story;
  std::thread outside_calls{[&] { outside(story, front.port()); }};

  // [end]
  int got = 0;
  sigwait(&ends, &got);
  // New requests still come until the load balancer has noticed.
  ready = false;
  std::this_thread::sleep_for(1s);
  // Those that are in progress are finished.
  caf::scoped_actor self{system};
  self->request(gate, 10s, caisson::drain{})
    .receive([] {},
             [](const caf::error& err) {
               std::fprintf(stderr, "not drained: %s\n",
                            caisson::to_text(err).c_str());
             });
  caisson::stop_gate(gate);
  // [/end]
  story.print("the gate is drained and stopped");
  outside_calls.join();
  return story.end();
}

/* It prints:

GET /ready   200 ready
-- SIGTERM
GET /ready   503 ending
GET /orders  200 ordered
the gate is drained and stopped
*/
