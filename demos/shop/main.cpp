// A process of the shop.
#include "arguments.hpp"
#include "load.hpp"
#include "services.hpp"

#include <caisson/adapters/http/messages.hpp>
#include <caisson/adapters/postgres/messages.hpp>
#include <caisson/adapters/redis/messages.hpp>
#include <caisson/caf/error.hpp>

#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  const auto ends = shop::ending_signals();
  try {
    auto args = shop::read_arguments(argc, argv);
    if (args.role != "load")
      pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    caisson::init_http_types();
    caisson::init_redis_types();
    caisson::init_sql_types();
    caisson::system_config config;
    caisson::register_http_types(config);
    caisson::register_redis_types(config);
    caisson::register_sql_types(config);
    caf::actor_system system{config};
    if (args.role == "load")
      return shop::load(system, args);
    shop::serve(system, args);
    return 0;
  } catch (const std::exception& x) {
    std::fprintf(stderr, "shop: %s\n", x.what());
    return 2;
  }
}
