// Workers of several gates that stop and start together.
#include "support/world.hpp"

#include <caisson/gate/supervision_group.hpp>
#include <caisson/local_gate.hpp>

#include <fmt/format.h>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

/// Answers an int with its double; dies of a negative one.
class mortal_member final : public caf::event_based_actor {
public:
  mortal_member(caf::actor_config& cfg, std::string name,
                std::vector<std::string>* log)
    : caf::event_based_actor(cfg), name_(std::move(name)), log_(log) {
    log_->push_back("+" + name_);
  }

  caf::behavior make_behavior() override {
    return {[this](int x) {
      if (x < 0)
        quit(caf::exit_reason::user_shutdown);
      return x * 2;
    }};
  }

  void on_exit() override { log_->push_back("-" + name_); }

private:
  std::string name_;
  std::vector<std::string>* log_;
};

class supervision_group_test : public world_test {
protected:
  using list = std::vector<std::string>;

  /// Gates a, b, c … with the ranks 0, 1, 2 …
  void make(group_strategy strategy, std::uint32_t n,
            supervision_group_config c = {}) {
    c.strategy = strategy;
    group = spawn_supervision_group(world, c);
    for (std::uint32_t i = 0; i < n; ++i) {
      std::string name(1, static_cast<char>('a' + i));
      auto factory = [this, name](caf::actor_system& sys) {
        if (broken)
          return caf::expected<caf::actor>{
            caf::make_error(caf::sec::runtime_error)};
        return caf::expected<caf::actor>{
          caf::actor_cast<caf::actor>(sys.spawn<mortal_member>(name, &log))};
      };
      auto g = spawn_gate(
        world,
        worker::supervised(factory, {.restart = schedule::constant(1s),
                                     .on_give_up = give_up_action::refuse})
          .in_group(group, i),
        stack{name});
      gates.push_back(own(caf::actor{g}));
    }
    take_log();
  }

  list take_log() {
    world.run_until_idle();
    return std::exchange(log, {});
  }

  void TearDown() override {
    gates.clear();
    group = {};
    world_test::TearDown();
  }

  list log;
  /// Whether no worker can be made.
  bool broken = false;
  std::vector<caf::actor> gates;
  supervision_group group;
};
CAISSON_ALL_ORDERS(supervision_group_test);

TEST_P(supervision_group_test, one_for_all_restarts_all_workers_in_order) {
  make(group_strategy::one_for_all, 3);
  world.request(gates[1], -1);
  auto stop_log = take_log();
  std::sort(stop_log.begin(), stop_log.end());
  EXPECT_EQ(stop_log, (list{"-a", "-b", "-c"}));
  for (auto& g : gates)
    EXPECT_EQ(look(g).worker, worker_state::restarting);
  world.advance(1s);
  EXPECT_EQ(take_log(), (list{"+a", "+b", "+c"}));
  for (auto& g : gates)
    EXPECT_EQ(world.request(g, 4).value<int>(), 8);
  EXPECT_EQ(metric_of(gates[0], "worker_group_stops"), 1);
  EXPECT_EQ(metric_of(gates[1], "worker_group_stops"), 0);
  EXPECT_EQ(metric_of(gates[1], "worker_losses"), 1);
  EXPECT_EQ(metric_of(gates[0], "worker_restarts"), 0);
}

TEST_P(supervision_group_test, rest_for_one_leaves_earlier_workers_alone) {
  make(group_strategy::rest_for_one, 3);
  world.request(gates[1], -1);
  auto stop_log = take_log();
  std::sort(stop_log.begin(), stop_log.end());
  EXPECT_EQ(stop_log, (list{"-b", "-c"}));
  EXPECT_EQ(world.request(gates[0], 1).value<int>(), 2);
  world.advance(1s);
  EXPECT_EQ(take_log(), (list{"+b", "+c"}));
}

TEST_P(supervision_group_test, a_restart_waits_for_that_of_a_lower_rank) {
  make(group_strategy::rest_for_one, 2);
  world.request(gates[1], -1);
  world.advance(500ms);
  world.request(gates[0], -1);
  EXPECT_EQ(take_log(), (list{"-b", "-a"}));
  world.advance(900ms);
  EXPECT_EQ(take_log(), list{}) << "the second has waited for a second";
  world.advance(100ms);
  EXPECT_EQ(take_log(), (list{"+a", "+b"}));
}

TEST_P(supervision_group_test, losses_at_the_same_time_restart_in_order) {
  make(group_strategy::one_for_all, 3);
  auto self = world.make_probe();
  std::vector<pending_answer> all;
  for (auto& g : gates)
    all.push_back(self.request(g, -1));
  auto stop_log = take_log();
  std::sort(stop_log.begin(), stop_log.end());
  EXPECT_EQ(stop_log, (list{"-a", "-b", "-c"}));
  world.advance(1s);
  EXPECT_EQ(take_log(), (list{"+a", "+b", "+c"}));
  world.advance(1min);
  EXPECT_EQ(take_log(), list{});
  world.kill(self.handle());
}

TEST_P(supervision_group_test, a_session_restarts_with_its_connection) {
  auto starts = [this](std::string name) {
    return [this, name](caf::actor_system& sys) {
      return caf::expected<caf::actor>{
        caf::actor_cast<caf::actor>(sys.spawn<mortal_member>(name, &log))};
    };
  };
  auto connect = starts("connection");
  auto open_session = starts("session");
  // [group]
  auto group = spawn_supervision_group(
    world, {.strategy = group_strategy::rest_for_one});
  auto connections = spawn_gate(world,
                                worker::supervised(connect).in_group(group, 1),
                                stack{"connections"});
  auto sessions = spawn_gate(
    world, worker::supervised(open_session).in_group(group, 2),
    stack{"sessions"});
  // [/group]
  own(caf::actor{connections});
  own(caf::actor{sessions});
  take_log();
  world.request(sessions, -1);
  world.advance(1s);
  EXPECT_EQ(take_log(), (list{"-session", "+session"}));
  world.request(connections, -1);
  world.advance(1s);
  auto seen = take_log();
  ASSERT_EQ(seen.size(), 4u);
  std::sort(seen.begin(), seen.begin() + 2);
  EXPECT_EQ(seen, (list{"-connection", "-session", "+connection", "+session"}));
}

TEST_P(supervision_group_test, one_for_one_restarts_the_lost_one) {
  make(group_strategy::one_for_one, 3);
  world.request(gates[1], -1);
  EXPECT_EQ(take_log(), list{"-b"});
  world.advance(1s);
  EXPECT_EQ(take_log(), list{"+b"});
}

TEST_P(supervision_group_test, calls_wait_for_the_whole_restart) {
  make(group_strategy::one_for_all, 2);
  world.request(gates[1], -1);
  auto waits = world.request(gates[0], 5);
  EXPECT_FALSE(waits.ready());
  world.advance(1s);
  EXPECT_EQ(waits.value<int>(), 10);
  EXPECT_EQ(waits.count(), 1u);
}

TEST_P(supervision_group_test, too_many_losses_give_all_up) {
  make(group_strategy::one_for_all, 2, {.max_restarts = 2});
  for (auto i = 0; i < 2; ++i) {
    world.request(gates[0], -1);
    world.advance(1s);
  }
  EXPECT_EQ(look(gates[0]).worker, worker_state::up);
  world.request(gates[1], -1);
  world.run_until_idle();
  for (auto& g : gates) {
    EXPECT_EQ(look(g).worker, worker_state::given_up);
    EXPECT_TRUE(world.request(g, 1).is(errc::worker_down));
  }
}

TEST_P(supervision_group_test, gives_up_workers_that_wait_for_their_start) {
  make(group_strategy::one_for_all, 2, {.max_restarts = 1});
  world.request(gates[0], -1);
  take_log();
  broken = true;
  world.advance(1s);
  EXPECT_EQ(take_log(), list{});
  for (auto& g : gates) {
    EXPECT_EQ(look(g).worker, worker_state::given_up);
    EXPECT_TRUE(world.request(g, 1).is(errc::worker_down));
  }
}

TEST_P(supervision_group_test, a_gate_that_ends_is_not_waited_for) {
  make(group_strategy::one_for_all, 3);
  world.request(gates[0], -1);
  take_log();
  world.kill(gates[0]);
  EXPECT_EQ(take_log(), (list{"+b", "+c"}));
}

TEST_P(supervision_group_test, without_the_group_gates_start_on_their_own) {
  make(group_strategy::one_for_all, 2);
  world.request(gates[0], -1);
  take_log();
  world.kill(group.handle());
  EXPECT_EQ(take_log(), list{"+b"});
  world.advance(1s);
  EXPECT_EQ(take_log(), list{"+a"});
  world.request(gates[0], -1);
  world.advance(1s);
  EXPECT_EQ(take_log(), (list{"-a", "+a"}));
}

TEST_P(supervision_group_test, only_the_group_gives_orders) {
  make(group_strategy::one_for_all, 2);
  for (auto what : {detail::member_order::stop, detail::member_order::give_up})
    world.request(gates[0], detail::group_order{what, 1, "forged"});
  // Nor reports for others.
  world.request(group.handle(), detail::member_report{
                                  detail::member_state::down, 0, 0, "forged"});
  EXPECT_EQ(take_log(), list{});
  EXPECT_EQ(look(gates[0]).worker, worker_state::up);
}

// A gate without references sends nothing when it ends.
TEST_P(supervision_group_test, gates_may_end_with_their_last_handle) {
  auto drop = [this](std::size_t i) {
    std::erase(owned, gates[i]);
    gates[i] = nullptr;
    world.run_until_idle();
  };
  make(group_strategy::one_for_all, 4);
  drop(0);
  EXPECT_EQ(take_log(), list{"-a"});
  EXPECT_EQ(look(group.handle()).metric("members"), 3);
  // While it restarts, and waits for its turn.
  world.request(gates[1], -1);
  world.run_until_idle();
  drop(1);
  drop(2);
  EXPECT_EQ(look(group.handle()).metric("members"), 1);
  // The last one does not wait for them, nor for the group.
  world.advance(1s);
  EXPECT_EQ(world.request(gates[3], 4).value<int>(), 8);
  group = {};
  drop(3);
}

TEST_P(supervision_group_test, counters_can_be_reset) {
  make(group_strategy::one_for_all, 2);
  world.request(gates[1], -1);
  world.advance(1s);
  EXPECT_EQ(metric_of(gates[0], "worker_group_stops"), 1);
  world.request(gates[0], command{operator_command::reset});
  EXPECT_EQ(metric_of(gates[0], "worker_group_stops"), 0);
}

TEST_P(supervision_group_test, begins_anew_when_all_have_ended) {
  make(group_strategy::one_for_all, 2, {.max_restarts = 0});
  world.request(gates[0], -1);
  world.run_until_idle();
  auto joined = [this](give_up_action action) {
    auto factory = [this](caf::actor_system& sys) {
      return caf::expected<caf::actor>{
        caf::actor_cast<caf::actor>(sys.spawn<mortal_member>("x", &log))};
    };
    auto g = spawn_gate(
      world,
      worker::supervised(factory, {.on_give_up = action}).in_group(group),
      stack{"x"});
    gates.push_back(own(caf::actor{g}));
    world.run_until_idle();
  };
  joined(give_up_action::quit);
  EXPECT_TRUE(portable::is_down(gates[2]));
  stop_gate(gates[0]);
  stop_gate(gates[1]);
  world.run_until_idle();
  joined(give_up_action::quit);
  EXPECT_EQ(world.request(gates[3], 4).value<int>(), 8);
  // Losses of before do not count.
  EXPECT_EQ(look(group.handle()).worker, worker_state::up);
}

TEST_P(supervision_group_test, reports_its_state) {
  auto lonely = spawn_supervision_group(world);
  EXPECT_EQ(look(lonely.handle()).worker, worker_state::none);
  make(group_strategy::one_for_all, 3, {.max_restarts = 1});
  auto expect = [this](worker_state state, std::int64_t up,
                       std::int64_t losses) {
    auto s = look(group.handle());
    EXPECT_EQ(s.worker, state);
    EXPECT_EQ(s.metric("members"), 3);
    EXPECT_EQ(s.metric("members_up"), up);
    EXPECT_EQ(s.metric("losses"), losses);
  };
  expect(worker_state::up, 3, 0);
  world.request(gates[1], -1);
  world.run_until_idle();
  expect(worker_state::restarting, 0, 1);
  world.advance(1s);
  expect(worker_state::up, 3, 1);
  world.request(gates[1], -1);
  world.run_until_idle();
  expect(worker_state::given_up, 0, 2);
}

TEST_P(supervision_group_test, takes_other_settings) {
  make(group_strategy::one_for_all, 2, {.max_restarts = 2});
  auto set = [this](std::map<std::string, std::string> x) {
    return world.request(group.handle(), reconfigure{{}, std::move(x)});
  };
  EXPECT_TRUE(set({{"strategy", "one_for_one"}, {"max_restarts", "0"}}).ok());
  world.request(gates[1], -1);
  world.run_until_idle();
  EXPECT_EQ(look(gates[0]).worker, worker_state::given_up);
  EXPECT_EQ(look(gates[1]).worker, worker_state::given_up);
}

TEST_P(supervision_group_test, bad_settings_change_nothing) {
  make(group_strategy::one_for_all, 2);
  auto refused = [this](reconfigure x) {
    auto answer = world.request(group.handle(), std::move(x));
    EXPECT_TRUE(answer.is(errc::invalid_config));
    auto why = answer.error();
    auto* context = context_of(why);
    return context ? context->text : std::string{};
  };
  EXPECT_EQ(refused({{}, {{"strategy", "one_for_one"}, {"period", "0s"}}}),
            "period: \"0s\" is out of range, allowed: 1us to 365d");
  EXPECT_EQ(refused({{}, {{"permits", "3"}}}),
            "permits: unknown key, known keys: strategy, max_restarts, period");
  EXPECT_EQ(refused({"breaker", {}}), "a group has no layers");
  std::map<std::string, std::string> many;
  for (std::size_t i = 0; i <= max_settings; ++i)
    many.emplace(fmt::format("{}", i), "1");
  EXPECT_EQ(refused({{}, std::move(many)}),
            "257 settings are too many, allowed: 0 to 256");
  world.request(gates[1], -1);
  auto stop_log = take_log();
  std::sort(stop_log.begin(), stop_log.end());
  EXPECT_EQ(stop_log, (list{"-a", "-b"}));
}

TEST_P(supervision_group_test, impossible_workers_are_refused) {
  auto group = spawn_supervision_group(world);
  EXPECT_THROW(spawn_gate(world, worker{}.in_group(group), stack{}),
               config_error);
  auto make_none = [](caf::actor_system&) {
    return caf::expected<caf::actor>{caf::actor{}};
  };
  EXPECT_THROW(
    spawn_gate(world, worker::supervised(make_none).in_group({}), stack{}),
    config_error);
  EXPECT_THROW(spawn_supervision_group(world, {.max_restarts = 2'000}),
               config_error);
  bool refused = false;
  class local_gate_owner final : public caf::event_based_actor {
  public:
    local_gate_owner(caf::actor_config& cfg, worker w, bool* refused)
      : caf::event_based_actor(cfg) {
      try {
        local_gate<> gate{this, std::move(w), stack{}};
      } catch (const config_error&) {
        *refused = true;
      }
    }
    caf::behavior make_behavior() override { return {}; }
  };
  world.system().spawn<local_gate_owner>(
    worker::supervised(make_none).in_group(group), &refused);
  EXPECT_TRUE(refused);
}

} // namespace
} // namespace caisson::test
