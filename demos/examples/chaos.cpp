// Faults on purpose: does the stack cope with a worker that fails, answers
// late, loses answers or keeps silent?
#include "story.hpp"

#include <caisson/gate.hpp>
#include <caisson/policies/chaos.hpp>
#include <caisson/stack/add.hpp>

#include <cstdint>
#include <map>
#include <string>

using namespace std::chrono_literals;

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  // Never fails by itself.
  auto booked = 0;
  auto worker = world.system().spawn([&booked]() -> caf::behavior {
    return {[&booked](std::int32_t seat) {
      ++booked;
      return seat;
    }};
  });
  // [stack]
  auto policies = caisson::stack{"booking"}
                    .seed(3)
                    .deadline({.name = "overall", .timeout = 3s})
                    .retrier({.max_attempts = 4,
                              .backoff = caisson::schedule::constant(50ms)})
                    .deadline({.name = "attempt", .timeout = 500ms})
                    .add<caisson::chaos>({.error_rate = 0.1,
                                          .latency_rate = 0.1,
                                          .outcome_rate = 0.02,
                                          .silence_rate = 0.05});
  // [/stack]
  auto gate = caisson::spawn_gate(world, worker, policies);

  auto book_all = [&](const char* what) {
    story.print("{}", what);
    booked = 0;
    auto good = 0;
    auto perhaps = 0;
    constexpr std::int32_t seats = 200;
    for (std::int32_t seat = 0; seat < seats; ++seat) {
      auto answer = world.request(gate, seat);
      while (!answer.ready())
        world.advance(10ms);
      good += answer.ok();
      if (auto err = answer.error();
          err && caisson::context_of(err)->may_have_executed)
        ++perhaps;
    }
    story.print("  of {} seats {} confirmed, {} perhaps booked, {} booked",
                seats, good, perhaps, booked);
    story.check(good + perhaps == seats, "only lost answers leave a doubt");
    story.check(booked == seats, "each seat is booked, and none twice");
    return good;
  };
  auto set = [&](std::map<std::string, std::string> changes) {
    auto done = world.request(gate, caisson::reconfigure{"chaos", changes});
    story.check(done.ok(), "the settings are accepted");
  };

  story.check(book_all("without faults") == 200, "all are confirmed");
  set({{"enabled", "true"}});
  story.check(book_all("with faults in one attempt out of four") < 200,
              "some answers are lost");
  set({{"enabled", "false"}});
  story.check(book_all("without faults again") == 200, "all are confirmed");

  auto chaos = world.request(gate, caisson::get_status{})
                 .value<caisson::status>()
                 .layer("chaos");
  for (const auto* name : {"errors_injected", "latencies_injected",
                           "outcomes_injected", "silences_injected", "waiting"})
    story.print("{} {}", name, chaos.metrics.at(name));
  world.kill(worker);
  return story.end();
}

/* It prints:

  0.000 s  without faults
  0.000 s    of 200 seats 200 confirmed, 0 perhaps booked, 200 booked
  0.000 s  with faults in one attempt out of four
  9.200 s    of 200 seats 194 confirmed, 6 perhaps booked, 200 booked
  9.200 s  without faults again
  9.200 s    of 200 seats 200 confirmed, 0 perhaps booked, 200 booked
  9.200 s  errors_injected 16
  9.200 s  latencies_injected 29
  9.200 s  outcomes_injected 6
  9.200 s  silences_injected 10
  9.200 s  waiting 0
*/
