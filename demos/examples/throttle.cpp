// A client that holds back what an overloaded service would reject.
#include "story.hpp"

#include <caisson/gate.hpp>
#include <caisson/policies/throttle.hpp>
#include <caisson/stack/add.hpp>

#include <cstdint>
#include <string>

using namespace std::chrono_literals;

namespace {

caf::behavior search() {
  return {[](std::int32_t query) { return query; }};
}

struct numbers {
  std::int64_t offered = 0;
  std::int64_t sent = 0;
  std::int64_t answered = 0;
};

} // namespace

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  // The service: it accepts ten calls a second, and rejects the others.
  auto service = caisson::spawn_gate(
    world, world.system().spawn(search),
    caisson::stack{"search"}.limiter({.rate = 10, .burst = 10}));
  // [stack]
  auto policies = caisson::stack{"client"}.seed(1).add<caisson::throttle>(
    {.window = 2min, .multiplier = 2, .max_rejection = 0.8, .min_rate = 5});
  // [/stack]
  auto client = caisson::spawn_gate(world, service, policies);

  auto look = [&] {
    return world.request(client, caisson::get_status{})
      .value<caisson::status>()
      .layer("throttle");
  };
  // So many calls a second for half a minute.
  auto call = [&](std::int64_t rate) {
    numbers n;
    auto before = look();
    for (; n.offered < rate * 30; ++n.offered) {
      n.answered += world.request(client, std::int32_t{1}).ok();
      world.advance(caisson::duration{30s} / (rate * 30));
    }
    auto after = look();
    n.sent = n.offered - after.metrics.at("rejected")
             + before.metrics.at("rejected");
    story.print("  {:4} offered, {:4} sent, {:3} answered; {}, rejection {}",
                n.offered, n.sent, n.answered, after.state,
                after.metrics.at("rejection_permille"));
    return n;
  };

  story.print("5 calls a second");
  for (auto i = 0; i < 4; ++i)
    story.check(call(5).answered == 150, "all are answered");
  story.print("40 calls a second");
  numbers last;
  for (auto i = 0; i < 8; ++i)
    last = call(40);
  story.check(last.answered >= 295, "the service has enough to do");
  story.check(last.sent > 540 && last.sent < 660,
              "it gets about twice as many as it accepts, not four times");
  story.print("5 calls a second");
  for (auto i = 0; i < 2; ++i)
    story.check(call(5).answered == 150, "the least rate always passes");
  story.print("8 calls a second");
  for (auto i = 0; i < 4; ++i)
    last = call(8);
  story.check(last.answered == 240, "the overload is forgotten");
  return story.end();
}

/* It prints:

  0.000 s  5 calls a second
 30.000 s     150 offered,  150 sent, 150 answered; passing, rejection 0
 60.000 s     150 offered,  150 sent, 150 answered; passing, rejection 0
 90.000 s     150 offered,  150 sent, 150 answered; passing, rejection 0
120.000 s     150 offered,  150 sent, 150 answered; passing, rejection 0
120.000 s  40 calls a second
150.000 s    1200 offered, 1187 sent, 309 answered; throttling, rejection 79
180.000 s    1200 offered,  913 sent, 300 answered; throttling, rejection 326
210.000 s    1200 offered,  718 sent, 300 answered; throttling, rejection 435
240.000 s    1200 offered,  647 sent, 300 answered; throttling, rejection 496
270.000 s    1200 offered,  623 sent, 300 answered; throttling, rejection 499
300.000 s    1200 offered,  602 sent, 300 answered; throttling, rejection 499
330.000 s    1200 offered,  588 sent, 300 answered; throttling, rejection 499
360.000 s    1200 offered,  580 sent, 300 answered; throttling, rejection 499
360.000 s  5 calls a second
390.000 s     150 offered,  150 sent, 150 answered; passing, rejection 439
420.000 s     150 offered,  150 sent, 150 answered; passing, rejection 333
420.000 s  8 calls a second
450.000 s     240 offered,  198 sent, 198 answered; throttling, rejection 82
480.000 s     240 offered,  239 sent, 239 answered; passing, rejection 0
510.000 s     240 offered,  240 sent, 240 answered; passing, rejection 0
540.000 s     240 offered,  240 sent, 240 answered; passing, rejection 0
*/
