// Each algorithm with a worker that gets more calls than it can
// handle, and of one whose capacity changes.
#include <policies/adaptive_limit/model/adaptive_limit_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace caisson::test::adapting {
namespace {

// Some servers, each with one call of 40 to 60 ms at a time; the others queue.
// 1,800 calls a second arrive at random.
class busy_worker {
public:
  busy_worker(adaptive_limit_config c, std::uint64_t seed)
    : h_(std::move(c)), random_(mix_seed(seed)) {
    schedule_arrival();
  }

  /// Goes on for `length`. Returns the mean limit in its last 10 s.
  double run(std::size_t servers, duration length) {
    servers_ = servers;
    serve();
    auto end = h_.now() + length;
    double sum = 0;
    double n = 0;
    while (step(end)) {
      if (h_.now() < end - 10s)
        continue;
      sum += static_cast<double>(h_.policy.limit());
      ++n;
    }
    return sum / n;
  }

  adaptive_limit_rig& rig() { return h_; }

private:
  bool step(duration end) {
    auto comes = busy_.empty() || next_arrival_ < busy_.begin()->first;
    auto at = comes ? next_arrival_ : busy_.begin()->first;
    if (at > end)
      return false;
    h_.advance_to(at);
    if (comes)
      arrive();
    else
      finish();
    serve();
    return true;
  }

  void schedule_arrival() {
    next_arrival_ += from_seconds(-std::log(1 - random_.uniform()) / 1'800);
  }

  void arrive() {
    auto id = h_.arrive();
    if (h_.where(id) == place::below)
      queue_.push_back(id);
    else
      h_.calls.erase(id);
    schedule_arrival();
  }

  void finish() {
    auto id = busy_.begin()->second;
    busy_.erase(busy_.begin());
    h_.finish(id);
    h_.calls.erase(id);
  }

  void serve() {
    for (; !queue_.empty() && busy_.size() < servers_; queue_.pop_front())
      busy_.emplace(h_.now() + from_seconds(random_.uniform(0.04, 0.06)),
                    queue_.front());
  }

  adaptive_limit_rig h_;
  random_source random_;
  std::size_t servers_ = 0;
  duration next_arrival_ = duration::zero();
  std::deque<call_id> queue_;
  std::multimap<duration, call_id> busy_;
};

adaptive_limit_config for_load(limit_algorithm algorithm) {
  adaptive_limit_config c;
  c.algorithm = algorithm;
  c.buffer = 0.05;
  c.window = 200ms;
  c.timeout = 75ms;
  return c;
}

class every_algorithm : public testing::TestWithParam<limit_algorithm> {};

// The best limit is the number of servers: more calls only queue.
TEST_P(every_algorithm, finds_the_capacity_of_the_worker) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    busy_worker w{for_load(GetParam()), seed};
    auto found = w.run(60, 30s);
    EXPECT_GT(found, 60 * 0.9) << seed;
    EXPECT_LT(found, 60 * 1.3) << seed;
    found = w.run(30, 30s);
    EXPECT_GT(found, 30 * 0.9) << seed;
    EXPECT_LT(found, 30 * 1.3) << seed;
    found = w.run(60, 30s);
    EXPECT_GT(found, 60 * 0.9) << seed;
    EXPECT_LT(found, 60 * 1.3) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(
  adaptive_limit_load, every_algorithm,
  testing::Values(limit_algorithm::gradient, limit_algorithm::vegas,
                  limit_algorithm::aimd),
  [](auto& x) {
    return std::string{
      enum_names<limit_algorithm>::value[static_cast<std::size_t>(x.param)]};
  });

TEST(gradient_limit_load, does_the_same_with_the_same_seed) {
  auto c = for_load(limit_algorithm::gradient);
  c.measure_every = 10s;
  busy_worker a{c, 3};
  busy_worker b{c, 3};
  EXPECT_EQ(a.run(30, 40s), b.run(30, 40s));
  for (auto name : {"measured", "raised", "lowered", "sampled", "baseline_us"})
    EXPECT_EQ(a.rig().count(name), b.rig().count(name)) << name;
  EXPECT_GE(a.rig().count("measured"), 3);
}

} // namespace
} // namespace caisson::test::adapting
