#include <policies/chaos/model/chaos_rig.hpp>
#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace chaotic;
using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// -- configuration ------------------------------------------------------------

TEST(chaos_rates, refuses_what_is_out_of_range_or_more_than_all_calls) {
  constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
  struct row {
    chaos_config c;
    strings expected;
  };
  for (auto& x : std::vector<row>{
         {chaos_with({-0.001}), {"range error_rate"}},
         {chaos_with({1.001}), {"range error_rate", "relation error_rate"}},
         {chaos_with({.latency = -1}), {"range latency_rate"}},
         {chaos_with({.outcome = 2}),
          {"range outcome_rate", "relation error_rate"}},
         {chaos_with({.silence = nan}), {"range silence_rate"}},
         {silent(1ms - 1ns), {"range silence"}},
         {silent(24h * 365 + 1ns), {"range silence"}},
         {silent(unlimited), {"range silence"}},
         {slow(schedule::constant(-1ns)), {"range latency.base"}},
         {chaos_with({0.5, 0.5, 0.001}), {"relation error_rate"}},
         {chaos_with({1, 1, 1, 1}), {"relation error_rate"}},
         {chaos_with({.outcome = 1, .silence = 0.01}),
          {"relation error_rate"}}}) {
    EXPECT_EQ(kinds_and_keys(problems_of(x.c)), x.expected)
      << to_text(problems_of(x.c));
    EXPECT_THROW(chaos{x.c}, config_error);
  }
}

TEST(chaos_rates, reports_how_much_too_many_faults_there_are) {
  auto found = problems_of(chaos_with({0.5, 0.25, 0.25, 0.5}));
  EXPECT_NE(to_text(found).find("error_rate, latency_rate, outcome_rate and "
                                "silence_rate are 1.5 together, allowed: at "
                                "most 1"),
            std::string::npos)
    << to_text(found);
}

TEST(chaos_rates, accepts_the_edges_and_decimals_that_add_up_to_one) {
  for (auto& c :
       {chaos_with({}), chaos_with({1}), chaos_with({.silence = 1}),
        silent(1ms), silent(24h * 365), chaos_with({0.1, 0.2, 0.3, 0.4}),
        chaos_with({0.7, 0.1, 0.1, 0.1}), chaos_with({0.4, 0.3, 0.2, 0.1}),
        chaos_with({0.3, 0.6, 0.1})})
    EXPECT_EQ(to_text(problems_of(c)), "");
}

// -- which calls --------------------------------------------------------------

TEST(chaos_rates, spares_every_call_until_it_is_enabled) {
  auto c = chaos_with({0.25, 0.25, 0.25, 0.25});
  c.enabled = false;
  chaos_rig h{c};
  for (int i = 0; i < 1'000; ++i) {
    auto id = h.arrive();
    ASSERT_EQ(h.where(id), place::below);
    h.finish(id);
    ASSERT_TRUE(h.calls.at(id).result.ok);
  }
  EXPECT_EQ(h.counts(), strings{"spared 1000"});
  EXPECT_EQ(h.e.reports, strings{});
  random_source untouched{7};
  EXPECT_EQ(h.random.bits(), untouched.bits());
}

TEST(chaos_rates, does_nothing_by_default) {
  chaos_rig h{chaos_config{}};
  for (int i = 0; i < 10'000; ++i)
    h.finish(h.arrive());
  EXPECT_EQ(h.counts(), strings{"spared 10000"});
}

TEST(chaos_rates, draws_one_number_for_each_call_whatever_it_meets) {
  for (auto& c : {chaos_with({}), chaos_with({.error = 1}),
                  slow(schedule::constant(1s)), chaos_with({.outcome = 1}),
                  chaos_with({.silence = 1}), chaos_with({0.2, 0.2, 0.2})}) {
    chaos_rig h{c};
    random_source same{7};
    for (int i = 0; i < 100; ++i) {
      auto id = h.arrive();
      same.bits();
      if (h.where(id) == place::held)
        h.advance(30s);
      if (h.where(id) == place::below)
        h.finish(id);
    }
    EXPECT_EQ(h.random.bits(), same.bits());
  }
}

TEST(chaos_rates, never_injects_at_a_rate_of_zero_and_always_at_one) {
  struct row {
    rates r;
    strings counts;
  };
  for (auto& x : std::vector<row>{
         {{}, {"spared 5000"}},
         {{.error = 1}, {"errors_injected 5000"}},
         {{.latency = 1}, {"latencies_injected 5000", "waiting 5000"}},
         {{.silence = 1}, {"silences_injected 5000", "waiting 5000"}}}) {
    chaos_rig h{chaos_with(x.r)};
    for (int i = 0; i < 5'000; ++i)
      h.arrive();
    EXPECT_EQ(h.counts(), x.counts);
  }
  chaos_rig h{chaos_with({.outcome = 1})};
  for (int i = 0; i < 5'000; ++i)
    h.finish(h.arrive());
  EXPECT_EQ(h.counts(), strings{"outcomes_injected 5000"});
}

TEST(chaos_rates, meets_its_rates) {
  constexpr int calls = 100'000;
  for (auto& r : std::vector<rates>{{0.001, 0.001, 0.001, 0.001},
                                    {0.1, 0.2, 0.3, 0.4},
                                    {0.4, 0.01, 0.05, 0.25},
                                    {0, 0.5, 0, 0.25}}) {
    chaos_rig h{chaos_with(r)};
    for (int i = 0; i < calls; ++i) {
      auto id = h.arrive();
      if (h.where(id) == place::below)
        h.finish(id);
      else if (h.where(id) == place::held)
        h.abandon(id);
      h.calls.clear();
      h.e.reports.clear();
    }
    auto is_near = [&](const char* name, double rate) {
      auto sigma = std::sqrt(calls * rate * (1 - rate));
      EXPECT_NEAR(static_cast<double>(h.count(name)), calls * rate, 4 * sigma)
        << name;
    };
    is_near("errors_injected", r.error);
    is_near("latencies_injected", r.latency);
    is_near("outcomes_injected", r.outcome);
    is_near("silences_injected", r.silence);
    auto rest = 1 - r.error - r.latency - r.outcome - r.silence;
    is_near("spared", std::max(rest, 0.0));
  }
}

} // namespace
} // namespace caisson::test
