// Stacks from TOML at work, and what in them needs an actor system.
#include "support/scratch.hpp"
#include "support/source_dir.hpp"
#include "support/stack_texts.hpp"
#include "support/world.hpp"

#include <caisson/engine/layer.hpp>

#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

class stack_toml_world : public world_test {
protected:
  // A worker that is registered under `name` until the end of the test.
  scripted_worker named(const std::string& name,
                        scripted_worker::script run = {}) {
    auto w = make_worker(std::move(run));
    publish_name(world, name, w.handle());
    names_.push_back(name);
    return w;
  }

  void TearDown() override {
    for (const auto& name : names_)
      forget_name(world, name);
    world_test::TearDown();
  }

private:
  std::vector<std::string> names_;
};

CAISSON_ALL_ORDERS(stack_toml_world);

scripted_worker::script failing_script() {
  return scripted_worker::always(caf::make_error(caf::sec::runtime_error));
}

// -- alternatives -------------------------------------------------------------

TEST_P(stack_toml_world, a_fallback_asks_an_actor_and_then_gives_a_value) {
  auto primary = make_worker(failing_script());
  auto second = named("replica");
  auto g = gate(primary.handle(),
                only_stack("[[stack.s.layer]]\n"
                           "kind = 'fallback'\n"
                           "alternatives = [{ actor = 'replica' }, "
                           "{ value = 7, type = 'int32' }]\n",
                           &world.system())
                  .policies);
  auto from_actor = world.request(g, 1);
  second.answer(5);
  EXPECT_EQ(from_actor.value<int>(), 5);
  auto from_value = world.request(g, 1);
  second.fail(caf::make_error(caf::sec::runtime_error));
  EXPECT_EQ(from_value.value<int>(), 7);
  EXPECT_EQ(primary.count(), 2u);
}

TEST_P(stack_toml_world, an_actor_may_have_a_long_name) {
  auto w = named("prices/eu-central/replica-2", scripted_worker::always(3));
  auto entry = only_stack("[[stack.s.layer]]\n"
                          "kind = 'fallback'\n"
                          "alternatives = "
                          "[{ actor = 'prices/eu-central/replica-2' }]\n",
                          &world.system());
  auto layers = entry.policies.build();
  ASSERT_EQ(layers.at(0)->targets().size(), 1u);
  EXPECT_EQ(layers.at(0)->targets().at(0), w.handle());
}

TEST_P(stack_toml_world, an_actor_that_is_not_registered_is_a_problem) {
  auto w = named("replica");
  EXPECT_EQ(complaint("[[stack.s.layer]]\n"
                      "kind = 'fallback'\n"
                      "alternatives = [{ actor = 'replica' }, "
                      "{ actor = 'nobody' }, { actor = '' }]\n",
                      &world.system()),
            "f:3:50: stack.s.layer[0].alternatives[1].actor: no actor is "
            "registered as \"nobody\"\n"
            "f:3:72: stack.s.layer[0].alternatives[2].actor: no actor is "
            "registered as \"\"");
}

TEST_P(stack_toml_world, a_canary_is_looked_up_by_its_name) {
  auto primary = make_worker(doubles());
  auto second = named("prices-2", scripted_worker::always(7));
  std::string text = "[[stack.s.layer]]\n"
                     "kind = 'canary'\n"
                     "stages = [1]\n";
  auto g = gate(
    primary.handle(),
    only_stack(text + "canary = 'prices-2'\n", &world.system()).policies);
  EXPECT_EQ(world.request(g, 1).value<int>(), 7);
  auto without = gate(primary.handle(),
                      only_stack(text, &world.system()).policies);
  EXPECT_EQ(world.request(without, 1).value<int>(), 2);
  EXPECT_EQ(state_of(without, "canary"), "waiting");
  EXPECT_EQ(complaint(text + "canary = 'nobody'\n", &world.system()),
            "f:4:10: stack.s.layer[0].canary: no actor is registered as "
            "\"nobody\"");
}

TEST_P(stack_toml_world, a_file_is_loaded_with_the_actors_it_names) {
  auto w = named("replica");
  scratch_dir dir;
  auto path = dir.write("stacks.toml",
                        "[[stack.s.layer]]\n"
                        "kind = 'fallback'\n"
                        "alternatives = [{ actor = 'replica' }]\n");
  EXPECT_THROW((void)load_stacks(path), config_error);
  auto file = load_stacks(path, &world.system());
  EXPECT_EQ(file.stacks.at("s").policies.names(),
            std::vector<std::string>{"fallback"});
}

// -- gates --------------------------------------------------------------------

TEST_P(stack_toml_world, a_call_meets_the_layers_in_their_order) {
  auto w = make_worker();
  auto g = gate(w.handle(), only_stack("[stack.s]\n"
                                       "default_deadline = '10s'\n"
                                       "[[stack.s.layer]]\n"
                                       "kind = 'retrier'\n"
                                       "backoff = '0s'\n"
                                       "idempotent = true\n"
                                       "[[stack.s.layer]]\n"
                                       "kind = 'deadline'\n"
                                       "timeout = '1s'\n")
                              .policies);
  // The deadline is inside: it is one for each attempt.
  auto answer = world.request(g, 1);
  world.advance(1s);
  EXPECT_FALSE(answer.ready());
  EXPECT_EQ(w.count(), 2u);
  world.advance(2s);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_EQ(w.count(), 3u);
  auto s = look(g);
  EXPECT_EQ(s.name, "s");
  ASSERT_EQ(s.layers.size(), 2u);
  EXPECT_EQ(s.layers[0].name, "retrier");
  EXPECT_EQ(s.layers[1].name, "deadline");
}

TEST_P(stack_toml_world, one_stack_makes_many_gates) {
  auto w = make_worker(failing_script());
  auto entry = only_stack("[[stack.s.layer]]\n"
                          "kind = 'breaker'\n"
                          "threshold = 1\n");
  auto first = gate(w.handle(), entry.policies);
  auto second = gate(w.handle(), entry.policies);
  world.request(first, 1);
  EXPECT_EQ(state_of(first, "breaker"), "open");
  EXPECT_EQ(state_of(second, "breaker"), "closed");
}

caf::behavior doubling_worker() {
  return {[](int x) { return 2 * x; }};
}

TEST_P(stack_toml_world, a_worker_is_supervised_as_the_file_says) {
  std::vector<caf::actor> workers;
  auto make = [&](caf::actor_system& sys) -> caf::expected<caf::actor> {
    return workers.emplace_back(sys.spawn(doubling_worker));
  };
  auto path = source_path("demos/examples/stacks.toml");
  // [example]
  auto file = load_stacks(path, &world.system());
  auto& payments = file.stacks.at("payments");
  auto gate = spawn_gate(world, worker::supervised(make, payments.supervision),
                         payments.policies);
  // [/example]
  own(gate);
  EXPECT_EQ(world.request(gate, 4).value<int>(), 8);
  // restart = exponential from 100ms
  auto crash = [&] { world.kill(std::exchange(workers.back(), nullptr)); };
  crash();
  world.advance(100ms - 1ns);
  EXPECT_EQ(workers.size(), 1u);
  world.advance(1ns);
  ASSERT_EQ(workers.size(), 2u);
  // max_restarts = 5
  while (workers.size() <= 5) {
    auto before = workers.size();
    crash();
    world.advance(2s);
    ASSERT_EQ(workers.size(), before + 1);
  }
  crash();
  world.advance(10s);
  EXPECT_EQ(workers.size(), 6u);
  // on_give_up = "refuse"
  auto refused = world.request(gate, 1);
  world.advance(5s);
  EXPECT_TRUE(refused.is(errc::worker_down));
}

} // namespace
} // namespace caisson::test
