// Workers that are not made again after each end, and workers that are given
// time to end.
#include "support/asking_client.hpp"
#include "support/gate_sets.hpp"

#include <caisson/gate/supervision_group.hpp>
#include <caisson/local_gate.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// Doubles ints. Quits at zero, fails at a negative one.
class leaver final : public caf::event_based_actor {
public:
  leaver(caf::actor_config& cfg, std::string name,
         std::vector<std::string>* log)
    : caf::event_based_actor(cfg), name_(std::move(name)), log_(log) {
    log_->push_back("+" + name_);
  }

  caf::behavior make_behavior() override {
    return {[this](int x) {
      if (x == 0)
        quit();
      else if (x < 0)
        quit(caf::sec::runtime_error);
      return x * 2;
    }};
  }

  void on_exit() override { log_->push_back("-" + name_); }

private:
  std::string name_;
  std::vector<std::string>* log_;
};

// Ends as it is asked to, and says before anybody knows that it was another
// way.
class misreporting_worker final : public caf::event_based_actor {
public:
  misreporting_worker(caf::actor_config& cfg, const caf::actor* gate)
    : caf::event_based_actor(cfg), gate_(gate) {}

  caf::behavior make_behavior() override {
    return {[this](int x) {
      fails_ = x < 0;
      if (fails_)
        quit(caf::sec::runtime_error);
      else
        quit();
      return x;
    }};
  }

  void on_exit() override {
    caf::error why;
    if (!fails_)
      why = caf::sec::runtime_error;
    portable::send_anon(*gate_, caf::down_msg{address(), why});
  }

private:
  const caf::actor* gate_;
  bool fails_ = false;
};

class worker_lifetimes : public asking_test {
protected:
  using list = std::vector<std::string>;

  worker leaving(worker_lifetime x, std::string name = "w") {
    return worker::supervised(
      [this, name](caf::actor_system& sys) {
        return caf::expected<caf::actor>{
          caf::actor_cast<caf::actor>(sys.spawn<leaver>(name, &log))};
      },
      {.lifetime = x, .restart = schedule::constant(1s)});
  }

  list take_log() {
    world.run_until_idle();
    return std::exchange(log, {});
  }

  // Gates a, b, c … with these lifetimes and the ranks 0, 1, 2 …
  void make(group_strategy s, std::vector<worker_lifetime> lifetimes,
            supervision_group_config c = {}) {
    c.strategy = s;
    group = spawn_supervision_group(world, c);
    std::uint32_t rank = 0;
    for (auto x : lifetimes) {
      std::string name(1, static_cast<char>('a' + rank));
      gates.push_back(
        gate(leaving(x, name).in_group(group, rank++), stack{name}));
    }
    take_log();
  }

  worker_state state(std::size_t i) { return look(gates[i]).worker; }

  void TearDown() override {
    gates.clear();
    group = {};
    asking_test::TearDown();
  }

  list log;
  std::vector<caf::actor> gates;
  supervision_group group;

  static constexpr auto permanent = worker_lifetime::permanent;
  static constexpr auto transient = worker_lifetime::transient;
  static constexpr auto temporary = worker_lifetime::temporary;
};
CAISSON_ALL_ORDERS(worker_lifetimes);

TEST_P(worker_lifetimes, a_transient_worker_restarts_only_after_failures) {
  auto g = gate(leaving(transient), stack{"x"});
  auto self = world.make_probe();
  self.send(g, subscribe{});
  world.request(g, -1);
  world.advance(1s);
  EXPECT_EQ(take_log(), (list{"+w", "-w", "+w"}));
  EXPECT_EQ(world.request(g, 2).value<int>(), 4);
  world.request(g, 0);
  world.advance(1h);
  EXPECT_EQ(take_log(), list{"-w"});
  EXPECT_EQ(look(g).worker, worker_state::ended);
  auto refused = world.request(g, 2);
  ASSERT_TRUE(refused.is(errc::worker_down));
  EXPECT_FALSE(context_of(refused.error())->may_have_executed);
  EXPECT_EQ(metric_of(g, "worker_losses"), 2);
  EXPECT_EQ(metric_of(g, "worker_restarts"), 1);
  EXPECT_EQ(metric_of(g, "worker_ended"), 1);
  auto events = self.received_as<event>();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().kind, event_kind::worker_changed);
  EXPECT_EQ(events.back().to, "ended");
  EXPECT_EQ(events.back().delay, duration::zero());
  world.kill(self.handle());
}

TEST_P(worker_lifetimes, a_worker_asked_to_quit_has_not_failed) {
  caf::actor known;
  auto g = gate(worker::supervised(
                  [&](caf::actor_system& sys) {
                    known = caf::actor_cast<caf::actor>(
                      sys.spawn<leaver>("w", &log));
                    return caf::expected<caf::actor>{known};
                  },
                  {.lifetime = transient}),
                stack{});
  caf::anon_send_exit(known, caf::exit_reason::user_shutdown);
  world.run_until_idle();
  EXPECT_EQ(look(g).worker, worker_state::ended);
  known = nullptr;
}

TEST_P(worker_lifetimes, a_worker_that_is_killed_has_failed) {
  caf::actor known;
  auto g = gate(worker::supervised(
                  [&](caf::actor_system& sys) {
                    known = caf::actor_cast<caf::actor>(
                      sys.spawn<leaver>("w", &log));
                    return caf::expected<caf::actor>{known};
                  },
                  {.lifetime = transient}),
                stack{});
  world.kill(known);
  EXPECT_EQ(look(g).worker, worker_state::restarting);
  known = nullptr;
}

// Any actor may say that another one has ended.
TEST_P(worker_lifetimes, a_false_report_does_not_end_a_live_worker) {
  caf::actor known;
  auto g = gate(worker::supervised(
                  [&](caf::actor_system& sys) {
                    known = caf::actor_cast<caf::actor>(
                      sys.spawn<leaver>("w", &log));
                    return caf::expected<caf::actor>{known};
                  },
                  {.lifetime = transient, .restart = schedule::constant(1s)}),
                stack{});
  world.run_until_idle();
  portable::send_anon(g, caf::down_msg{known.address(), caf::error{}});
  world.run_until_idle();
  EXPECT_EQ(look(g).worker, worker_state::up);
  EXPECT_EQ(metric_of(g, "worker_losses"), 0);
  // Its real end is noticed.
  world.kill(known);
  world.run_until_idle();
  EXPECT_EQ(look(g).worker, worker_state::restarting);
  known = nullptr;
}

TEST_P(worker_lifetimes, a_false_report_does_not_change_the_kind_of_end) {
  for (auto last : {0, -1}) {
    caf::actor g;
    g = gate(worker::supervised(
               [&](caf::actor_system& sys) {
                 return caf::expected<caf::actor>{caf::actor_cast<caf::actor>(
                   sys.spawn<misreporting_worker>(&g))};
               },
               {.lifetime = transient, .restart = schedule::constant(1h)}),
             stack{});
    world.request(g, last);
    world.run_until_idle();
    EXPECT_EQ(look(g).worker,
              last == 0 ? worker_state::ended : worker_state::restarting);
    EXPECT_EQ(metric_of(g, "worker_losses"), 1);
    world.kill(g);
  }
}

// What is in the mailbox of a worker that quits bounces, and that comes before
// the message that says how it has ended.
TEST_P(worker_lifetimes, bounced_messages_do_not_tell_the_kind_of_end) {
  for (auto last : {0, -1}) {
    auto g = gate(leaving(transient), stack{});
    auto self = world.make_probe();
    std::vector<pending_answer> all;
    for (auto x : {1, last, 3, 4, 5})
      all.push_back(self.request(g, x));
    world.run_until_idle();
    for (auto& x : all)
      EXPECT_EQ(x.count(), 1u);
    EXPECT_EQ(metric_of(g, "worker_losses"), 1);
    EXPECT_EQ(look(g).worker,
              last == 0 ? worker_state::ended : worker_state::restarting);
    world.advance(1s);
    EXPECT_EQ(look(g).worker,
              last == 0 ? worker_state::ended : worker_state::up);
    world.kill(self.handle());
  }
}

TEST_P(worker_lifetimes, a_temporary_worker_never_restarts) {
  auto g = gate(leaving(temporary), stack{});
  EXPECT_EQ(world.request(g, 3).value<int>(), 6);
  world.request(g, -1);
  world.advance(1h);
  EXPECT_EQ(take_log(), (list{"+w", "-w"}));
  EXPECT_EQ(look(g).worker, worker_state::ended);
  EXPECT_TRUE(world.request(g, 1).is(errc::worker_down));
  EXPECT_FALSE(portable::is_down(g)) << "on_give_up does not apply";
}

TEST_P(worker_lifetimes, local_gates_do_the_same) {
  for (auto lifetime : {transient, temporary})
    for (auto last : {0, -1})
      for (auto idle : {false, true}) {
        asking_client::first = nullptr;
        auto c = start(leaving(lifetime), stack{});
        take_log();
        world.send(c, 2);
        EXPECT_EQ(seen(), texts{"2 -> 4"});
        world.send(c, last);
        if (!idle)
          world.send(c, 7);
        world.advance(10s);
        seen();
        world.send(c, 3);
        world.advance(1s);
        auto restarts = lifetime == transient && last < 0;
        EXPECT_EQ(seen(), texts{restarts ? "3 -> 6" : "3 failed: worker_down"});
      }
}

// -- groups -------------------------------------------------------------------

TEST_P(worker_lifetimes, a_normal_end_concerns_no_other_worker) {
  for (auto s : {group_strategy::one_for_one, group_strategy::one_for_all,
                 group_strategy::rest_for_one}) {
    make(s, {transient, permanent, temporary});
    world.request(gates[0], 0);
    world.request(gates[2], -1);
    world.advance(1h);
    auto stop_log = take_log();
    std::sort(stop_log.begin(), stop_log.end());
    EXPECT_EQ(stop_log, (list{"-a", "-c"}));
    EXPECT_EQ(state(0), worker_state::ended);
    EXPECT_EQ(state(1), worker_state::up);
    EXPECT_EQ(state(2), worker_state::ended);
    auto all = look(group.handle());
    EXPECT_EQ(all.worker, worker_state::up);
    EXPECT_EQ(all.metric("losses"), 0);
    EXPECT_EQ(all.metric("members_up"), 1);
    EXPECT_EQ(all.metric("members_ended"), 2);
    for (auto& g : std::exchange(gates, {}))
      world.kill(g);
    take_log();
  }
}

TEST_P(worker_lifetimes, a_group_reports_that_all_workers_have_ended) {
  make(group_strategy::one_for_all, {transient, temporary});
  world.request(gates[0], 0);
  world.request(gates[1], 0);
  world.run_until_idle();
  EXPECT_EQ(look(group.handle()).worker, worker_state::ended);
  EXPECT_EQ(look(group.handle()).metric("members_up"), 0);
}

// As Erlang/OTP does.
TEST_P(worker_lifetimes, a_group_restarts_transient_workers_that_had_ended) {
  make(group_strategy::one_for_all, {transient, permanent, temporary});
  world.request(gates[0], 0);
  take_log();
  world.request(gates[1], -1);
  EXPECT_EQ(state(0), worker_state::restarting);
  auto waits = world.request(gates[0], 4);
  EXPECT_FALSE(waits.ready());
  EXPECT_EQ(state(2), worker_state::ended);
  EXPECT_EQ(metric_of(gates[2], "worker_group_stops"), 1);
  EXPECT_EQ(metric_of(gates[0], "worker_group_stops"), 0);
  world.advance(1s);
  auto seen = take_log();
  std::sort(seen.begin(), seen.begin() + 2);
  EXPECT_EQ(seen, (list{"-b", "-c", "+a", "+b"}));
  EXPECT_EQ(waits.value<int>(), 8);
  EXPECT_EQ(look(group.handle()).metric("members_ended"), 1);
  // The temporary one is not waited for, nor stopped again.
  world.request(gates[0], -1);
  world.advance(1s);
  auto again = take_log();
  std::sort(again.begin(), again.begin() + 2);
  EXPECT_EQ(again, (list{"-a", "-b", "+a", "+b"}));
  EXPECT_EQ(metric_of(gates[2], "worker_group_stops"), 1);
}

TEST_P(worker_lifetimes, rest_for_one_restarts_workers_of_higher_ranks) {
  make(group_strategy::rest_for_one, {transient, permanent, transient});
  world.request(gates[0], 0);
  world.request(gates[2], 0);
  take_log();
  world.request(gates[1], -1);
  world.advance(1s);
  EXPECT_EQ(take_log(), (list{"-b", "+b", "+c"}));
  EXPECT_EQ(state(0), worker_state::ended);
}

TEST_P(worker_lifetimes, a_failure_of_a_transient_worker_restarts_its_group) {
  make(group_strategy::one_for_all, {permanent, transient});
  world.request(gates[1], -1);
  world.advance(1s);
  auto seen = take_log();
  std::sort(seen.begin(), seen.begin() + 2);
  EXPECT_EQ(seen, (list{"-a", "-b", "+a", "+b"}));
  EXPECT_EQ(look(group.handle()).metric("losses"), 1);
}

TEST_P(worker_lifetimes, a_group_that_gives_up_takes_ended_workers_along) {
  make(group_strategy::one_for_one, {transient, temporary, permanent},
       {.max_restarts = 0});
  world.request(gates[0], 0);
  world.request(gates[1], 0);
  world.run_until_idle();
  world.request(gates[2], -1);
  world.run_until_idle();
  for (auto& g : gates)
    EXPECT_TRUE(portable::is_down(g)) << "on_give_up is quit";
}

// -- reload -------------------------------------------------------------------

class lifetime_set_world : public gate_set_world {};
CAISSON_ALL_ORDERS(lifetime_set_world);

TEST_P(lifetime_set_world, a_reload_changes_the_meaning_of_the_next_end) {
  caf::actor last;
  names.add_factory("known", [&](caf::actor_system&) {
    last = scripted_worker{world, test::doubles()}.handle();
    return caf::expected<caf::actor>{last};
  });
  auto text = [](const std::string& x) {
    return "[gates.a]\nworker = { name = 'known', restart = '1s', lifetime = '"
           + x + "' }\n";
  };
  auto state = [&] { return look(gates.find("a")).worker; };
  start(text("permanent"));
  EXPECT_EQ(changes_of(load(text("temporary"))),
            lines{"a: worker: lifetime = temporary (was permanent)"});
  // What has ended stays so.
  world.kill(last);
  EXPECT_EQ(state(), worker_state::ended);
  load(text("permanent"));
  world.advance(1h);
  EXPECT_EQ(state(), worker_state::ended);
  EXPECT_EQ(look(gates.find("a")).layers.size(), 0u);
  last = nullptr;
}

TEST_P(lifetime_set_world, a_reload_brings_an_ended_worker_back_to_its_group) {
  std::map<std::string, caf::actor> last;
  for (std::string name : {"first", "second"})
    names.add_factory(name, [&last, name, this](caf::actor_system&) {
      last[name] = scripted_worker{world, test::doubles()}.handle();
      return caf::expected<caf::actor>{last[name]};
    });
  auto text = [](const std::string& x) {
    return "[groups.g]\n[gates.a]\nworker = { name = 'first', group = 'g', "
           "restart = '1s', lifetime = '"
           + x
           + "' }\n[gates.b]\nworker = { name = 'second', group = 'g', "
             "restart = '1s' }\n";
  };
  auto state = [&] { return look(gates.find("a")).worker; };
  start(text("temporary"));
  world.kill(last.at("first"));
  world.kill(last.at("second"));
  world.advance(1s);
  EXPECT_EQ(state(), worker_state::ended);
  load(text("transient"));
  world.run_until_idle();
  EXPECT_EQ(state(), worker_state::ended);
  world.kill(last.at("second"));
  world.advance(1s);
  EXPECT_EQ(state(), worker_state::up);
  last.clear();
}

} // namespace
} // namespace caisson::test
