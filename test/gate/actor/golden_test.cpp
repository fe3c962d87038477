// Runs whose numbers are known beforehand, through gates.
#include "support/local_proxy.hpp"
#include "support/world.hpp"

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

struct golden_case {
  std::uint32_t threshold;
  duration open;
  int succeed, fail, reject;
  duration closes;
};

class golden_test
  : public testing::TestWithParam<std::tuple<golden_case, host_kind, int>> {};

INSTANTIATE_TEST_SUITE_P(
  all, golden_test,
  testing::Combine(
    testing::Values(golden_case{5, 9970ms, 896, 13, 891, 120450ms},
                    golden_case{5, 4970ms, 896, 22, 882, 120450ms},
                    golden_case{1, 9970ms, 900, 9, 891, 120050ms},
                    golden_case{10, 29970ms, 891, 12, 897, 120950ms}),
    testing::Values(host_kind::gate, host_kind::local), testing::Range(0, 8)));

TEST_P(golden_test, a_callee_that_is_down_for_ninety_seconds) {
  auto& [c, host, order] = GetParam();
  virtual_time world{order == 0 ? std::optional<std::uint64_t>{}
                                : std::optional<std::uint64_t>(order)};
  auto start = world.now();
  auto time = [&] { return world.now() - start; };
  scripted_worker w{
    world, [&](const caf::message& msg) {
      auto down = time() >= 30s && time() < 120s;
      return std::optional{
        down ? caf::make_message(caf::make_error(caf::sec::end_of_stream))
             : msg};
    }};
  auto g = spawn_host(host, world, w.handle(),
                      stack{}.breaker({.threshold = c.threshold,
                                       .open = schedule::constant(c.open),
                                       .probes = 1}));
  world.send(g, subscribe{});
  int succeed = 0, fail = 0, reject = 0;
  for (int k = 0; k < 1800; ++k) {
    world.advance_to(start + 50ms + k * 100ms);
    auto answer = world.request(g, k);
    ASSERT_EQ(answer.count(), 1u);
    ++(answer.ok() ? succeed : answer.is(errc::breaker_open) ? reject : fail);
  }
  EXPECT_EQ(succeed, c.succeed);
  EXPECT_EQ(fail, c.fail);
  EXPECT_EQ(reject, c.reject);
  EXPECT_EQ(w.count(), static_cast<std::size_t>(c.succeed + c.fail));
  auto opened = never, closed = never;
  for (auto& e : world.user().received_as<event>()) {
    auto at = time_point{duration{e.time_ns}};
    if (e.to == "open")
      opened = std::min(opened, at);
    if (e.to == "closed")
      closed = at;
  }
  EXPECT_EQ(opened - start, 30050ms + (c.threshold - 1) * 100ms);
  EXPECT_EQ(closed - start, c.closes);
  world.kill(g);
  world.kill(w.handle());
}

struct limit_case {
  std::int64_t rate;
  duration per;
  std::uint32_t burst;
  duration run;
};

class saturation_test : public testing::TestWithParam<limit_case> {};

INSTANTIATE_TEST_SUITE_P(all, saturation_test,
                         testing::Values(limit_case{10, 1s, 5, 10s},
                                         limit_case{3, 1s, 1, 7s},
                                         limit_case{7, 1min, 2, 1min},
                                         limit_case{1000, 1s, 100, 3s},
                                         limit_case{13, 7s, 4, 53s}));

TEST_P(saturation_test, admits_burst_plus_rate_times_time) {
  auto c = GetParam();
  virtual_time world;
  scripted_worker w{world, scripted_worker::always(1)};
  auto g = spawn_limiter(
    world, w.handle(),
    {.rate = static_cast<decltype(limiter_config::rate)>(c.rate),
     .per = c.per,
     .burst = c.burst});
  // A source that always wants more, and comes back when it is asked to.
  auto end = world.now() + c.run;
  for (;;) {
    auto answer = world.request(g, 1);
    if (answer.ok())
      continue;
    ASSERT_TRUE(answer.is(errc::rate_limited));
    auto wait = retry_after(answer.error());
    ASSERT_GT(wait, 0ns);
    if (world.now() + wait > end)
      break;
    world.advance(wait);
  }
  auto expected = c.burst + c.rate * c.run.count() / c.per.count();
  EXPECT_EQ(static_cast<std::int64_t>(w.count()), expected);
  world.kill(g);
  world.kill(w.handle());
}

} // namespace
} // namespace caisson::test
