// A new version gets a growing share of the calls, as long as it does well.
#include "story.hpp"

#include <caisson/gate.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/canary_layer.hpp>

#include <cstddef>
#include <memory>
#include <string>

using namespace std::chrono_literals;

namespace {

/// What the new version does at present.
struct condition {
  bool works = true;
  std::string price = "12.50";
};

caf::behavior old_version() {
  return {[](const std::string& article) { return article + " costs 12.50"; }};
}

caf::behavior new_version(std::shared_ptr<condition> now, int* asked) {
  return {[=](const std::string& article) -> caf::result<std::string> {
    ++*asked;
    if (!now->works)
      return caf::sec::runtime_error;
    return article + " costs " + now->price;
  }};
}

} // namespace

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  auto now = std::make_shared<condition>();
  auto asked = 0;
  auto current = world.system().spawn(old_version);
  auto next = world.system().spawn(new_version, now, &asked);
  // [stack]
  auto policies = caisson::stack{"prices"}.seed(3).add<caisson::canary>(
    {.stages = {0.05, 0.25, 1.0},
     .dwell = 1min,
     .min_calls = 20,
     .mirror_rate = 0.1,
     .max_difference_rate = 0.01,
     .max_described = 1},
    next, caisson::compares_values<std::string>());
  // [/stack]
  auto gate = caisson::spawn_gate(world, current, policies);
  world.send(gate, caisson::subscribe{});

  auto calls = 0;
  auto unanswered = 0;
  std::size_t shown = 0;
  // Ten calls a second, until the canary is in that state.
  auto ask_until = [&](const std::string& target) {
    for (calls = asked = 0; calls < 10'000; ++calls) {
      auto answer = world.request(
        gate, caisson::wrap(std::string{"teapot"}).idempotent());
      unanswered += answer.ok() ? 0 : 1;
      world.advance(100ms);
      auto arrived = false;
      auto events = world.user().received_as<caisson::event>();
      for (; shown < events.size(); ++shown) {
        const auto& x = events[shown];
        if (x.kind != caisson::event_kind::state_changed)
          continue;
        story.print("{} -> {}: {}", x.from, x.to, x.detail);
        arrived = arrived || x.to == target;
      }
      if (arrived)
        return true;
    }
    return false;
  };

  story.print("-- the new version is as good as the old one");
  story.check(ask_until("promoted"), "it gets all calls in the end");
  story.print("{} calls, {} of them or their copies at the new version", calls,
              asked);
  story.print("-- it fails");
  now->works = false;
  story.check(ask_until("rolled_back"), "the old one takes over");
  story.print("{} calls to it have failed; {} callers have noticed", asked,
              unanswered);
  story.check(unanswered == 0, "the old version answered in its place");
  story.print("-- it works again, with wrong prices; the operator says: reset");
  now->works = true;
  now->price = "1.25";
  world.request(gate,
                caisson::command{caisson::operator_command::reset, "canary"});
  story.check(ask_until("rolled_back"), "copies of calls show it");
  auto canary = world.request(gate, caisson::get_status{})
                  .value<caisson::status>()
                  .layer("canary");
  for (const auto* name :
       {"to_canary", "mirrors_differing", "mirrors_equal", "rollbacks"})
    story.print("{} {}", name, canary.metrics.at(name));
  story.print("{}", canary.notes.at("difference_1"));
  world.kill(current);
  world.kill(next);
  return story.end();
}

/* It prints:

  0.000 s  -- the new version is as good as the old one
  0.100 s  waiting -> stage_1: first call
 60.000 s  stage_1 -> stage_2: as good as the baseline
120.000 s  stage_2 -> stage_3: as good as the baseline
180.000 s  stage_3 -> promoted: as good as the baseline
180.000 s  1799 calls, 904 of them or their copies at the new version
180.000 s  -- it fails
181.000 s  promoted -> rolled_back: 10 failures in a row
181.000 s  10 calls to it have failed; 0 callers have noticed
181.000 s  -- it works again, with wrong prices; the operator says: reset
181.100 s  rolled_back -> waiting: reset
181.100 s  waiting -> stage_1: first call
196.800 s  stage_1 -> rolled_back: difference rate 1.0000
196.800 s  to_canary 4
196.800 s  mirrors_differing 20
196.800 s  mirrors_equal 0
196.800 s  rollbacks 1
196.800 s  call 2726: value: element 0, byte 15: baseline "teapot costs 12.50", canary "teapot costs 1.25"
*/
