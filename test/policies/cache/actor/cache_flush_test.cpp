// Calls that reach a worker when its cache is emptied under load.
#include <caisson/stack/layers/cache_layer.hpp>

#include <support/world.hpp>

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// 300 calls a second for 500 keys, some much more often than others, in front
// of a worker that takes 50 ms.
class cache_flush_test : public testing::Test {
protected:
  static constexpr std::size_t keys = 500;

  cache_flush_test()
    : gate(spawn_gate(
      world, w.handle(),
      stack{}.cache({.ttl = 60s},
                    cache_forms::keyed_by<std::int32_t>(
                      [](std::int32_t x) { return std::to_string(x); })))) {}

  ~cache_flush_test() override {
    world.kill(gate);
    world.kill(w.handle());
  }

  void ask_for(duration time) {
    constexpr auto tick = 10ms;
    for (auto t = duration::zero(); t < time; t += tick) {
      for (int i = 0; i < 3; ++i)
        answers.push_back(world.request(gate, draw()));
      world.advance(tick);
    }
  }

  std::int32_t draw() {
    std::uniform_real_distribution<> u;
    auto x = u(random);
    return static_cast<std::int32_t>(static_cast<double>(keys) * x * x * x);
  }

  virtual_time world;
  scripted_worker w{world, scripted_worker::always_reply(
                             scripted_worker::reply::value(1).after(50ms))};
  caf::actor gate;
  std::mt19937 random{1};
  std::vector<pending_answer> answers;
};

TEST_F(cache_flush_test, each_key_is_asked_for_once) {
  ask_for(20s);
  auto before = w.count();
  EXPECT_LE(before, keys);
  world.request(gate, command{operator_command::reset, "cache"});
  // Nothing expires within this time.
  ask_for(20s);
  auto after = w.count() - before;
  EXPECT_GT(after, keys / 2);
  EXPECT_LE(after, keys);
  world.advance(1s);
  for (auto& x : answers)
    ASSERT_TRUE(x.ok());
  EXPECT_EQ(answers.size(), 12'000u);
}

} // namespace
} // namespace caisson::test
