// Tests that another node can do nothing to a gate by its call handle, but
// call it; and that it could by a control handle.
#include "system/peer.hpp"

#include <thread>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// Subscribes when it is asked to, once all of it are there.
class subscriber final : public caf::event_based_actor {
public:
  subscriber(caf::actor_config& cfg, caf::actor to)
    : caf::event_based_actor(cfg), to_(std::move(to)) {}
  caf::behavior make_behavior() override {
    return {[this](bool) { portable::send(this, to_, subscribe{}); },
            [](const event&) {}};
  }

private:
  caf::actor to_;
};

// Answers everything with the wrong number.
class impostor final : public caf::event_based_actor {
public:
  using caf::event_based_actor::event_based_actor;
  caf::behavior make_behavior() override {
    return {[](std::int32_t) { return std::int32_t{666}; }};
  }
};

// Links itself to an actor and fails.
class suicide final : public caf::event_based_actor {
public:
  suicide(caf::actor_config& cfg, const caf::actor& to)
    : caf::event_based_actor(cfg) {
    link_to(to);
  }
  caf::behavior make_behavior() override {
    return {[this](bool) { quit(caf::exit_reason::kill); }};
  }
};

class hostile_node : public testing::Test {
protected:
  hostile_node() {
    use_two_threads(config);
    system.emplace(config);
  }

  // The gate's, as this kind of handle.
  void meet(const char* kind) {
    server.emplace("serve", kind);
    auto port = port_of(*server);
    ASSERT_NE(port, 0);
    auto found = portable::connect(*system, portable::loopback, port);
    ASSERT_TRUE(static_cast<bool>(found))
      << portable::render(*system, found.error());
    gate = *found;
    asker.emplace(*system, gate);
    ASSERT_TRUE(asker->serves());
  }

  void TearDown() override {
    asker.reset();
    gate = nullptr;
    for (auto& x : helpers)
      caf::anon_send_exit(x, caf::exit_reason::kill);
    helpers.clear();
  }

  template <class T, class... Ts>
  caf::actor help(Ts&&... xs) {
    helpers.push_back(
      caf::actor_cast<caf::actor>(system->spawn<T>(std::forward<Ts>(xs)...)));
    return helpers.back();
  }

  // Whether the gate is as it was, to the last counter.
  void expect_as(const status& before) {
    auto now = asker->look();
    EXPECT_EQ(now.name, before.name);
    EXPECT_EQ(now.state, before.state);
    EXPECT_EQ(now.worker, before.worker);
    EXPECT_EQ(now.metrics, before.metrics);
    ASSERT_EQ(now.layers.size(), before.layers.size());
    for (std::size_t i = 0; i < now.layers.size(); ++i) {
      EXPECT_EQ(now.layers[i].mode, before.layers[i].mode);
      EXPECT_EQ(now.layers[i].state, before.layers[i].state);
      EXPECT_EQ(now.layers[i].metrics, before.layers[i].metrics);
      EXPECT_EQ(now.layers[i].config, before.layers[i].config);
    }
  }

  // Waits until the gate says so of its worker.
  bool worker_is(worker_state state) {
    for (auto i = 0; i < 2000; ++i) {
      if (asker->look().worker == state)
        return true;
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }

  network_config config;
  std::optional<caf::actor_system> system;
  std::optional<demo::process> server;
  caf::actor gate;
  std::optional<inquirer> asker;
  std::vector<caf::actor> helpers;
};

TEST_F(hostile_node, cannot_operate_the_gate) {
  meet("calls");
  auto before = asker->look();
  auto refused = [&](auto message) {
    // Asked, answered, and answered without a name.
    portable::send(asker->self(), gate, message);
    portable::send_anon(gate, message);
    auto error = asker->error_of(message);
    EXPECT_EQ(error, errc::invalid_config) << portable::render(*system, error);
  };
  refused(reconfigure{"breaker", {{"threshold", "1"}}});
  refused(command{operator_command::force_open});
  refused(command{operator_command::reset});
  refused(drain{});
  refused(subscribe{});
  refused(unsubscribe{});
  expect_as(before);
  EXPECT_TRUE(asker->serves());
}

TEST_F(hostile_node, could_operate_it_by_a_control_handle) {
  meet("control");
  EXPECT_FALSE(asker->error_of(reconfigure{"breaker", {{"threshold", "1"}}}));
  EXPECT_FALSE(asker->error_of(command{operator_command::force_open}));
  EXPECT_EQ(asker->look().layers.at(0).state, "forced_open");
  EXPECT_EQ(asker->look().layers.at(0).config.at("threshold"), "1");
  EXPECT_FALSE(asker->error_of(drain{}));
  EXPECT_EQ(asker->look().state, gate_state::draining);
  caf::anon_send_exit(gate, caf::exit_reason::user_shutdown);
  EXPECT_FALSE(asker->serves());
}

TEST_F(hostile_node, cannot_subscribe_with_hundreds_of_actors) {
  meet("calls");
  auto before = asker->look();
  for (auto i = 0; i < 300; ++i)
    portable::send_anon(help<subscriber>(gate), true);
  // Its own subscription is behind theirs.
  EXPECT_EQ(asker->error_of(subscribe{}), errc::invalid_config);
  expect_as(before);
}

TEST_F(hostile_node, cannot_end_the_gate) {
  meet("calls");
  auto before = asker->look();
  caf::anon_send_exit(gate, caf::exit_reason::kill);
  caf::anon_send_exit(gate, caf::exit_reason::user_shutdown);
  asker->self()->send_exit(gate, caf::exit_reason::kill);
  portable::send_anon(gate, caf::make_error(caf::sec::runtime_error));
  portable::send_anon(gate,
                      caf::exit_msg{gate.address(), caf::exit_reason::kill});
  portable::send_anon(gate,
                      caf::down_msg{gate.address(), caf::exit_reason::kill});
  auto bad = help<suicide>(gate);
  portable::send_anon(bad, true);
  EXPECT_EQ(
    asker->error_of(caf::exit_msg{gate.address(), caf::exit_reason::kill}),
    errc::invalid_config);
  expect_as(before);
  EXPECT_TRUE(asker->serves());
}

TEST_F(hostile_node, cannot_answer_in_the_place_of_a_worker_that_restarts) {
  meet("calls");
  auto fake = help<impostor>();
  portable::send_anon(gate, std::string{"end"});
  ASSERT_TRUE(worker_is(worker_state::restarting));
  for (std::uint32_t i = 0; i < 20; ++i) {
    portable::send_anon(gate, detail::worker_made{fake, {}, i});
    EXPECT_EQ(asker->error_of(detail::worker_made{fake, {}, i}),
              errc::invalid_config);
  }
  ASSERT_TRUE(worker_is(worker_state::up));
  EXPECT_TRUE(asker->serves());
}

TEST_F(hostile_node, cannot_release_the_permits_of_others) {
  meet("calls");
  inquirer holder{*system, gate};
  auto held = holder.ask<permit>(acquire{.permits = 3});
  ASSERT_TRUE(static_cast<bool>(held));
  auto own = asker->ask<permit>(acquire{.permits = 1});
  ASSERT_TRUE(static_cast<bool>(own));
  // Ids of its own reveal nothing about those of others.
  for (std::uint64_t base : {std::uint64_t{0}, own->id, own->id & ~0xFFFFFFul})
    for (std::uint64_t step = 1; step <= 200; ++step)
      for (auto id : {base + step, base - step, base + (step << 24)})
        if (id != own->id)
          portable::send_anon(gate, release{id});
  EXPECT_FALSE(asker->error_of(release{own->id}));
  EXPECT_EQ(asker->look().layers.at(1).metrics.at("in_use"), 3);
  EXPECT_FALSE(holder.error_of(release{held->id}));
  EXPECT_EQ(asker->look().layers.at(1).metrics.at("in_use"), 0);
}

TEST_F(hostile_node, cannot_hurt_the_gate_with_oversized_messages) {
  meet("calls");
  auto config_before = asker->look().layers.at(0).config;
  const std::string large(4'000'000, 'k');
  std::string dots;
  for (auto i = 0; i < 300'000; ++i)
    dots += "a.";
  portable::send_anon(gate, reconfigure{"breaker", {{dots, "1"}}});
  portable::send_anon(gate, reconfigure{large, {{large, large}}});
#if CAISSON_CAF_LEGACY
  // CAF 1.x closes a connection that brings what is no value of an enumeration.
  portable::send_anon(gate, command{static_cast<operator_command>(200), large});
#endif
  reconfigure many{"breaker", {}};
  for (auto i = 0; i < 100'000; ++i)
    many.set["key" + std::to_string(i)] = "1";
  EXPECT_EQ(asker->error_of(many), errc::invalid_config);
  call c = wrap(std::int32_t{21}).key(large);
  portable::send_anon(gate, c);
  portable::send_anon(gate, acquire{.key = large});
  portable::send_anon(gate, large);
  EXPECT_TRUE(asker->serves());
  EXPECT_EQ(asker->look().layers.at(0).config, config_before);
}

TEST_F(hostile_node, that_names_no_sender_gets_nothing) {
  meet("calls");
  auto before = asker->look();
  for (auto i = 0; i < 10; ++i) {
    portable::send_anon(gate, get_status{});
    portable::send_anon(gate, cancelled{1});
    portable::send_anon(gate, subscribe{});
  }
  expect_as(before);
  portable::send_anon(gate, acquire{.permits = 8});
  EXPECT_EQ(asker->look().layers.at(1).metrics.at("in_use"), 0);
  EXPECT_TRUE(asker->serves());
}

} // namespace
} // namespace caisson::test
