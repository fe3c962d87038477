// Puts a breaker in front of a worker: the smallest program.
// [program]
#include <caisson/gate.hpp>

#include <cstdint>
#include <iostream>

using namespace std::chrono_literals;

// [worker]
caf::behavior doubler() {
  return {
    [](std::int32_t x) { return 2 * x; },
  };
}
// [/worker]

// [hello]
void caf_main(caf::actor_system& system, const caisson::system_config&) {
  auto service = system.spawn(doubler);
  auto guarded = caisson::spawn_breaker(system, service, {.threshold = 5});

  caf::scoped_actor self{system};
  self->request(guarded, 10s, std::int32_t{21})
    .receive([](std::int32_t x) { std::cout << x << std::endl; },
             [](const caf::error& err) {
               std::cerr << caisson::to_text(err) << std::endl;
             });
}

CAF_MAIN()
// [/hello]
// [/program]

/* It prints:

42
*/
