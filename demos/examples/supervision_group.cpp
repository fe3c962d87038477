// Restarts a connection and the session that needs it, together and in order.
#include "story.hpp"

#include <caisson/gate.hpp>
#include <caisson/gate/supervision_group.hpp>

#include <cstdint>
#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace {

/// Answers a number with itself, and ends with a negative one.
class part final : public caf::event_based_actor {
public:
  part(caf::actor_config& cfg, std::string name, demo::story* story)
    : caf::event_based_actor(cfg), name_(std::move(name)), story_(story) {
    story_->print("{} starts", name_);
  }

  caf::behavior make_behavior() override {
    return {[this](std::int32_t x) {
      if (x < 0)
        quit(caf::exit_reason::user_shutdown);
      return x;
    }};
  }

  void on_exit() override { story_->print("{} ends", name_); }

private:
  std::string name_;
  demo::story* story_;
};

} // namespace

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  // Whatever comes after a lost worker restarts with it.
  auto group = caisson::spawn_supervision_group(
    world, {.strategy = caisson::group_strategy::rest_for_one});
  auto gate_for = [&](const std::string& name, std::uint32_t rank) {
    auto make = [&story, name](caf::actor_system& system) {
      return caf::expected<caf::actor>{
        caf::actor_cast<caf::actor>(system.spawn<part>(name, &story))};
    };
    return caisson::spawn_gate(
      world,
      caisson::worker::supervised(
        make, {.restart = caisson::schedule::constant(200ms)})
        .in_group(group, rank),
      caisson::stack{name});
  };
  auto connections = gate_for("the connection", 1);
  auto sessions = gate_for("the session", 2);
  world.run_until_idle();

  world.advance(1s);
  story.print("-- the session is lost");
  world.request(sessions, std::int32_t{-1});
  world.advance(1s);

  story.print("-- the connection is lost");
  world.request(connections, std::int32_t{-1});
  auto answer = world.request(sessions, std::int32_t{7});
  story.check(!answer.ready(), "a call waits for the new session");
  world.advance(1s);
  story.print("the call that waited has its answer: {}", demo::text_of(answer));
  story.check(answer.ok(), "no call fails that came meanwhile");

  story.print("-- the program ends");
  for (const auto& gate : {sessions, connections}) {
    caisson::stop_gate(gate);
    world.run_until_idle();
  }
  return story.end();
}

/* It prints:

  0.000 s  the connection starts
  0.000 s  the session starts
  1.000 s  -- the session is lost
  1.000 s  the session ends
  1.200 s  the session starts
  2.000 s  -- the connection is lost
  2.000 s  the connection ends
  2.000 s  the session ends
  2.200 s  the connection starts
  2.200 s  the session starts
  3.000 s  the call that waited has its answer: 7
  3.000 s  -- the program ends
  3.000 s  the session ends
  3.000 s  the connection ends
*/
