// Retries a call whose worker crashes, with a new worker for each attempt.
#include "story.hpp"

#include <caisson/gate.hpp>

#include <cstdint>
#include <memory>
#include <stdexcept>

using namespace std::chrono_literals;

/// Crashes on the first two orders, whoever gets them.
class oven final : public caf::event_based_actor {
public:
  oven(caf::actor_config& cfg, std::shared_ptr<int> orders)
    : caf::event_based_actor(cfg), orders_(std::move(orders)) {}

  caf::behavior make_behavior() override {
    set_exception_handler([](std::exception_ptr&) -> caf::error {
      return caf::sec::runtime_error;
    });
    return {[this](std::int32_t loaves) -> std::int32_t {
      if (++*orders_ <= 2)
        throw std::runtime_error{"fuse blown"};
      return loaves;
    }};
  }

private:
  std::shared_ptr<int> orders_;
};

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  auto orders = std::make_shared<int>(0);
  auto workers = 0;
  auto make_oven = [&](caf::actor_system& system) -> caf::expected<caf::actor> {
    story.print("oven {} is made", ++workers);
    return caf::actor_cast<caf::actor>(system.spawn<oven>(orders));
  };

  using caisson::schedule;
  auto bakery = caisson::spawn_gate(
    world,
    caisson::worker::supervised(make_oven,
                                {.restart = schedule::exponential(200ms)}),
    caisson::stack{"bakery"}
      .deadline({.timeout = 5s})
      .retrier({.max_attempts = 5,
                .backoff = schedule::constant(50ms),
                // A crash says nothing about what was done before it.
                .idempotent = true}));
  auto listener = world.make_probe();
  listener.send(bakery, caisson::subscribe{});
  world.run_until_idle();

  story.print("four loaves, please");
  auto loaves = world.request(bakery, std::int32_t{4});
  while (!loaves.ready()) {
    for (auto& e : listener.received_as<caisson::event>()) {
      if (e.kind == caisson::event_kind::worker_changed && e.to == "restarting")
        story.print("the oven is down, a new one in {}",
                    caisson::rounded_text(e.delay));
      else if (e.kind == caisson::event_kind::retried)
        story.print("the order is sent again in {}",
                    caisson::rounded_text(e.delay));
    }
    listener.forget_received();
    world.advance(10ms);
  }
  story.print("loaves: {}", demo::text_of(loaves));

  story.check(loaves.ok() && loaves.value<std::int32_t>() == 4,
              "the caller sees nothing of the crashes");
  story.check(*orders == 3 && workers == 3, "three attempts, three ovens");
  return story.end();
}

/* It prints:

  0.000 s  oven 1 is made
  0.000 s  four loaves, please
  0.000 s  the order is sent again in 50 ms
  0.000 s  the oven is down, a new one in 200 ms
  0.200 s  oven 2 is made
  0.200 s  the order is sent again in 50 ms
  0.200 s  the oven is down, a new one in 400 ms
  0.600 s  oven 3 is made
  0.600 s  loaves: 4
*/
