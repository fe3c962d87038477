// Supervision groups in a file that is read again while they run.
#include <support/gate_sets.hpp>

#include <caisson/gate/supervision_group.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

/// Gates whose workers are in a group.
class group_set_world : public gate_set_world {
protected:
  void SetUp() override {
    gate_set_world::SetUp();
    for (std::string name : {"first", "second"})
      names.add_factory(name, [this, name](caf::actor_system&) {
        started.push_back(name);
        workers[name] = scripted_worker{world, test::doubles()}.handle();
        return caf::expected<caf::actor>{workers[name]};
      });
  }

  void TearDown() override {
    workers.clear();
    gate_set_world::TearDown();
  }

  static std::string grouped(const std::string& settings,
                             const std::string& of_a = "rank = 2") {
    return "[groups.g]\n" + settings
           + "\n[gates.a]\nworker = { name = 'second', group = 'g', " + of_a
           + ", restart = '1s' }\n"
             "[gates.b]\nworker = { name = 'first', group = 'g', rank = 1, "
             "restart = '1s' }\n";
  }

  /// Who starts when the worker of that name is lost.
  lines restarted_with(const std::string& name) {
    started.clear();
    world.kill(workers.at(name));
    world.advance(1s);
    world.run_until_idle();
    return started;
  }

  std::int64_t members() {
    return look(gates.group("g").handle()).metric("members");
  }

  lines started;
  std::map<std::string, caf::actor> workers;
};
CAISSON_ALL_ORDERS(group_set_world);

TEST_P(group_set_world, workers_restart_by_rank) {
  start(grouped("strategy = 'rest_for_one'"));
  EXPECT_EQ(members(), 2);
  EXPECT_EQ(restarted_with("first"), (lines{"first", "second"}));
  EXPECT_EQ(restarted_with("second"), (lines{"second"}));
  EXPECT_FALSE(gates.group("h").handle());
}

TEST_P(group_set_world, a_reload_changes_a_group) {
  start(grouped(""));
  auto group = gates.group("g").handle();
  auto self = world.make_probe();
  self.send(gates.controller(), subscribe{});
  world.run_until_idle();
  EXPECT_EQ(changes_of(load(grouped("strategy = 'one_for_one'"))),
            (lines{": group g: strategy = one_for_one (was one_for_all)"}));
  auto events = self.received_as<event>();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].gate, "");
  EXPECT_EQ(events[0].detail,
            "group g: strategy = one_for_one (was one_for_all)");
  EXPECT_EQ(gates.group("g").handle(), group);
  EXPECT_EQ(restarted_with("first"), (lines{"first"}));
  // The file wins.
  ASSERT_TRUE(
    world.request(group, reconfigure{{}, {{"strategy", "one_for_all"}}}).ok());
  EXPECT_EQ(changes_of(load(grouped("strategy = 'one_for_one'"))),
            (lines{": group g: strategy = one_for_one (was one_for_all)"}));
  EXPECT_EQ(changes_of(load(grouped("strategy = 'one_for_one'"))), lines{});
  EXPECT_EQ(restarted_with("first"), (lines{"first"}));
}

TEST_P(group_set_world, a_gate_that_runs_keeps_its_group) {
  start(grouped(""));
  auto keeps = [&](const std::string& text) {
    auto report = load(text);
    EXPECT_EQ(report.problems,
              (lines{file().string()
                     + ":4:19: gates.a.worker: a gate that runs keeps its "
                       "group and rank; give the gate another name"}));
  };
  keeps(grouped("", "rank = 3"));
  keeps("[groups.g]\n\n[gates.a]\nworker = { name = 'second' }\n"
        "[gates.b]\n"
        "worker = { name = 'first', group = 'g', rank = 1 }\n");
}

TEST_P(group_set_world, groups_come_and_go) {
  start("[gates.c]\nworker = 'doubles'\n");
  EXPECT_FALSE(gates.group("g").handle());
  auto both = grouped("") + "[gates.c]\nworker = 'doubles'\n";
  EXPECT_EQ(changes_of(load(both)),
            (lines{": group g: added", "a: added", "b: added"}));
  EXPECT_EQ(restarted_with("second"), (lines{"first", "second"}));
  // A gate comes to a group that runs.
  EXPECT_EQ(changes_of(load(both
                            + "[gates.d.worker]\nname = 'doubles'\n"
                              "group = 'g'\n")),
            (lines{"d: added"}));
  EXPECT_EQ(members(), 3);
  EXPECT_EQ(
    changes_of(load("[gates.c]\nworker = 'doubles'\n")),
    (lines{": group g: removed", "a: removed", "b: removed", "d: removed"}));
  EXPECT_FALSE(gates.group("g").handle());
}

TEST_P(group_set_world, a_group_that_was_stopped_is_made_anew) {
  start(grouped(""));
  world.kill(gates.group("g").handle());
  EXPECT_EQ(restarted_with("first"), lines{"first"});
  EXPECT_EQ(changes_of(load(grouped(""))), lines{": group g: added"});
  // Gates that run go on alone.
  EXPECT_EQ(members(), 0);
  EXPECT_EQ(restarted_with("first"), lines{"first"});
}

TEST_P(group_set_world, a_group_that_has_given_up_starts_again) {
  start(grouped("max_restarts = 0"));
  EXPECT_EQ(restarted_with("first"), lines{});
  EXPECT_TRUE(portable::is_down(gates.find("a")));
  EXPECT_TRUE(portable::is_down(gates.find("b")));
  EXPECT_EQ(changes_of(load(grouped("max_restarts = 1"))),
            (lines{": group g: max_restarts = 1 (was 0)", "a: started again",
                   "b: started again"}));
  EXPECT_EQ(world.request(gates.find("a"), 4).value<int>(), 8);
  EXPECT_EQ(restarted_with("first"), (lines{"first", "second"}));
}

TEST_P(group_set_world, groups_of_workers_that_others_make_are_refused) {
  const std::string bad = "[groups.g]\n"
                          "[gates.a]\nworker = 'first'\n"
                          "[gates.b]\n"
                          "worker = { name = 'mute', group = 'g' }\n"
                          "[gates.d]\n"
                          "worker = { name = 'mute', group = 'g' }\n";
  auto why = [this](int line, const std::string& gate) {
    return file().string() + ":" + std::to_string(line) + ":19: gates." + gate
           + ".worker.group: cannot be made: the gate does not make this "
             "worker";
  };
  dir.write("gates.toml", bad);
  try {
    gates = spawn_gates(world, file(), names);
    FAIL();
  } catch (const config_error& e) {
    lines found;
    for (const auto& x : e.all())
      found.push_back(to_text(x));
    EXPECT_EQ(found, (lines{why(5, "b"), why(7, "d")}));
  }
  world.run_until_idle();
  EXPECT_EQ(started, lines{});
  start("[gates.c]\nworker = 'doubles'\n");
  EXPECT_EQ(load(bad).problems, (lines{why(5, "b"), why(7, "d")}));
  EXPECT_EQ(gates.names(), lines{"c"});
  EXPECT_FALSE(gates.group("g").handle());
  world.run_until_idle();
  EXPECT_EQ(started, lines{});
}

} // namespace
} // namespace caisson::test
