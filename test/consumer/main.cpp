// Guards an actor with the installed package, asks it something, and checks the
// answer.
#include <caisson/gate.hpp>
#include <caisson/version.hpp>
#ifdef WITH_METRICS
#include <caisson/observe/metrics/server.hpp>
#endif
#ifdef WITH_HTTP
#include <caisson/adapters/http/front.hpp>
#endif
#ifdef WITH_HTTP_CLIENT
#include <caisson/adapters/http_client/client.hpp>
#endif
#ifdef WITH_CONTROL
#include <caisson/observe/control/server.hpp>
#endif
#ifdef WITH_OTLP
#include <caisson/observe/otlp/exporter.hpp>
#endif
#ifdef WITH_GRPC
#include <caisson/adapters/grpc/client.hpp>
#endif
#ifdef WITH_REDIS
#include <caisson/adapters/redis/client.hpp>
#endif
#ifdef WITH_POSTGRES
#include <caisson/adapters/postgres/client.hpp>
#endif
#ifdef WITH_ASIO
#include <caisson/adapters/asio/request.hpp>
#endif

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string_view>

#ifdef PACKAGE_VERSION
static_assert(std::string_view{CAISSON_VERSION_TEXT} == PACKAGE_VERSION);
#endif

namespace {

caf::behavior doubler() {
  return {
    [](std::int32_t x) { return 2 * x; },
  };
}

} // namespace

int main() {
  caisson::system_config config;
  caf::actor_system system{config};
#ifdef WITH_METRICS
  caisson::metrics_server metrics{system, "127.0.0.1:0"};
  std::printf("metrics are served: %s\n", metrics.port() > 0 ? "yes" : "no");
#endif

  using namespace std::chrono_literals;
  auto guarded = caisson::spawn_gate(
    system, system.spawn(doubler),
    caisson::stack{}.breaker().default_deadline(5s));

#ifdef WITH_HTTP
  caisson::http_front front{system, guarded};
  std::printf("HTTP is served: %s\n", front.port() > 0 ? "yes" : "no");
#endif
#ifdef WITH_CONTROL
  caisson::control_server control{system, {.file = "consumer.control"}};
  control.add("guarded", guarded);
  std::printf("can be controlled: %s\n", control.port() > 0 ? "yes" : "no");
#endif
#ifdef WITH_OTLP
  // Nobody is there, and nobody is asked before the end.
  caisson::otlp_exporter otlp{
    system, {.client = {.url = "http://127.0.0.1:9"}, .metrics_interval = 0s}};
  otlp.follow(guarded);
  std::printf("spans are sent: %s\n", otlp.shutdown(1s) ? "yes" : "no");
#endif
#ifdef WITH_HTTP_CLIENT
  (void)caisson::http_worker({.url = "https://localhost"});
#endif
#ifdef WITH_GRPC
  (void)caisson::grpc_worker({.target = "localhost:50051"});
#endif
#ifdef WITH_REDIS
  (void)caisson::redis_worker({});
#endif
#ifdef WITH_POSTGRES
  (void)caisson::postgres_worker({});
#endif

  std::int32_t answer = 0;
  caf::scoped_actor self{system};
  caisson::portable::ask_blocking(self, guarded, 10s, std::int32_t{21})
    .receive(
      [&](std::int32_t y) { answer = y; },
      [&](const caf::error& err) { std::puts(caisson::to_text(err).c_str()); });
  std::printf("21 doubled behind a breaker: %d\n", answer);
  self->send_exit(guarded, caf::exit_reason::user_shutdown);
  return answer == 42 ? 0 : 1;
}
