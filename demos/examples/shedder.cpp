// An overloaded service that keeps the calls that matter most.
#include "story.hpp"

#include <caisson/gate.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/shedder_layer.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>

using namespace std::chrono_literals;

namespace {

caf::behavior shop() {
  return {[](std::int32_t query) { return query; }};
}

// Stands for the machine: 100 calls a second keep it busy.
class busy_machine final : public caisson::load_source {
public:
  caisson::load_reading read(caisson::time_point, caisson::duration) override {
    return {.cpu = std::min(1.0, calls_per_second / 100), .memory = 0.5};
  }

  double calls_per_second = 0;
};

} // namespace

int main() {
  caisson::virtual_time world;
  demo::story story{world};
  auto machine = std::make_shared<busy_machine>();

  // [stack]
  auto policies = caisson::stack{"shop"}.seed(1).add<caisson::shedder>(
    {.max_cpu = 0.9, .in_flight_factor = 0, .minimum = 5},
    std::shared_ptr<caisson::load_source>{machine});
  // [/stack]
  auto gate = caisson::spawn_gate(world, world.system().spawn(shop), policies);

  auto look = [&] {
    return world.request(gate, caisson::get_status{})
      .value<caisson::status>()
      .layer("shedder");
  };
  struct numbers {
    std::int64_t orders = 0;
    std::int64_t visits = 0;
  };
  // Some seconds with 40 orders and so many visits each; the last one counts.
  auto run = [&](int seconds, int visits) {
    numbers n;
    auto all = 40 + visits;
    for (int s = 0; s < seconds; ++s) {
      n = {};
      for (int i = 0; i < all; ++i) {
        auto order = i * 40 / all != (i + 1) * 40 / all;
        auto call = caisson::wrap(std::int32_t{i}).priority(order ? 1 : 0);
        if (world.request(gate, call).ok())
          ++(order ? n.orders : n.visits);
        world.advance(caisson::duration{1s} / all);
      }
      machine->calls_per_second = static_cast<double>(n.orders + n.visits);
    }
    auto now = look();
    story.print("  {:2} of 40 orders, {:3} of {:3} visits; cpu {:3} %, {}",
                n.orders, n.visits, visits, now.metrics.at("cpu_permille") / 10,
                now.state);
    return n;
  };

  story.print("80 calls a second");
  auto n = run(5, 40);
  story.check(n.orders == 40 && n.visits == 40, "nothing is shed");
  story.print("200 calls a second, of 100 that the machine can do");
  for (int i = 0; i < 4; ++i)
    n = run(5, 160);
  story.check(n.orders == 40, "all orders pass");
  story.check(n.visits < 80, "and as many visits as there is time for");
  story.print("80 calls a second");
  for (int i = 0; i < 8; ++i)
    n = run(10, 40);
  story.check(n.visits == 40, "all pass again");
  return story.end();
}

/* It prints:

  0.000 s  80 calls a second
  5.000 s    40 of 40 orders,  40 of  40 visits; cpu  80 %, passing
  5.000 s  200 calls a second, of 100 that the machine can do
 10.000 s    40 of 40 orders, 139 of 160 visits; cpu 100 %, shedding
 15.000 s    40 of 40 orders,  93 of 160 visits; cpu 100 %, shedding
 20.000 s    40 of 40 orders,  64 of 160 visits; cpu 100 %, shedding
 25.000 s    40 of 40 orders,  51 of 160 visits; cpu  78 %, shedding
 25.000 s  80 calls a second
 35.000 s    40 of 40 orders,  10 of  40 visits; cpu  51 %, shedding
 45.000 s    40 of 40 orders,  22 of  40 visits; cpu  60 %, shedding
 55.000 s    40 of 40 orders,  26 of  40 visits; cpu  67 %, shedding
 65.000 s    40 of 40 orders,  31 of  40 visits; cpu  74 %, shedding
 75.000 s    40 of 40 orders,  38 of  40 visits; cpu  76 %, shedding
 85.000 s    40 of 40 orders,  40 of  40 visits; cpu  80 %, passing
 95.000 s    40 of 40 orders,  40 of  40 visits; cpu  80 %, passing
105.000 s    40 of 40 orders,  40 of  40 visits; cpu  80 %, passing
*/
