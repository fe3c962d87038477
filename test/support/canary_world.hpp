// A canary in a gate or a local gate, in virtual time.
#pragma once

#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/canary_layer.hpp>

#include <support/both_hosts.hpp>

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

class canary_world : public both_hosts {
protected:
  canary_world()
    : baseline(make_worker(doubles())), second(make_worker(doubles())) {}

  caf::actor host(stack s, bool wants_cancelled = false) {
    auto behind = worker{baseline.handle()};
    return both_hosts::host(
      wants_cancelled ? std::move(behind).takes_cancelled() : std::move(behind),
      std::move(s));
  }

  caf::actor host(canary_config c, answer_comparator same = {}) {
    return host(
      stack{}.seed(5).add<canary>(std::move(c), second.handle(), same));
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
  int calls_until(const caf::actor& g, const std::string& target_state,
                  int most) {
    for (int n = 0; n < most; ++n) {
      if (n % 16 == 0 && state(g) == target_state)
        return n;
      auto answer = ask(g, n);
      world.advance(std::chrono::milliseconds(100));
      EXPECT_EQ(answer.value<int>(), 2 * n);
      EXPECT_EQ(answer.count(), 1u);
    }
    return most;
  }

  scripted_worker baseline;
  scripted_worker second;
};

} // namespace caisson::test::canaries
