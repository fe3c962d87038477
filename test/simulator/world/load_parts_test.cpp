// Bursts of loads, and keys of their requests.
#include <simulator/world/arrivals.hpp>

#include <support/sim_scenarios.hpp>
#include <support/simulated.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::played;
using testing::IsEmpty;

// -- bursts -------------------------------------------------------------------

// 50 a second, and 500 in bursts of 0.5 s every 2 s.
load_config bursty() {
  load_config c;
  c.rate = 50;
  c.burst = 10;
  c.burst_every = 2s;
  c.burst_for = 500ms;
  return c;
}

std::vector<double> counts_of(const load_config& c, duration end) {
  arrival_times all{c, draw_key{1}, end};
  std::vector<double> out(static_cast<std::size_t>(end / 1s));
  while (auto t = all.next(end))
    ++out[static_cast<std::size_t>(*t / 1s)];
  return out;
}

// A Markov-modulated Poisson process with rates of 50 and 500 and transitions
// at 0.5 and 2 a second: a mean rate of 140, and for counts of 1 s an index of
// dispersion of 1 + 2 (450)² 0.8 · 0.2 / (2.5 · 140) · (1 − (1 − e^−2.5) / 2.5)
// = 118.2 (Fischer and Meier-Hellstern 1993).
TEST(arrivals, come_in_bursts) {
  auto counts = counts_of(bursty(), 50'000s);
  double sum = 0;
  for (auto n : counts)
    sum += n;
  auto mean = sum / static_cast<double>(counts.size());
  double squares = 0;
  for (auto n : counts)
    squares += (n - mean) * (n - mean);
  auto variance = squares / static_cast<double>(counts.size());
  EXPECT_NEAR(mean, 140, 4);
  EXPECT_NEAR(variance / mean, 118.2, 6);
}

TEST(arrivals, without_bursts_are_spread_as_a_poisson_process_is) {
  auto c = bursty();
  c.burst = 1;
  auto counts = counts_of(c, 10'000s);
  double sum = 0;
  double squares = 0;
  for (auto n : counts) {
    sum += n;
    squares += (n - 50) * (n - 50);
  }
  EXPECT_NEAR(sum / 10'000, 50, 0.5);
  EXPECT_NEAR(squares / 10'000, 50, 3);
}

// A burst of nothing is a pause, and a profile keeps its shape.
TEST(arrivals, multiply_a_profile_by_their_bursts) {
  auto c = bursty();
  c.rate = 0;
  c.profile = {{0s, 0}, {10'000s, 200}};
  c.ramps = true;
  c.burst = 0;
  c.start = 5s;
  auto counts = counts_of(c, 10'005s);
  double early = 0;
  double late = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    (i < 5005 ? early : late) += counts[i];
  // A quarter of the area is in the first half, and a fifth of the time is
  // without requests.
  EXPECT_NEAR(early, 0.8 * 250'000, 12'000);
  EXPECT_NEAR(late, 0.8 * 750'000, 36'000);
}

TEST(arrivals, in_bursts_are_the_same_each_time) {
  EXPECT_EQ(counts_of(bursty(), 100s), counts_of(bursty(), 100s));
}

TEST(scenario_load, has_bursts_and_keys_that_are_checked) {
  auto mistakes = [](const std::string& more) {
    return test::mistakes_in("length = '60s'\nservice.s = {}\n[load.u]\ntarget "
                             "= 's'\nrate = 1\n"
                             + more);
  };
  using names = std::vector<std::string>;
  EXPECT_THAT(mistakes("burst = 5\nburst_every = '3s'\nburst_for = '1s'"),
              IsEmpty());
  EXPECT_EQ(mistakes("burst = -1"), names{"range load.u.burst"});
  EXPECT_EQ(mistakes("burst_for = '1s'"), names{"relation load.u.burst_for"});
  EXPECT_EQ(mistakes("burst = 2\nburst_every = '0s'"),
            names{"range load.u.burst_every"});
  EXPECT_EQ(mistakes("kind = 'constant'\nburst = 2"),
            names{"relation load.u.burst"});
  EXPECT_THAT(mistakes("keys = 10\nkey_skew = 1"), IsEmpty());
  EXPECT_EQ(mistakes("keys = 1000001"), names{"range load.u.keys"});
  EXPECT_EQ(mistakes("key_skew = 1"), names{"relation load.u.key_skew"});
  EXPECT_EQ(test::mistakes_in("length = '100h'\nservice.s = {}\nload.u = { "
                              "target = 's', rate = 1, burst = 2, burst_every "
                              "= '1s' }"),
            names{"range load.u.burst_every"});
}

// -- keys ---------------------------------------------------------------------

// One permit for each key: of four keys, four requests can be in progress.
TEST(keys, of_a_load_are_those_of_its_calls) {
  auto with = [](const std::string& more) {
    return played(
      "length = '10s'\nservice.web = { workers = 'unlimited', time = '0s', "
      "calls = ['s'] }\nservice.s = { workers = 'unlimited', time = '35ms' }\n"
      "load.u = { kind = 'constant', rate = 1000, target = 'web'"
      + more
      + " }\nstack.one.layer = [{ kind = 'semaphore', permits = 1, "
        "max_waiters = 0, per_key = {} }]\n"
        "edge = [{ from = 'web', to = 's', stack = 'one' }]");
  };
  // One request after the other, every 35 ms, for each key.
  EXPECT_NEAR(static_cast<double>(with(", keys = 1").totals.good), 286, 2);
  EXPECT_NEAR(static_cast<double>(with(", keys = 4").totals.good), 1100, 60);
  // Nine of ten of 1,000 keys by Zipf's law of 10 are the first one.
  auto skewed = with(", keys = 1000, key_skew = 10.0").totals.good;
  EXPECT_GT(skewed, 286u);
  EXPECT_LT(skewed, 320u);
}

TEST(keys, change_nothing_where_they_are_not_recorded) {
  const std::string text
    = "length = '5s'\nservice.s = { time = '5ms' }\nload.u "
      "= { rate = 150, target = 's'";
  EXPECT_EQ(played(text + " }").digest, played(text + ", keys = 9 }").digest);
}

} // namespace
} // namespace caisson::sim
