// Gates from a file that is read again while they run.
#include <support/gate_sets.hpp>
#include <support/source_dir.hpp>

#include <caisson/observe/gate_watch.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include <string>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

CAISSON_ALL_ORDERS(gate_set_world);

constexpr auto two_gates = "[gates.a]\n"
                           "worker = 'doubles'\n"
                           "layer = [{ kind = 'breaker', threshold = 3 }]\n"
                           "[gates.b]\n"
                           "worker = 'mute'\n";

TEST_P(gate_set_world, gates_are_found_by_name) {
  start(two_gates);
  EXPECT_EQ(gates.names(), (lines{"a", "b"}));
  EXPECT_EQ(world.request(gates.find("a"), 4).value<int>(), 8);
  EXPECT_EQ(world.request(gates.calls("a"), 4).value<int>(), 8);
  EXPECT_FALSE(gates.find("c"));
  EXPECT_FALSE(gates.calls("c"));
}

TEST_P(gate_set_world, a_bad_file_starts_nothing) {
  dir.write("gates.toml", "[gates.a]\nworker = 'nobody'\n");
  EXPECT_THROW(static_cast<void>(spawn_gates(world, file(), names)),
               config_error);
  EXPECT_EQ(worker_count, 0);
}

TEST_P(gate_set_world, a_maker_that_throws_starts_nothing) {
  names.add_maker("throws", [](const supervision_config&) -> worker {
    throw std::runtime_error{"no such host"};
  });
  dir.write("gates.toml",
            std::string{two_gates} + "[gates.c]\nworker = 'throws'\n");
  EXPECT_THROW(static_cast<void>(spawn_gates(world, file(), names)),
               config_error);
  world.run_until_idle();
  // And at a reload changes nothing.
  start(two_gates);
  auto report = load("[gates.c]\nworker = 'throws'\n");
  EXPECT_EQ(
    report.problems,
    (lines{file().string() + ":2:10: gates.c: cannot be made: no such host"}));
  EXPECT_EQ(gates.names(), (lines{"a", "b"}));
}

TEST_P(gate_set_world, the_gates_end_with_the_last_handle) {
  start(two_gates);
  auto copy = gates;
  gates = {};
  world.run_until_idle();
  EXPECT_EQ(world.request(copy.find("a"), 4).value<int>(), 8);
  auto a = copy.find("a");
  copy = {};
  world.run_until_idle();
  EXPECT_TRUE(portable::is_down(a));
}

TEST_P(gate_set_world, a_reload_changes_settings_and_keeps_state_and_handles) {
  start("[gates.a]\nworker = 'mute'\n"
        "layer = [{ kind = 'breaker', threshold = 3 }]\n");
  auto a = gates.find("a");
  for (auto i = 0; i < 2; ++i) {
    auto x = world.request(a, 1);
    mute.fail(caf::sec::runtime_error);
  }
  auto report = load("[gates.a]\nworker = 'mute'\ndefault_deadline = '1s'\n"
                     "layer = [{ kind = 'breaker', threshold = 5 }]\n");
  EXPECT_EQ(changes_of(report), (lines{"a: default_deadline = 1s (was 30s)",
                                       "a breaker: threshold = 5 (was 3)"}));
  EXPECT_EQ(gates.find("a"), a);
  for (auto i = 0; i < 2; ++i) {
    auto x = world.request(a, 1);
    mute.fail(caf::sec::runtime_error);
    EXPECT_EQ(state_of(a, "breaker"), "closed");
  }
  auto x = world.request(a, 1);
  mute.fail(caf::sec::runtime_error);
  EXPECT_EQ(state_of(a, "breaker"), "open");
}

TEST_P(gate_set_world, the_file_wins_over_what_was_set_by_message) {
  start(two_gates);
  auto a = gates.find("a");
  EXPECT_TRUE(
    world.request(a, reconfigure{"breaker", {{"threshold", "7"}}}).ok());
  EXPECT_TRUE(
    world.request(a, command{operator_command::force_open, "breaker"}).ok());
  EXPECT_EQ(changes_of(load(two_gates)),
            (lines{"a breaker: threshold = 3 (was 7)"}));
  // What an operator has forced stays.
  EXPECT_EQ(state_of(a, "breaker"), "forced_open");
}

TEST_P(gate_set_world, a_bad_file_changes_nothing_and_is_reported) {
  start(two_gates);
  auto self = world.make_probe();
  self.send(gates.controller(), subscribe{});
  world.run_until_idle();
  auto report = load("[gates.a]\nworker = 'doubles'\n"
                     "layer = [{ kind = 'breaker', threshold = 0 }]\n"
                     "[gates.c]\nworker = 'doubles'\n");
  auto problem = file().string()
                 + ":3:42: gates.a.layer[0].threshold: 0 is out of range, "
                   "allowed: 1 to 1000000";
  EXPECT_EQ(report.problems, (lines{problem}));
  EXPECT_TRUE(report.changes.empty());
  EXPECT_EQ(gates.names(), (lines{"a", "b"}));
  auto events = self.received_as<event>();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, event_kind::reconfigured);
  EXPECT_EQ(events[0].to, "refused");
  EXPECT_EQ(events[0].detail, problem);
}

TEST_P(gate_set_world, what_cannot_change_is_refused) {
  start(two_gates);
  auto report = load("[gates.a]\nname = 'x'\nworker = 'doubles'\n"
                     "[gates.b]\nworker = 'doubles'\n");
  EXPECT_EQ(report.problems,
            (lines{file().string()
                     + ":1:1: gates.a.name: a gate that runs keeps its name, "
                       "\"a\"",
                   file().string()
                     + ":5:10: gates.b.worker: the worker of a gate that runs "
                       "stays \"mute\"; give the gate another name"}));
}

TEST_P(gate_set_world, gates_come_and_go) {
  start(two_gates);
  auto b = gates.find("b");
  auto held = world.request(b, 1);
  auto report = load("[gates.a]\nworker = 'doubles'\n"
                     "layer = [{ kind = 'breaker', threshold = 3 }]\n"
                     "[gates.c]\nworker = 'doubles'\n");
  EXPECT_EQ(changes_of(report), (lines{"b: removed", "c: added"}));
  EXPECT_EQ(gates.names(), (lines{"a", "c"}));
  EXPECT_EQ(world.request(gates.find("c"), 3).value<int>(), 6);
  // The one that is gone finishes what it has.
  EXPECT_TRUE(world.request(b, 2).is(errc::draining));
  EXPECT_FALSE(held.ready());
  mute.answer(5);
  EXPECT_EQ(held.value<int>(), 5);
  world.run_until_idle();
  EXPECT_TRUE(portable::is_down(b));
  // And may come back as another one.
  EXPECT_EQ(changes_of(load(two_gates)), (lines{"b: added", "c: removed"}));
  EXPECT_NE(gates.find("b"), b);
}

// It drains, but the program is no less ready for what is in the file.
TEST_P(gate_set_world, a_gate_that_is_removed_is_marked_while_it_drains) {
  start(two_gates);
  gate_watch all{world.system(), {.every = 1s}};
  auto held = world.request(gates.find("b"), 1);
  load("[gates.a]\nworker = 'doubles'\n");
  world.advance(2s);
  auto seen = all.gates();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_FALSE(seen[0].leaving);
  EXPECT_EQ(seen[1].name, "b");
  EXPECT_TRUE(seen[1].leaving);
  EXPECT_EQ(seen[1].last->state, gate_state::draining);
  mute.answer(2);
  EXPECT_EQ(held.value<int>(), 2);
  EXPECT_EQ(all.gates().size(), 1u);
}

TEST_P(gate_set_world, a_gate_that_has_ended_is_started_again) {
  start(two_gates);
  world.kill(gates.find("a"));
  EXPECT_EQ(changes_of(load(two_gates)), (lines{"a: started again"}));
  EXPECT_EQ(world.request(gates.find("a"), 4).value<int>(), 8);
}

TEST_P(gate_set_world, supervision_is_the_files_or_the_workers_own) {
  names.add("own", worker::supervised(
                     [this](caf::actor_system&) {
                       return caf::expected<caf::actor>{
                         scripted_worker{world, test::doubles()}.handle()};
                     },
                     {.max_restarts = 9}));
  start("[gates.a]\nworker = 'doubles'\n[gates.b]\nworker = 'own'\n");
  EXPECT_EQ(changes_of(load("[gates.a.worker]\nname = 'doubles'\n"
                            "max_restarts = 2\n"
                            "[gates.b.worker]\nname = 'own'\n"
                            "max_restarts = 2\n")),
            (lines{"a: worker: max_restarts = 2 (was 5)"}));
}

TEST_P(gate_set_world, a_worker_has_settings_of_its_own_under_the_files) {
  supervision_config base;
  base.max_restarts = 9;
  base.stable_after = 7s;
  supervision_config seen;
  names.add_maker(
    "patient",
    [&](const supervision_config& s) {
      seen = s;
      return worker::supervised(
        [this](caf::actor_system&) {
          return caf::expected<caf::actor>{
            scripted_worker{world, test::doubles()}.handle()};
        },
        s);
    },
    base);
  start("[gates.a]\nworker = \"patient\"\n");
  EXPECT_EQ(seen.max_restarts, 9u);
  EXPECT_EQ(seen.stable_after, 7s);
  EXPECT_EQ(changes_of(load("[gates.a]\nworker = { name = \"patient\", "
                            "max_restarts = 2 }\n")),
            (lines{"a: worker: max_restarts = 2 (was 9)"}));
  // What the file says no more is the worker's own again.
  EXPECT_EQ(changes_of(load("[gates.a]\nworker = \"patient\"\n")),
            (lines{"a: worker: max_restarts = 9 (was 2)"}));
  base.max_restarts = 0;
  base.period = 0s;
  EXPECT_THROW(names.add_maker("bad", nullptr, base), config_error);
  EXPECT_EQ(names.find("bad"), nullptr);
}

TEST_P(gate_set_world, layers_come_and_go_around_held_calls) {
  start("[gates.a]\nworker = 'mute'\nlayer = [\n"
        "{ kind = 'semaphore', permits = 1, max_waiters = 5 }]\n");
  auto a = gates.find("a");
  auto first = world.request(a, 1);
  auto second = world.request(a, 2);
  EXPECT_EQ(changes_of(load("[gates.a]\nworker = 'mute'\nlayer = [\n"
                            "{ kind = 'limiter', rate = 1000 }]\n")),
            (lines{"a semaphore: removed", "a limiter: added"}));
  auto third = world.request(a, 3);
  EXPECT_EQ(mute.open(), 2u) << "the second one waits for its permit";
  mute.answer(10);
  EXPECT_EQ(first.value<int>(), 10);
  mute.answer(30);
  EXPECT_EQ(third.value<int>(), 30);
  mute.answer(20);
  EXPECT_EQ(second.value<int>(), 20);
  EXPECT_EQ(look(a).layers.size(), 1u);
}

TEST_P(gate_set_world, an_alternative_that_changes_takes_effect) {
  auto text = [](int value) {
    return "[gates.a]\nworker = 'mute'\n[[gates.a.layer]]\n"
           "kind = 'fallback'\nalternatives = [{ value = "
           + std::to_string(value) + ", type = 'int32' }]\n";
  };
  start(text(1));
  EXPECT_EQ(changes_of(load(text(1))), lines{});
  EXPECT_EQ(changes_of(load(text(2))),
            (lines{"a fallback: removed", "a fallback: added"}));
  auto x = world.request(gates.find("a"), 1);
  mute.fail(caf::sec::runtime_error);
  EXPECT_EQ(x.value<int>(), 2);
}

TEST_P(gate_set_world, reloads_asked_for_together_are_answered_by_the_last) {
  start(two_gates);
  dir.write("gates.toml", "[gates.a]\nworker = 'doubles'\n");
  std::vector<pending_answer> all;
  auto self = world.make_probe();
  for (auto i = 0; i < 300; ++i)
    all.push_back(self.request(gates.controller(), reload{}));
  world.run_until_idle();
  std::size_t done = 0;
  for (auto& x : all) {
    ASSERT_EQ(x.count(), 1u);
    done += x.value<reload_report>().ok() ? 1 : 0;
  }
  EXPECT_GE(done, 256u);
  EXPECT_EQ(gates.names(), (lines{"a"}));
}

TEST_P(gate_set_world, whoever_waits_when_the_set_ends_is_answered) {
  start(two_gates);
  auto self = world.make_probe();
  auto x = self.request(gates.controller(), reload{});
  gates.stop();
  world.run_until_idle();
  EXPECT_EQ(x.count(), 1u);
  // On CAF 1.x the time limits of what it has asked outlive it.
  world.advance(30s);
}

// -- the page -----------------------------------------------------------------

caf::expected<caf::actor> make_catalog(caf::actor_system& sys) {
  return sys.spawn([](caf::event_based_actor*) -> caf::behavior {
    return {[](int x) { return 2 * x; }};
  });
}

TEST(reload_page, shows_what_works) {
  virtual_time world;
  caf::actor_system& sys = world;
  auto connect_search = make_catalog;
  auto make_payments = make_catalog;
  auto connect = make_catalog;
  auto open_session = make_catalog;
  auto path = source_path("demos/examples/gates.toml");
  // [example]
  worker_names workers;
  workers.add_factory("catalog", make_catalog)
    .add_factory("payments", make_payments)
    .add_factory("connection", connect)
    .add_factory("session", open_session)
    .add_maker("search", [=](const supervision_config& s) {
      return worker::supervised(connect_search, s).takes_cancelled();
    });
  gate_set gates = spawn_gates(sys, path, workers);
  call_handle catalog = gates.calls("catalog");
  // [/example]
  EXPECT_EQ(world.request(catalog, 4).value<int>(), 8);
  EXPECT_EQ(gates.names(), (lines{"catalog", "connections", "licences",
                                  "payments", "search", "sessions"}));
  auto report = world.request(gates.controller(), reload{"test"});
  auto result = report.value<reload_report>();
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(result.changes.empty());
  auto s = world.request(gates.find("catalog"), get_status{}).value<status>();
  EXPECT_EQ(s.layer("semaphore").config.at("permits"), "50");
  EXPECT_EQ(s.layer("breaker").config.at("threshold"), "8");
  gates = {};
  world.run_until_idle();
}

} // namespace
} // namespace caisson::test
