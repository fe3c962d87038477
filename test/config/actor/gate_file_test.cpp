// All gates of a system in one file: what is read, and what is refused.
#include <caisson/config/detail/managed_groups.hpp>
#include <caisson/config/gate_file.hpp>
#include <caisson/presets.hpp>

#include <support/mutated_text.hpp>
#include <support/problem_texts.hpp>
#include <support/rounds.hpp>
#include <support/scratch.hpp>
#include <support/stack_texts.hpp>
#include <support/world.hpp>

#include <ostream>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using texts = std::vector<std::string>;

worker_names some_workers() {
  return worker_names{}
    .add("w", worker{})
    .add_factory("made", [](caf::actor_system&) {
      return caf::expected<caf::actor>{caf::actor{}};
    });
}

struct gate_files : testing::Test {
  gate_file read(std::string_view text) {
    problems found;
    auto out = read_gates(parsed(text), some_workers(), found, world);
    EXPECT_EQ(to_text(found), "");
    return out;
  }

  texts complaints(std::string_view text) {
    problems found;
    auto out = read_gates(parsed(text), some_workers(), found, world);
    EXPECT_TRUE(out.gates.empty() || found.empty());
    return kinds_and_keys(found);
  }

  virtual_time world;
};

// -- what is read -------------------------------------------------------------

TEST_F(gate_files, a_gate_is_a_stack_with_a_worker) {
  auto file = read("[gates.a]\n"
                   "worker = 'w'\n"
                   "default_deadline = '2s'\n"
                   "layer = [{ kind = 'breaker', threshold = 3 }]\n"
                   "[gates.b]\n"
                   "worker = 'none'\n"
                   "preset = 'reads'\n");
  ASSERT_EQ(file.gates.size(), 2u);
  const auto& a = file.gates.at("a");
  EXPECT_EQ(a.worker, "w");
  EXPECT_EQ(a.policies.policies.config().name, "a");
  EXPECT_EQ(a.policies.policies.config().default_deadline, 2s);
  EXPECT_EQ(a.policies.policies.names(), (texts{"breaker"}));
  EXPECT_EQ(a.place, "f:1:1");
  EXPECT_EQ(a.worker_place, "f:2:10");
  EXPECT_FALSE(
    worker_of(file.gates.at("b"), some_workers(), world).is_existing_actor());
}

TEST_F(gate_files, a_worker_may_have_settings_of_supervision) {
  auto file = read("[default]\nworker.max_restarts = 7\nworker.period = '1s'\n"
                   "[gates.a]\nworker = 'made'\n"
                   "[gates.b]\n"
                   "worker = { name = 'made', max_restarts = 1 }\n");
  const auto& a = file.gates.at("a").policies.supervision;
  const auto& b = file.gates.at("b").policies.supervision;
  EXPECT_EQ(a.max_restarts, 7u);
  EXPECT_EQ(b.max_restarts, 1u);
  EXPECT_EQ(b.period, 1s);
  auto worker = worker_of(file.gates.at("b"), some_workers(), world);
  EXPECT_TRUE(worker.is_supervised());
  EXPECT_EQ(worker.supervision().max_restarts, 1u);
}

TEST_F(gate_files, a_worker_may_be_a_registered_actor) {
  scripted_worker w{world};
  publish_name(world, "registered", w.handle());
  auto file = read("[gates.a]\nworker = 'registered'\n");
  EXPECT_EQ(worker_of(file.gates.at("a"), {}, world).handle(), w.handle());
  forget_name(world, "registered");
  world.kill(w.handle());
}

TEST_F(gate_files, a_worker_may_be_in_a_group) {
  auto file = read("[groups.db]\nstrategy = 'rest_for_one'\n"
                   "max_restarts = 2\n"
                   "[gates.a]\n"
                   "worker = { name = 'made', group = 'db', rank = 3 }\n"
                   "[gates.b]\nworker = { name = 'made', group = 'db' }\n"
                   "[gates.c]\nworker = 'made'\n");
  const auto& c = file.groups.at("db");
  EXPECT_EQ(c.strategy, group_strategy::rest_for_one);
  EXPECT_EQ(c.max_restarts, 2u);
  EXPECT_EQ(c.period, 30s);
  const auto& a = file.gates.at("a");
  EXPECT_EQ(a.group, "db");
  EXPECT_EQ(a.rank, 3u);
  EXPECT_EQ(file.gates.at("b").rank, 0u);
  EXPECT_EQ(file.gates.at("c").group, "");
  auto group = spawn_supervision_group(world, c);
  auto worker = worker_of(a, some_workers(), world, {{"db", group}});
  EXPECT_EQ(worker.group().handle(), group.handle());
  EXPECT_EQ(worker.rank(), 3u);
  EXPECT_FALSE(
    worker_of(file.gates.at("c"), some_workers(), world, {{"db", group}})
      .is_grouped());
}

TEST_F(gate_files, gates_are_spawned_by_rank) {
  gate_file file;
  file.gates["a"].rank = 2;
  file.gates["b"].rank = 1;
  file.gates["c"].rank = 2;
  file.gates["d"].rank = 0;
  EXPECT_EQ(detail::by_rank(file), (texts{"d", "b", "a", "c"}));
}

TEST_F(gate_files, only_workers_that_gates_make_can_be_in_a_group) {
  auto group = spawn_supervision_group(world);
  auto names = some_workers().add_maker("grouped", [&](auto& s) {
    return worker::supervised(
             [](caf::actor_system&) {
               return caf::expected<caf::actor>{caf::actor{}};
             },
             s)
      .in_group(group);
  });
  auto refused = [&](const std::string& name, const group_handles& groups) {
    gate_entry x;
    x.worker = name;
    x.group = "db";
    try {
      static_cast<void>(worker_of(x, names, world, groups));
    } catch (const config_error& e) {
      return kinds_and_keys(e.all());
    }
    return texts{};
  };
  const texts why{"relation worker.group"};
  EXPECT_EQ(refused("made", {{"db", group}}), texts{});
  EXPECT_EQ(refused("made", {}), why);
  EXPECT_EQ(refused("w", {{"db", group}}), why);
  EXPECT_EQ(refused("grouped", {{"db", group}}), why);
}

constexpr auto with_default = "[default]\n"
                              "default_deadline = '3s'\n"
                              "max_calls = 50\n"
                              "[[default.layer]]\n"
                              "kind = 'breaker'\n"
                              "threshold = 9\n"
                              "[[default.layer]]\n"
                              "kind = 'limiter'\n"
                              "name = 'rate'\n"
                              "per_key = { max_keys = 5 }\n";

TEST_F(gate_files, gates_have_what_they_do_not_state_from_the_default) {
  auto file = read(std::string{with_default}
                   + "[gates.a]\nworker = 'w'\nmax_calls = 7\n"
                     "[gates.b]\nworker = 'w'\nlayer = []\n"
                     "[gates.c]\nworker = 'w'\npreset = 'writes'\n");
  const auto& a = file.gates.at("a").policies.policies;
  EXPECT_EQ(a.config().default_deadline, 3s);
  EXPECT_EQ(a.config().max_calls, 7u);
  EXPECT_EQ(a.names(), (texts{"breaker", "rate"}));
  const auto& b = file.gates.at("b").policies.policies;
  EXPECT_EQ(b.config().default_deadline, 3s);
  EXPECT_EQ(b.size(), 0u);
  EXPECT_EQ(rows_in(file.gates.at("c").policies.policies).size(),
            rows_in(presets::named("writes").value()).size());
}

TEST_F(gate_files, single_settings_of_inherited_layers_can_be_changed) {
  auto file = read(std::string{with_default}
                   + "[gates.a]\nworker = 'w'\n"
                     "[gates.a.override.breaker]\nthreshold = 2\n"
                     "[gates.a.override.rate]\nper_key.idle = '1s'\n"
                     "[gates.b]\nworker = 'w'\n");
  auto has = [&](const char* gate, const std::string& row) {
    auto rows = rows_in(file.gates.at(gate).policies.policies);
    return std::any_of(rows.begin(), rows.end(), [&](auto& x) {
      return x.find(row) != std::string::npos;
    });
  };
  EXPECT_TRUE(has("a", "threshold = 2"));
  EXPECT_TRUE(has("a", "max_keys = 5"));
  EXPECT_TRUE(has("a", "idle = 1s"));
  EXPECT_TRUE(has("b", "threshold = 9"));
}

TEST_F(gate_files, inherited_layers_without_a_name_are_called_as_in_a_stack) {
  auto file = read("[default]\nlayer = [{ kind = 'breaker', name = '' }]\n"
                   "[gates.a]\nworker = 'w'\noverride.breaker.threshold = 3");
  auto rows = rows_in(file.gates.at("a").policies.policies);
  EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [](auto& x) {
    return x.find("threshold = 3") != std::string::npos;
  }));
}

TEST_F(gate_files, what_no_setting_says_of_a_layer_is_known) {
  auto file = read(
    "[gates.a]\nworker = 'w'\n"
    "layer = [{ kind = 'fallback', alternatives = [{ value = 1 }] },\n"
    "         { kind = 'breaker', threshold = 2 }]\n"
    "[gates.b]\nworker = 'w'\n"
    "layer = [{ kind = 'fallback', alternatives = [{ value = 2 }] },\n"
    "         { kind = 'breaker', threshold = 3 }]\n");
  const auto& a = file.gates.at("a").fixed;
  const auto& b = file.gates.at("b").fixed;
  ASSERT_EQ(a.size(), 2u);
  ASSERT_EQ(b.size(), 2u);
  EXPECT_NE(a[0], b[0]);
  EXPECT_EQ(a[1], b[1]);
}

// -- what is refused ----------------------------------------------------------

TEST_F(gate_files, every_mistake_is_reported_with_its_key) {
  struct {
    std::string text;
    texts expected;
  } const all[] = {
    {"gates = 1", {"type gates"}},
    {"[gates]\na = 1", {"type gates.a"}},
    {"default = 1", {"type default"}},
    {"[gates.a]", {"missing gates.a.worker"}},
    {"[gates.a]\nworker = 'x'", {"unknown gates.a.worker"}},
    {"[gates.a]\nworker = 3", {"type gates.a.worker"}},
    {"[gates.a.worker]\nname = 3", {"type gates.a.worker"}},
    {"[gates.a.worker]\nmax_restarts = 3", {"missing gates.a.worker"}},
    {"[gates.a.worker]\nname = 'w'\nmax_restarts = -1",
     {"range gates.a.worker.max_restarts"}},
    {"[gates.a]\nworker = 'w'\nmax_cals = 3", {"unknown gates.a.max_cals"}},
    {"[gates.a]\nworker = 'w'\nlayer = [{ kind = 'braker' }]",
     {"unknown gates.a.layer[0].kind"}},
    // Of two gates.
    {"[gates.a]\nworker = 'x'\n[gates.b]\nworker = 'w'\nmax_calls = 0",
     {"unknown gates.a.worker", "range gates.b.max_calls"}},
    // Of the default, once.
    {"[default]\nmax_calls = 0\n[gates.a]\nworker = 'w'\n"
     "[gates.b]\nworker = 'w'",
     {"range default.max_calls"}},
    {"[default]\nname = 'x'", {"relation default.name"}},
    {"[default]\noverride = {}", {"relation default.override"}},
    {"[default]\nworker = { name = 'w', group = 'g', rank = 1 }",
     {"relation default.worker.name", "relation default.worker.group",
      "relation default.worker.rank"}},
    // Of groups.
    {"groups = 1", {"type groups"}},
    {"[groups.g]\nstrategy = 'all'\nmax_restart = 1",
     {"range groups.g.strategy", "unknown groups.g.max_restart"}},
    {"[gates.a]\nworker = { name = 'made', group = 'g' }",
     {"unknown gates.a.worker.group"}},
    {"[gates.a]\nworker = { name = 'made', group = 3 }",
     {"type gates.a.worker.group"}},
    {"[groups.g]\n[gates.a]\nworker = { name = 'none', group = 'g' }",
     {"relation gates.a.worker.group"}},
    {"[gates.a]\nworker = { name = 'made', rank = 3 }",
     {"relation gates.a.worker.rank"}},
    {"[groups.g]\n[gates.a]\n"
     "worker = { name = 'made', group = 'g', rank = -1 }",
     {"range gates.a.worker.rank"}},
    {"[groups.g]\n[gates.a]\nworker = { name = 'made', groop = 'g' }",
     {"unknown gates.a.worker.groop"}},
    // A group with a mistake is known all the same.
    {"[groups.g]\nperiod = 0\n[gates.a]\n"
     "worker = { name = 'made', group = 'g' }",
     {"type groups.g.period"}},
    // Changes of inherited layers.
    {"[gates.a]\nworker = 'w'\noverride.x.y = 1",
     {"relation gates.a.override"}},
    {"[default]\nlayer = [{ kind = 'breaker' }]\n"
     "[gates.a]\nworker = 'w'\nlayer = []\noverride.breaker.threshold = 1",
     {"relation gates.a.override"}},
    {"[default]\nlayer = [{ kind = 'breaker' }]\n"
     "[gates.a]\nworker = 'w'\noverride.braker.threshold = 1",
     {"unknown gates.a.override.braker"}},
    {"[default]\nlayer = [{ kind = 'breaker' }]\n"
     "[gates.a]\nworker = 'w'\noverride.breaker.kind = 'limiter'",
     {"relation gates.a.override.breaker.kind"}},
    {"[default]\nlayer = [{ kind = 'breaker' }]\n"
     "[gates.a]\nworker = 'w'\noverride.breaker.threshold = 0",
     {"range gates.a.layer[0].threshold"}},
  };
  for (const auto& x : all)
    EXPECT_EQ(complaints(x.text), x.expected) << x.text;
}

TEST_F(gate_files, an_override_is_reported_where_it_stands) {
  problems found;
  auto out = read_gates(parsed("[default]\nlayer = [{ kind = 'breaker' }]\n"
                               "[gates.a]\nworker = 'w'\n"
                               "override.breaker.threshold = 0"),
                        some_workers(), found, world);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, "f:5:30");
}

TEST_F(gate_files, a_file_has_nothing_else) {
  scratch_dir dir;
  auto path = dir.write("g.toml", "[gate.a]\nworker = 'w'\n");
  problems found;
  EXPECT_TRUE(read_gate_file(path, some_workers(), found, world).gates.empty());
  EXPECT_EQ(kinds_and_keys(found), (texts{"unknown gate"}));
  found.clear();
  EXPECT_TRUE(read_gate_file(dir / "none", {}, found, world).gates.empty());
  EXPECT_EQ(kinds_and_keys(found), (texts{"syntax "}));
}

// -- files with random changes ------------------------------------------------

constexpr auto rich_file = R"(
[default]
default_deadline = "2s"
layer = [{ kind = "breaker", threshold = 3 }]
[groups.backends]
strategy = "one_for_all"
[gates.a]
worker = "w"
seed = 4
[[gates.a.layer]]
kind = "deadline"
timeout = "100ms"
[[gates.a.layer]]
kind = "breaker"
name = "guard"
trip = "rate_by_count"
failure_rate = 0.5
open = { kind = "exponential", base = "1s", max = "1min" }
[[gates.a.layer]]
kind = "retrier"
max_attempts = 3
retry_on = ["class:retry"]
backoff = { kind = "constant", base = "10ms" }
[[gates.a.layer]]
kind = "limiter"
rate = 100
[gates.b]
worker = { name = "made", group = "backends", rank = 1, max_restarts = 5 }
override = { breaker = { threshold = 9 } }
[gates.c]
worker = "none"
layer = [{ kind = "semaphore", permits = 3 }, { kind = "cache", ttl = "5s" }]
)";

// Each is read, or refused with a place or a key, and a reason.
TEST_F(gate_files, with_random_changes_are_read_or_refused_with_a_reason) {
  const auto files = rounds(1'500);
  std::uint64_t good = 0;
  for (std::uint64_t seed = 1; seed <= files; ++seed) {
    random_source random{seed};
    auto text = mutated(rich_file, random);
    problems found;
    auto out = read_gates(parse_toml(text, "g.toml", found), some_workers(),
                          found, world);
    good += found.empty();
    ASSERT_TRUE(found.empty() || out.gates.empty()) << text;
    for (const auto& p : found)
      ASSERT_TRUE(!p.message.empty() && (!p.place.empty() || !p.key.empty()))
        << "seed " << seed << ": " << to_text(p) << "\n"
        << text;
  }
  EXPECT_GT(good, files / 120);
  EXPECT_LT(good, files * 3 / 4);
}

TEST(worker_names_, are_given_once) {
  auto names = some_workers();
  EXPECT_THROW(names.add("w", worker{}), config_error);
  EXPECT_THROW(names.add("none", worker{}), config_error);
  EXPECT_THROW(names.add("", worker{}), config_error);
  EXPECT_EQ(names.names(), (texts{"made", "w"}));
  EXPECT_EQ(names.find("x"), nullptr);
}

} // namespace
} // namespace caisson::test
