// Reloads that come at a bad moment, or meet layers that throw.
#include <support/gate_sets.hpp>

#include <caisson/gate/worker_kind.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// -- a layer that refuses to start --------------------------------------------

struct balky_config {
  std::string name = {};
  caisson::mode mode = mode::enforce;
  bool starts = true;
  bool is_sane = true;
};

void describe(field_visitor& v, balky_config& c) {
  describe_common(v, c);
  v.on({"starts", "whether the layer does not throw as it starts"}, c.starts);
  v.on({"is_sane", "whether it throws no number then"}, c.is_sane);
}

enum class balky_counter : std::uint8_t { passed, count_ };

} // namespace
} // namespace caisson::test

template <>
struct caisson::enum_names<caisson::test::balky_counter> {
  static constexpr std::string_view value[] = {"passed"};
};

namespace caisson::test {
namespace {

class balky final : public policy_base<balky, balky_config, balky_counter> {
public:
  static constexpr std::string_view kind_name = "balky";

  explicit balky(balky_config c) : policy_base(std::move(c)) {}

  decision admit(call_info&, slot&, env&) override {
    count(balky_counter::passed);
    return decision::pass();
  }
  decision complete(call_info&, slot&, outcome&, env&) override {
    return decision::pass();
  }
  void abandon(call_info&, slot&, const outcome&, bool, env&) override {}
};

class balky_layer final : public policy_layer<balky> {
public:
  explicit balky_layer(const balky_config& c) : policy_layer<balky>(c) {}

  void start_in(caf::actor_system&) override {
    if (!machine().config().starts)
      throw std::runtime_error{"not today"};
    if (!machine().config().is_sane)
      throw 42;
  }
};

} // namespace
} // namespace caisson::test

template <>
struct caisson::layer_of<caisson::test::balky> {
  using type = caisson::test::balky_layer;
};

namespace caisson::test {
namespace {

struct berth_config {
  std::string url = "a";
};

void describe(field_visitor& v, berth_config& c) {
  v.on({"url", "the server"}, c.url);
}

class reload_troubles : public gate_set_world {
protected:
  void SetUp() override {
    if (!find_policy_kind("balky"))
      add_policy_kind<balky>();
    gate_set_world::SetUp();
  }
};

CAISSON_ALL_ORDERS(reload_troubles);

TEST_P(reload_troubles, a_layer_that_throws_leaves_its_gate_as_it_was) {
  auto text = [](const char* layers, int threshold) {
    return std::string{"[gates.a]\nworker = 'doubles'\nlayer = ["} + layers
           + "{ kind = 'semaphore', permits = 3 }]\n"
             "[gates.b]\nworker = 'doubles'\n"
             "layer = [{ kind = 'breaker', threshold = "
           + std::to_string(threshold) + " }]\n";
  };
  start(text("", 3));
  auto report = load(text("{ kind = 'balky', starts = false }, "
                          "{ kind = 'limiter', rate = 1 }, ",
                          4));
  EXPECT_EQ(report.problems,
            (lines{file().string() + ": gates.a: not changed: not today"}));
  ASSERT_EQ(report.changes.size(), 1u);
  EXPECT_EQ(report.changes[0].gate, "b");
  auto a = gates.find("a");
  ASSERT_EQ(look(a).layers.size(), 1u);
  for (auto i = 0; i < 3; ++i)
    EXPECT_EQ(world.request(a, 4).value<int>(), 8);
  EXPECT_EQ(changes_of(load(text("{ kind = 'balky' }, ", 4))),
            (lines{"a balky: added"}));
  EXPECT_EQ(world.request(a, 4).value<int>(), 8);
}

TEST_P(reload_troubles, whatever_is_thrown_the_gates_stay) {
  names.add_kind(worker_kind::of<berth_config>(
    "berth", [](const berth_config& c, const supervision_config&) -> worker {
      if (c.url == "maker")
        throw 42;
      return worker::supervised([](caf::actor_system&) {
        return caf::expected<caf::actor>{caf::sec::runtime_error};
      });
    }));
  auto text = [](const char* more) {
    return std::string{"[gates.a]\nworker = 'doubles'\n"
                       "layer = [{ kind = 'semaphore' }]\n"}
           + more;
  };
  start(text(""));
  auto a = gates.find("a");
  EXPECT_EQ(load(text("[gates.b]\n"
                      "worker = { kind = 'berth', url = 'maker' }\n"))
              .problems,
            (lines{file().string()
                   + ":5:10: gates.b: cannot be made: unknown exception"}));
  EXPECT_EQ(
    load("[gates.a]\nworker = 'doubles'\nlayer = [\n"
         "{ kind = 'balky', is_sane = false }]\n")
      .problems,
    (lines{file().string() + ": gates.a: not changed: unknown exception"}));
  EXPECT_EQ(world.request(a, 4).value<int>(), 8);
  EXPECT_EQ(changes_of(load(text(""))), lines{});
}

// The same for parts of layers that cannot be changed while it runs.
TEST_P(reload_troubles, parts_that_a_gate_may_not_have_are_made_again) {
  names.add_kind(worker_kind::of<berth_config>(
    "berth", [&](const berth_config&, const supervision_config& s) {
      return worker::supervised(
        [&](caf::actor_system&) {
          return caf::expected<caf::actor>{
            scripted_worker{world, test::doubles()}.handle()};
        },
        s);
    }));
  auto text = [](const char* url, int value, const char* layers = "") {
    return "[gates.a]\nworker = { kind = 'berth', url = '"s + url
           + "' }\nlayer = [" + layers
           + "{ kind = 'fallback', alternatives = [{ value = "
           + std::to_string(value) + ", type = 'int32' }] }]\n";
  };
  constexpr auto* throws = "{ kind = 'balky', starts = false }, ";
  start(text("a", 1));
  for (auto i = 0; i < 3; ++i)
    EXPECT_FALSE(load(text("b", 2, throws)).ok());
  auto again = changes_of(load(text("a", 1)));
  EXPECT_EQ(again, (lines{"a: worker: made again, as it is not known which one "
                          "it is",
                          "a fallback: removed", "a fallback: added"}));
  EXPECT_EQ(changes_of(load(text("a", 1))), lines{});
  // A gate that keeps its worker says itself that it has changed nothing.
  EXPECT_FALSE(load(text("a", 2, throws)).ok());
  EXPECT_EQ(changes_of(load(text("a", 1))), lines{});
}

// Whether it has the worker is not known of a gate that did not say.
TEST_P(reload_troubles, a_worker_that_a_gate_may_not_have_is_made_again) {
  std::string urls;
  names.add_kind(worker_kind::of<berth_config>(
    "berth", [&](const berth_config& c, const supervision_config& s) {
      return worker::supervised(
        [&, c](caf::actor_system&) {
          urls += c.url;
          return caf::expected<caf::actor>{
            scripted_worker{world, test::doubles()}.handle()};
        },
        s);
    }));
  auto text = [](const std::string& url, const char* layers = "") {
    return "[gates.a]\nworker = { kind = 'berth', url = '" + url
           + "' }\nlayer = [" + layers + "{ kind = 'semaphore' }]\n";
  };
  constexpr auto* throws = "{ kind = 'balky', starts = false }, ";
  start(text("a"));
  EXPECT_FALSE(load(text("b", throws)).ok());
  EXPECT_EQ(changes_of(load(text("a"))),
            (lines{"a: worker: made again, as it is not known which one it "
                   "is"}));
  EXPECT_EQ(changes_of(load(text("a"))), lines{});
  EXPECT_FALSE(load(text("b", throws)).ok());
  EXPECT_EQ(changes_of(load(text("b"))),
            (lines{"a: worker: url = \"b\" (was \"a\")"}));
  EXPECT_EQ(changes_of(load(text("b"))), lines{});
  EXPECT_EQ(urls, "aab");
  EXPECT_EQ(world.request(gates.find("a"), 4).value<int>(), 8);
}

TEST_P(reload_troubles, a_bad_file_in_the_middle_of_a_reload) {
  auto self = world.make_probe();
  std::optional<pending_answer> second;
  // Called when the first file has been read and the gates were asked.
  names.add_maker("late", [&](const supervision_config&) {
    dir.write("gates.toml", "[gates.a]\nworker = 'doubles'\n[gates.");
    second = self.request(gates.controller(), reload{});
    return worker{mute.handle()};
  });
  start("[gates.a]\nworker = 'doubles'\n"
        "layer = [{ kind = 'breaker', threshold = 3 }]\n");
  auto report = load("[gates.a]\nworker = 'doubles'\n"
                     "layer = [{ kind = 'breaker', threshold = 4 }]\n"
                     "[gates.late]\nworker = 'late'\n");
  EXPECT_EQ(changes_of(report),
            (lines{"a breaker: threshold = 4 (was 3)", "late: added"}));
  world.run_until_idle();
  ASSERT_TRUE(second);
  ASSERT_EQ(second->count(), 1u);
  EXPECT_FALSE(second->value<reload_report>().ok());
  EXPECT_EQ(gates.names(), (lines{"a", "late"}));
  EXPECT_EQ(look(gates.find("a")).layer("breaker").config.at("threshold"), "4");
}

TEST_P(reload_troubles, a_file_that_is_cut_off_or_gone_removes_no_gate) {
  start("[gates.a]\nworker = 'doubles'\n");
  EXPECT_EQ(load("").problems,
            (lines{file().string() + ": gates: is missing or empty"}));
  EXPECT_EQ(load("# only this\n[default]\n").problems.size(), 1u);
  std::filesystem::remove(file());
  auto report = world.request(gates.controller(), reload{})
                  .value<reload_report>();
  EXPECT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(gates.names(), (lines{"a"}));
  EXPECT_EQ(world.request(gates.find("a"), 4).value<int>(), 8);
}

TEST_P(reload_troubles, those_who_do_not_wait_take_no_place) {
  start("[gates.a]\nworker = 'doubles'\n");
  dir.write("gates.toml", "[gates.b]\nworker = 'doubles'\n");
  auto self = world.make_probe();
  for (auto i = 0; i < 1000; ++i)
    portable::send_anon(gates.controller(), reload{});
  auto answer = self.request(gates.controller(), reload{});
  world.run_until_idle();
  ASSERT_EQ(answer.count(), 1u);
  EXPECT_TRUE(answer.value<reload_report>().ok());
  EXPECT_EQ(gates.names(), (lines{"b"}));
}

TEST_P(reload_troubles, a_gate_that_comes_back_does_not_wait_for_the_old_one) {
  auto text = "[gates.a]\nworker = 'mute'\n"
              "layer = [{ kind = 'semaphore', permits = 1 }]\n";
  start(text);
  auto old = gates.find("a");
  auto held = world.request(old, 1);
  EXPECT_EQ(changes_of(load("[gates.b]\nworker = 'none'\n")),
            (lines{"a: removed", "b: added"}));
  EXPECT_EQ(changes_of(load(text)), (lines{"a: added", "b: removed"}));
  auto other = world.request(gates.find("a"), 2);
  EXPECT_EQ(mute.open(), 2u);
  mute.answer(5);
  mute.answer(6);
  EXPECT_EQ(held.value<int>(), 5);
  EXPECT_EQ(other.value<int>(), 6);
  world.run_until_idle();
  EXPECT_TRUE(portable::is_down(old));
}

TEST_P(reload_troubles, the_text_of_who_asks_is_cut) {
  start("[gates.a]\nworker = 'doubles'\n");
  auto self = world.make_probe();
  self.send(gates.controller(), subscribe{});
  world.run_until_idle();
  dir.write("gates.toml", "[gates.b]\nworker = 'doubles'\n");
  portable::send_anon(gates.controller(), reload{std::string(100'000, 'x')});
  world.run_until_idle();
  auto events = self.received_as<event>();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].to.size(), 256u);
}

} // namespace
} // namespace caisson::test
