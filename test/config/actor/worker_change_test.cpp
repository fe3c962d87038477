// A file that describes other workers than before, while calls are in flight.
#include <caisson/gate/worker_kind.hpp>

#include <support/gate_sets.hpp>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct pier_config {
  std::string url = "a";
  std::string token = {};
};

void describe(field_visitor& v, pier_config& c) {
  v.on({"url", "the server"}, c.url);
  v.on({"token", "the password"}, c.token);
}

// Workers by their `url`; the test answers for them. One called `down` cannot
// be made, `broken` throws, and `slow` takes until the test makes it.
class worker_change : public gate_set_world {
protected:
  void SetUp() override {
    gate_set_world::SetUp();
    auto make = [this](const pier_config& c, const supervision_config& s) {
      if (c.url == "broken")
        throw std::runtime_error{"out of order"};
      return worker::supervised(
        [this, c](caf::actor_system&) -> caf::expected<caf::actor> {
          if (c.url == "down" && !is_up)
            return caf::sec::cannot_connect_to_node;
          auto x = std::make_shared<scripted_worker>(world);
          workers[c.url] = x;
          return x->handle();
        },
        s);
    };
    names.add_kind(worker_kind::of<pier_config>(
      "pier", make,
      {.secrets = {"token"}, .supervision = {.max_restarts = 3}}));
  }

  void TearDown() override {
    gate_set_world::TearDown();
    for (auto& [url, x] : workers)
      EXPECT_TRUE(portable::is_down(x->handle())) << url;
  }

  static std::string gate_at(const std::string& url,
                             const std::string& more = {}) {
    return "[gates.a]\nworker = { kind = 'pier', url = '" + url + "'" + more
           + " }\n";
  }

  scripted_worker& at(const std::string& url) { return *workers.at(url); }

  bool is_up = false;
  std::map<std::string, std::shared_ptr<scripted_worker>> workers;
};

CAISSON_ALL_ORDERS(worker_change);

TEST_P(worker_change, makes_another_one_and_loses_no_call) {
  start(gate_at("a"));
  auto a = gates.find("a");
  auto first = world.request(a, 1);
  auto second = world.request(a, 2);
  ASSERT_EQ(at("a").open(), 2u);
  EXPECT_EQ(changes_of(load(gate_at("b"))),
            (lines{"a: worker: url = \"b\" (was \"a\")"}));
  EXPECT_EQ(gates.find("a"), a);
  auto third = world.request(a, 3);
  EXPECT_EQ(at("a").open(), 2u);
  EXPECT_EQ(at("b").open(), 1u);
  at("a").answer(10);
  EXPECT_FALSE(portable::is_down(at("a").handle()));
  at("b").answer(30);
  at("a").answer(20);
  EXPECT_EQ(first.value<int>(), 10);
  EXPECT_EQ(second.value<int>(), 20);
  EXPECT_EQ(third.value<int>(), 30);
  world.run_until_idle();
  EXPECT_TRUE(portable::is_down(at("a").handle()));
}

TEST_P(worker_change, is_none_if_the_settings_are_the_same) {
  start(gate_at("a"));
  EXPECT_EQ(changes_of(load(gate_at("a"))), lines{});
  EXPECT_EQ(changes_of(load(gate_at("a", ", supervision.max_restarts = 4"))),
            (lines{"a: worker: max_restarts = 4 (was 3)"}));
  EXPECT_EQ(changes_of(load("[gates.a.worker]\nkind = 'pier'\n"
                            "supervision.max_restarts = 4\n")),
            lines{});
}

TEST_P(worker_change, shows_no_secret) {
  start(gate_at("a", ", token = 'hunter1'"));
  auto self = world.make_probe();
  self.send(gates.find("a"), subscribe{});
  world.run_until_idle();
  EXPECT_EQ(changes_of(load(gate_at("b", ", token = 'hunter2'"))),
            (lines{"a: worker: url = \"b\" (was \"a\"), token = another one"}));
  for (const auto& x : self.received_as<event>())
    EXPECT_EQ(x.detail.find("hunter"), std::string::npos) << x.detail;
}

TEST_P(worker_change, keeps_the_worker_until_another_one_can_be_made) {
  start(gate_at("a"));
  auto a = gates.find("a");
  EXPECT_TRUE(load(gate_at("down")).ok());
  auto x = world.request(a, 1);
  at("a").answer(2);
  EXPECT_EQ(x.value<int>(), 2);
  is_up = true;
  world.advance(10s);
  auto y = world.request(a, 1);
  at("down").answer(3);
  EXPECT_EQ(y.value<int>(), 3);
  EXPECT_TRUE(portable::is_down(at("a").handle()));
}

TEST_P(worker_change, brings_a_worker_back_that_was_given_up) {
  start(gate_at("down", ", supervision = { on_give_up = 'refuse' }"));
  world.advance(1min);
  auto a = gates.find("a");
  EXPECT_TRUE(world.request(a, 1).is(errc::worker_down));
  EXPECT_TRUE(
    load(gate_at("b", ", supervision = { on_give_up = 'refuse' }")).ok());
  auto x = world.request(a, 1);
  at("b").answer(2);
  EXPECT_EQ(x.value<int>(), 2);
}

TEST_P(worker_change, is_refused_as_a_whole_if_a_maker_throws) {
  start(gate_at("a") + "[gates.b]\nworker = 'doubles'\nmax_calls = 5\n");
  auto report = load(gate_at("broken")
                     + "[gates.b]\nworker = 'doubles'\nmax_calls = 6\n");
  EXPECT_EQ(
    report.problems,
    (lines{file().string() + ":2:10: gates.a: cannot be made: out of order"}));
  auto x = world.request(gates.find("a"), 1);
  at("a").answer(2);
  EXPECT_EQ(x.value<int>(), 2);
}

TEST_P(worker_change, is_none_of_kind_or_name) {
  start(gate_at("a") + "[gates.b]\nworker = 'doubles'\n");
  auto report = load("[gates.a]\nworker = 'doubles'\n"
                     "[gates.b]\nworker = { kind = 'pier' }\n");
  EXPECT_EQ(report.problems,
            (lines{file().string()
                     + ":2:10: gates.a.worker: the worker of a gate that runs "
                       "stays of the kind \"pier\"; give the gate another name",
                   file().string()
                     + ":4:10: gates.b.worker: the worker of a gate that runs "
                       "stays \"doubles\"; give the gate another name"}));
}

TEST_P(worker_change, leaves_the_others_of_its_group_alone) {
  auto text = [](const std::string& url) {
    return "[groups.db]\nstrategy = 'one_for_all'\n"
           "[gates.a]\nworker = { kind = 'pier', url = '"
           + url
           + "', group = 'db' }\n"
             "[gates.b]\nworker = { kind = 'pier', url = 'x', group = 'db' }\n";
  };
  start(text("a"));
  auto other = at("x").handle();
  EXPECT_TRUE(load(text("b")).ok());
  world.run_until_idle();
  EXPECT_FALSE(portable::is_down(other));
  EXPECT_TRUE(portable::is_down(at("a").handle()));
  // It is still one of the group.
  world.kill(other);
  world.advance(10s);
  EXPECT_NE(at("x").handle(), other);
  auto x = world.request(gates.find("a"), 1);
  at("b").answer(2);
  EXPECT_EQ(x.value<int>(), 2);
}

TEST_P(worker_change, ends_both_workers_with_the_gates) {
  start(gate_at("a"));
  auto x = world.request(gates.find("a"), 1);
  EXPECT_TRUE(load(gate_at("b")).ok());
  auto y = world.request(gates.find("a"), 2);
  gates.stop();
  world.run_until_idle();
  EXPECT_TRUE(x.is(errc::cancelled));
  EXPECT_TRUE(y.is(errc::cancelled));
}

TEST_P(worker_change, comes_with_a_gate_that_leaves) {
  start(gate_at("a") + "[gates.b]\nworker = 'doubles'\n");
  auto x = world.request(gates.find("a"), 1);
  EXPECT_TRUE(load(gate_at("b") + "[gates.b]\nworker = 'doubles'\n").ok());
  EXPECT_TRUE(load("[gates.b]\nworker = 'doubles'\n").ok());
  at("a").answer(5);
  EXPECT_EQ(x.value<int>(), 5);
  world.run_until_idle();
  EXPECT_TRUE(portable::is_down(at("a").handle()));
  EXPECT_TRUE(portable::is_down(at("b").handle()));
}

} // namespace
} // namespace caisson::test
