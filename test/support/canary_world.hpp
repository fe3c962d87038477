// A canary in a gate or a local gate, in virtual time.
#pragma once

#include <caisson/canary_layer.hpp>

#include <support/local_proxy.hpp>
#include <support/world.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace caisson::test::canaries {

/// All calls go to the canary, and it stays in that stage.
inline canary_config all_calls() {
  return {.stages = {1.0}, .dwell = unlimited};
}

/// None does, but each is mirrored.
inline canary_config all_mirrored() {
  return {.stages = {0.000001},
          .min_calls = 1'000'000,
          .mirror_rate = 1,
          .max_difference_rate = 1};
}

inline scripted_worker::script triples() {
  return scripted_worker::on<int>([](int x) { return x * 3; });
}

inline scripted_worker::script fails() {
  return scripted_worker::always_reply(
    scripted_worker::reply::error(caf::sec::runtime_error));
}

class canary_world : public testing::TestWithParam<std::tuple<host_kind, int>> {
protected:
  canary_world()
    : world(std::get<1>(GetParam()) == 0
              ? std::optional<std::uint64_t>{}
              : std::optional<std::uint64_t>(std::get<1>(GetParam()))),
      baseline(world, doubles()), second(world, doubles()) {}

  void TearDown() override {
    for (auto& x : std::exchange(owned, {}))
      world.kill(x);
    world.kill(baseline.handle());
    world.kill(second.handle());
    world.run_until_idle();
    EXPECT_EQ(world.timers(), 0u);
    EXPECT_EQ(world.actors(), 0u);
  }

  caf::actor host(stack s, bool told_of_cancelled = false) {
    auto behind = worker{baseline.handle()};
    owned.push_back(spawn_host(std::get<0>(GetParam()), world,
                               told_of_cancelled
                                 ? std::move(behind).takes_cancelled()
                                 : std::move(behind),
                               std::move(s)));
    world.run_until_idle();
    return owned.back();
  }

  caf::actor host(canary_config c, answer_comparator same = {}) {
    return host(
      stack{}.seed(5).add<canary>(std::move(c), second.handle(), same));
  }

  status look(const caf::actor& g) {
    return world.request(g, get_status{}).template value<status>();
  }

  std::string state(const caf::actor& g) {
    return look(g).layer("canary").state;
  }

  std::int64_t count(const caf::actor& g, const std::string& name) {
    return look(g).metric("canary", name);
  }

  pending_answer ask(const caf::actor& g, int x) {
    return world.request(g, wrap(x).idempotent());
  }

  /// One call after another, until the canary is in that state; returns how
  /// many it took.
  int calls_until(const caf::actor& g, const std::string& wanted, int most) {
    for (int n = 0; n < most; ++n) {
      if (n % 16 == 0 && state(g) == wanted)
        return n;
      auto answer = ask(g, n);
      world.advance(std::chrono::milliseconds(100));
      EXPECT_EQ(answer.value<int>(), 2 * n);
      EXPECT_EQ(answer.count(), 1u);
    }
    return most;
  }

  virtual_time world;
  scripted_worker baseline;
  scripted_worker second;
  std::vector<caf::actor> owned;
};

/// Gates and local gates, FIFO and two random orders.
#define CAISSON_CANARY_HOSTS(fixture)                                    \
  INSTANTIATE_TEST_SUITE_P(                                              \
    hosts, fixture,                                                      \
    testing::Combine(testing::Values(host_kind::gate, host_kind::local), \
                     testing::Range(0, 3)))

} // namespace caisson::test::canaries
