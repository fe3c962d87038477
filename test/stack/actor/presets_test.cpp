// The ready stacks: what they promise in docs/presets.md.
#include "support/world.hpp"

#include <caisson/config/stack_toml.hpp>
#include <caisson/presets.hpp>
#include <caisson/settings/toml.hpp>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class presets_test : public world_test {
protected:
  caf::actor preset(const std::string& name, const scripted_worker& w) {
    return gate(w.handle(), presets::named(name).value());
  }
};
CAISSON_ALL_ORDERS(presets_test);

TEST_P(presets_test, all_are_valid_and_answer) {
  for (auto name : presets::names()) {
    auto w = make_worker(doubles());
    auto s = presets::named(name, "mine").value();
    EXPECT_TRUE(s.check().empty()) << name;
    EXPECT_EQ(s.config().name, "mine");
    EXPECT_EQ(world.request(gate(w.handle(), s), 4).value<int>(), 8) << name;
  }
  EXPECT_FALSE(presets::named("none"));
}

TEST_P(presets_test, are_used_like_any_stack) {
  auto database = make_worker(doubles()).handle();
  // [use]
  auto catalog = spawn_gate(world, database, presets::reads("catalog"));
  // [/use]
  own(caf::actor{catalog});
  EXPECT_EQ(world.request(catalog, 1).value<int>(), 2);
  auto changed = world.request(catalog,
                               reconfigure{"attempt", {{"timeout", "300ms"}}});
  EXPECT_TRUE(changed.ok());
}

TEST_P(presets_test, open_on_a_worker_that_hangs) {
  for (auto name : {"standard", "reads", "writes", "background"}) {
    auto w = make_worker();
    auto g = preset(std::string{name}, w);
    for (auto i = 0; i < 50; ++i)
      world.request(g, i);
    for (auto i = 0; i < 900 && state_of(g, "breaker") != "open"; ++i)
      world.advance(1s);
    EXPECT_EQ(state_of(g, "breaker"), "open") << name;
  }
}

TEST_P(presets_test, answer_every_call_by_their_deadline) {
  for (auto [name, limit] : {std::pair<const char*, duration>{"standard", 10s},
                             {"reads", 2s},
                             {"writes", 10s},
                             {"background", 10min},
                             {"server", 10s}}) {
    auto w = make_worker();
    auto g = preset(name, w);
    auto answer = world.request(g, 1);
    world.advance(limit);
    EXPECT_TRUE(answer.ready()) << name;
    EXPECT_EQ(answer.count(), 1u) << name;
  }
}

TEST_P(presets_test, repeat_what_they_say) {
  for (auto [name, attempts] :
       {std::pair<const char*, std::size_t>{"standard", 1},
        {"reads", 3},
        {"writes", 1},
        {"background", 10},
        {"server", 1}}) {
    auto w = make_worker(scripted_worker::always_reply(
      scripted_worker::reply::error(caf::sec::runtime_error)));
    auto g = preset(name, w);
    auto answer = world.request(g, 1);
    world.advance(10min);
    EXPECT_FALSE(answer.ok());
    EXPECT_EQ(metric_of(g, "attempts"), static_cast<std::int64_t>(attempts))
      << name;
  }
}

// -- the server ---------------------------------------------------------------

TEST_P(presets_test, let_ten_calls_hang_in_a_server_that_does) {
  auto w = make_worker();
  auto g = preset("server", w);
  for (auto i = 0; i < 200; ++i) {
    for (auto k = 0; k < 30; ++k)
      world.request(g, k);
    world.advance(1s);
  }
  EXPECT_EQ(metric_of(g, "limit", "limit"), 10);
  EXPECT_LE(metric_of(g, "limit", "in_use"), 10);
}

TEST_P(presets_test, let_a_server_fail_without_fewer_calls) {
  auto w = make_worker(scripted_worker::always_reply(
    scripted_worker::reply::error(caf::sec::runtime_error)));
  auto g = preset("server", w);
  for (auto i = 0; i < 300; ++i) {
    world.request(g, i);
    world.advance(100ms);
  }
  EXPECT_EQ(metric_of(g, "limit", "limit"), 100);
}

TEST_P(presets_test, prefer_what_matters_in_a_full_server) {
  auto w = make_worker();
  auto g = preset("server", w);
  for (auto i = 0; i < 200; ++i)
    world.request(g, i);
  EXPECT_TRUE(world.request(g, -1).is(errc::queue_full));
  auto important = world.request(g, wrap(1'000).priority(1));
  EXPECT_FALSE(important.ready());
  EXPECT_EQ(metric_of(g, "limit", "evicted"), 1);
  w.answer(0);
  EXPECT_EQ(w.open_as<int>(99), 1'000) << "it is the next one";
}

TEST_P(presets_test, reject_what_a_server_would_answer_too_late) {
  auto w = make_worker(scripted_worker::always_reply(
    scripted_worker::reply::value(1).after(90ms)));
  auto g = preset("server", w);
  for (auto i = 0; i < 1'000; ++i) {
    world.request(g, i);
    world.advance(1ms);
  }
  for (auto i = 0; i < 100; ++i)
    world.request(g, i);
  EXPECT_TRUE(world.request(g, wrap(1).within(50ms)).is(errc::shed));
}

TEST_P(presets_test, are_known_in_toml) {
  problems out;
  auto root = parse_toml("[stack.catalog]\npreset = \"reads\"\nseed = 7",
                         "here", out);
  auto file = read_stacks(root, out);
  ASSERT_TRUE(out.empty()) << to_text(out);
  const auto& s = file.stacks.at("catalog").policies;
  EXPECT_EQ(s.names(), presets::reads().names());
  EXPECT_EQ(s.config().name, "catalog");
  EXPECT_EQ(s.config().seed, 7);
}

} // namespace
} // namespace caisson::test
