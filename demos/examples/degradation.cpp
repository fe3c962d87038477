// A shop that leaves its extras out while it is overloaded.
#include "story.hpp"

#include <caisson/gate.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/degradation_layer.hpp>
#include <caisson/stack/layers/feature_layer.hpp>

#include <cstdint>
#include <string>

using namespace std::chrono_literals;

namespace {

// Fails while there is a crowd, unless it has less to do.
caf::behavior shop(caf::event_based_actor* self, const bool* crowd) {
  // [worker]
  auto flags = caisson::feature_flags::of(&self->system());
  auto extras = flags->find("extras");
  return {[=](std::int32_t page) -> caf::result<std::int32_t> {
    if (*crowd && extras.is_on())
      return caf::make_error(caf::sec::runtime_error);
    return page;
  }};
  // [/worker]
}

caf::behavior recommendations() {
  return {[](std::int32_t page) { return page + 1; }};
}

} // namespace

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  auto crowd = false;
  auto worker = world.system().spawn(shop, &crowd);
  // [stack]
  auto front = caisson::stack{"shop"}.add<caisson::degradation>(
    {.levels = {
       {.name = "core", .min_success = 0.5},
       {.name = "extras", .parent = "core", .features = {"recommendations"}}}});
  auto aside = caisson::stack{"recommendations"}
                 .fallback({caisson::alternative::answer(std::int32_t{-1})})
                 .add<caisson::feature>({.feature = "recommendations"});
  // [/stack]
  auto gate = caisson::spawn_gate(world, worker, front);
  auto other = caisson::spawn_gate(world, world.system().spawn(recommendations),
                                   aside);

  auto look = [&] {
    return world.request(gate, caisson::get_status{})
      .value<caisson::status>()
      .layer("degradation");
  };
  // Ten calls a second.
  auto failed = 0;
  auto call = [&](caisson::duration length, const char* what) {
    story.print("{}", what);
    failed = 0;
    auto before = look().state;
    for (auto t = 0ms; t < length; t += 100ms) {
      auto answer = world.request(gate, std::int32_t{1});
      failed += answer.ok() ? 0 : 1;
      world.advance(100ms);
      if (auto after = look().state; after != before) {
        story.print(
          "  {} -> {}, recommendation: {}", before, after,
          world.request(other, std::int32_t{1}).value<std::int32_t>());
        before = after;
      }
    }
    story.print("  {} calls failed", failed);
  };

  call(30s, "a quiet time");
  story.check(failed == 0, "no call fails");
  crowd = true;
  call(5min, "a crowd");
  story.check(failed > 0 && failed < 100, "few of 3000 calls fail");
  crowd = false;
  call(3min, "a quiet time");
  story.check(look().state == "normal", "all is on again");
  story.print("switched_off {}", look().metrics.at("switched_off"));
  story.print("switched_on {}", look().metrics.at("switched_on"));
  world.kill(worker);
  return story.end();
}

/* It prints:

  0.000 s  a quiet time
 30.000 s    0 calls failed
 30.000 s  a crowd
 32.000 s    normal -> degraded, recommendation: -1
 62.000 s    degraded -> normal, recommendation: 2
 64.000 s    normal -> degraded, recommendation: -1
124.000 s    degraded -> normal, recommendation: 2
126.000 s    normal -> degraded, recommendation: -1
246.000 s    degraded -> normal, recommendation: 2
248.000 s    normal -> degraded, recommendation: -1
330.000 s    80 calls failed
330.000 s  a quiet time
488.000 s    degraded -> normal, recommendation: 2
510.000 s    0 calls failed
510.000 s  switched_off 4
510.000 s  switched_on 4
*/
