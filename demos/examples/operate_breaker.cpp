// Operates a breaker: force it open, look at it, change its threshold.
#include "story.hpp"

#include <caisson/gate.hpp>

#include <cstdint>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using caisson::command;
using caisson::errc;
using caisson::operator_command;
using caisson::reconfigure;

namespace {

caf::behavior failing_worker() {
  return {
    [](std::int32_t x) -> caf::result<std::int32_t> {
      if (x < 0)
        return caf::sec::invalid_argument;
      return 2 * x;
    },
  };
}

/// What an operator does and sees.
class console {
public:
  console(caisson::virtual_time& world, demo::story& story, caf::actor gate)
    : world_(world), story_(story), gate_(std::move(gate)),
      subscriber_(world.make_probe()) {
    subscriber_.send(gate_, caisson::subscribe{});
    world_.run_until_idle();
  }

  /// Sends a control message and prints the events that it causes.
  template <class T>
  caisson::pending_answer say(T x) {
    auto answer = world_.request(gate_, std::move(x));
    on_event();
    return answer;
  }

  /// Calls the worker, as anybody may.
  caisson::pending_answer call(std::int32_t x) {
    auto answer = world_.request(gate_, x);
    story_.print("a call: {}", demo::text_of(answer));
    on_event();
    return answer;
  }

  /// Prints the status and returns the state.
  std::string look() {
    auto answer = world_.request(gate_, caisson::get_status{});
    auto layer = answer.value<caisson::status>().layers.at(0);
    story_.print(
      "status: {}, threshold {}, {} admitted, {} rejected", layer.state,
      layer.config.at("threshold"), layer.metrics.at("admitted"),
      layer.metrics.at("rejected_open") + layer.metrics.at("rejected_forced"));
    return layer.state;
  }

private:
  void on_event() {
    for (auto& e : subscriber_.received_as<caisson::event>())
      if (e.kind == caisson::event_kind::state_changed)
        story_.print("  event {}: {} -> {}, {}", e.number, e.from, e.to,
                     e.detail);
      else if (e.kind == caisson::event_kind::rejected)
        story_.print("  event {}: a call was rejected", e.number);
      else
        story_.print("  event {}: {}{}{}", e.number, caisson::name_of(e.kind),
                     e.detail.empty() ? "" : ", ", e.detail);
    subscriber_.forget_received();
  }

  caisson::virtual_time& world_;
  demo::story& story_;
  caf::actor gate_;
  caisson::probe subscriber_;
};

} // namespace

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  auto gate = caisson::spawn_breaker(
    world, world.system().spawn(failing_worker),
    {.threshold = 5, .open = caisson::schedule::constant(10s)});
  console breaker_console{world, story, gate};

  breaker_console.call(1);
  story.check(breaker_console.look() == "closed", "it starts closed");

  world.advance(1s);
  story.print("-- the database is being moved: nobody goes there");
  breaker_console.say(command{operator_command::force_open});
  auto refused = breaker_console.call(1);
  story.check(refused.is(errc::breaker_open)
                && breaker_console.look() == "forced_open",
              "an operator can open it");

  world.advance(59s);
  story.print("-- done");
  breaker_console.say(command{operator_command::enable});
  story.check(breaker_console.call(1).ok(),
              "and let it decide by itself again");

  world.advance(1s);
  story.print("-- from now on two failures are enough");
  auto wrong = breaker_console.say(
    reconfigure{"breaker", {{"threshold", "none"}}});
  story.print("none? {}", demo::text_of(wrong));
  story.check(wrong.is(errc::invalid_config), "nonsense is refused");
  breaker_console.say(reconfigure{"breaker", {{"threshold", "2"}}});
  breaker_console.call(-1);
  breaker_console.call(-1);
  auto rejected = breaker_console.call(1);
  story.check(breaker_console.look() == "open"
                && caisson::retry_after(rejected.error()) == 10s,
              "it opens by the new threshold");
  return story.end();
}

/* It prints:

  0.000 s  a call: 2
  0.000 s  status: closed, threshold 5, 1 admitted, 0 rejected
  1.000 s  -- the database is being moved: nobody goes there
  1.000 s    event 1: closed -> forced_open, forced open
  1.000 s    event 2: reconfigured, force_open
  1.000 s  a call: breaker_open by breaker
  1.000 s    event 3: a call was rejected
  1.000 s  status: forced_open, threshold 5, 1 admitted, 1 rejected
 60.000 s  -- done
 60.000 s    event 4: forced_open -> closed, override lifted
 60.000 s    event 5: reconfigured, enable
 60.000 s  a call: 2
 61.000 s  -- from now on two failures are enough
 61.000 s  none? invalid_config by gate: breaker.threshold: "none" is not an integer, allowed: 1 to 1000000
 61.000 s    event 6: reconfigured
 61.000 s  a call: the worker's own error
 61.000 s  a call: the worker's own error
 61.000 s    event 7: closed -> open, consecutive failures
 61.000 s  a call: breaker_open by breaker, retry after 10 s
 61.000 s    event 8: a call was rejected
 61.000 s  status: open, threshold 2, 4 admitted, 2 rejected
*/
