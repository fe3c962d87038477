// Distributions of durations: what is drawn, how they are written, and what is
// refused.
#include <simulator/scenario/count_value.hpp>
#include <simulator/scenario/distribution.hpp>
#include <simulator/scenario/distribution_value.hpp>

#include <caisson/settings/toml.hpp>

#include <support/problem_texts.hpp>
#include <support/sim_scenarios.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

// -- draws --------------------------------------------------------------------

struct moments {
  double mean = 0;
  // Standard deviation divided by the mean.
  double cv = 0;
  duration least = unlimited;
  duration most = duration::zero();
};

moments moments_of(const distribution& x) {
  constexpr int draws = 200'000;
  draw_key key{4711};
  moments out;
  double squares = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    keyed_random random{key.with(i)};
    auto d = x.draw(random);
    out.mean += to_seconds(d) / draws;
    squares += to_seconds(d) * to_seconds(d) / draws;
    out.least = std::min(out.least, d);
    out.most = std::max(out.most, d);
  }
  out.cv = std::sqrt(squares - out.mean * out.mean) / out.mean;
  return out;
}

TEST(distribution, exponential_has_its_mean_and_a_cv_of_1) {
  auto m = moments_of(distribution::exponential(10ms));
  EXPECT_NEAR(m.mean, 0.010, 0.00007);
  EXPECT_NEAR(m.cv, 1, 0.01);
}

TEST(distribution, erlang_has_its_mean_and_a_cv_that_falls_with_the_phases) {
  auto m = moments_of(distribution::erlang(10ms, 4));
  EXPECT_NEAR(m.mean, 0.010, 0.00004);
  EXPECT_NEAR(m.cv, 0.5, 0.005);
}

TEST(distribution, lognormal_has_its_mean_and_cv) {
  auto m = moments_of(distribution::lognormal(10ms, 0.8));
  EXPECT_NEAR(m.mean, 0.010, 0.00006);
  EXPECT_NEAR(m.cv, 0.8, 0.02);
}

TEST(distribution, lognormal_without_spread_is_its_mean) {
  auto m = moments_of(distribution::lognormal(10ms, 0));
  EXPECT_EQ(m.least, 10ms);
  EXPECT_EQ(m.most, 10ms);
}

TEST(distribution, uniform_keeps_its_bounds) {
  auto m = moments_of(distribution::uniform(2ms, 6ms));
  EXPECT_NEAR(m.mean, 0.004, 0.00001);
  EXPECT_NEAR(m.cv, 1 / std::sqrt(12.0), 0.001);
  EXPECT_GE(m.least, 2ms);
  EXPECT_LE(m.most, 6ms);
}

TEST(distribution, uniform_draws_both_of_its_bounds) {
  auto m = moments_of(distribution::uniform(7ns, 9ns));
  EXPECT_EQ(m.least, 7ns);
  EXPECT_EQ(m.most, 9ns);
  EXPECT_NEAR(m.mean, 8e-9, 1e-11);
}

TEST(distribution, bimodal_is_slow_in_its_share) {
  auto m = moments_of(distribution::bimodal(1ms, 101ms, 0.1));
  EXPECT_EQ(m.least, 1ms);
  EXPECT_EQ(m.most, 101ms);
  EXPECT_NEAR(m.mean, 0.011, 0.0002);
}

TEST(distribution, empirical_draws_each_value_as_often) {
  auto m = moments_of(distribution::empirical({1ms, 2ms, 6ms}));
  EXPECT_EQ(m.least, 1ms);
  EXPECT_EQ(m.most, 6ms);
  EXPECT_NEAR(m.mean, 0.003, 0.00002);
  EXPECT_NEAR(m.cv, std::sqrt(14.0 / 3) / 3, 0.003);
}

TEST(distribution, of_other_shapes_has_its_mean_and_cv) {
  struct {
    std::string_view what;
    distribution x;
    double cv;
    double tolerance; // of the mean and of cv, in parts of them
  } const table[] = {
    {"normal", distribution::normal(10ms, 0.2), 0.2, 0.01},
    {"normal without spread", distribution::normal(10ms, 0), 0, 0.001},
    {"weibull, short tail", distribution::weibull(10ms, 2), 0.5227, 0.01},
    {"weibull, exponential", distribution::weibull(10ms, 1), 1, 0.01},
    {"weibull, long tail", distribution::weibull(10ms, 0.5), std::sqrt(5.0),
     0.05},
    {"hyperexponential, exponential", distribution::hyperexponential(10ms, 1),
     1, 0.01},
    {"hyperexponential", distribution::hyperexponential(10ms, 3), 3, 0.03},
    {"pareto", distribution::pareto(10ms, 5), std::sqrt(1 / 15.0), 0.02},
  };
  for (const auto& row : table) {
    auto m = moments_of(row.x);
    EXPECT_NEAR(m.mean, 0.010, 0.010 * row.tolerance) << row.what;
    // The difference of two sums that are nearly equal has few digits.
    EXPECT_NEAR(m.cv, row.cv, row.cv * row.tolerance + 1e-5) << row.what;
    EXPECT_EQ(row.x.mean(), 10ms) << row.what;
  }
}

TEST(distribution, normal_is_cut_off_at_zero) {
  auto x = distribution::normal(10ms, 0.5);
  auto m = moments_of(x);
  EXPECT_EQ(m.least, 0ns);
  EXPECT_NEAR(to_seconds(x.mean()), 0.010042454, 1e-9);
  EXPECT_NEAR(m.mean, to_seconds(x.mean()), 0.00005);
}

TEST(distribution, pareto_has_a_least_value_and_a_tail_that_is_a_power_law) {
  auto x = distribution::pareto(10ms, 2);
  draw_key key{99};
  constexpr int draws = 200'000;
  // More than ten times the least value: one in a hundred.
  int beyond = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    keyed_random random{key.with(i)};
    auto d = x.draw(random);
    EXPECT_GE(d, 5ms);
    beyond += d > 50ms;
  }
  EXPECT_NEAR(beyond, 0.01 * draws, 4 * std::sqrt(0.01 * draws));
}

const distribution all_kinds[] = {
  {5ms},
  distribution::uniform(1ms, 9ms),
  distribution::exponential(5ms),
  distribution::erlang(5ms, 3),
  distribution::lognormal(5ms, 2),
  distribution::bimodal(1ms, 9ms, 0.5),
  distribution::empirical({1ms, 9ms}),
  distribution::normal(5ms, 0.25),
  distribution::weibull(5ms, 0.5),
  distribution::hyperexponential(5ms, 2),
  distribution::pareto(5ms, 1.5),
};

TEST(distribution, draws_of_equal_keys_are_equal) {
  for (const auto& x : all_kinds) {
    keyed_random a{draw_key{1}.with("web")};
    keyed_random b{draw_key{1}.with("web")};
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(x.draw(a), x.draw(b));
  }
}

TEST(distribution, draws_of_other_keys_differ) {
  keyed_random a{draw_key{1}.with("web")};
  keyed_random b{draw_key{1}.with("wev")};
  auto x = distribution::exponential(1s);
  EXPECT_NE(x.draw(a), x.draw(b));
}

TEST(distribution, a_constant_makes_no_draw) {
  keyed_random drawn{draw_key{1}};
  keyed_random fresh{draw_key{1}};
  EXPECT_EQ(distribution{5ms}.draw(drawn), 5ms);
  EXPECT_EQ(drawn.bits(), fresh.bits());
}

TEST(distribution, exponential_is_the_inverse_of_its_distribution_function) {
  keyed_random a{draw_key{9}};
  keyed_random b{draw_key{9}};
  auto d = distribution::exponential(1s).draw(a);
  EXPECT_EQ(d.count(), std::llround(-std::log1p(-b.uniform()) * 1e9));
}

TEST(distribution, no_draw_is_longer_than_31_years) {
  auto m = moments_of(distribution::lognormal(100h, 100));
  EXPECT_LE(m.most, duration{1'000'000'000'000'000'000});
  EXPECT_GT(m.most, 100h);
}

// -- means --------------------------------------------------------------------

TEST(distribution, reports_its_mean) {
  EXPECT_EQ(distribution{}.mean(), 0ns);
  EXPECT_EQ(distribution{5ms}.mean(), 5ms);
  EXPECT_EQ(distribution::uniform(2ms, 6ms).mean(), 4ms);
  EXPECT_EQ(distribution::exponential(3ms).mean(), 3ms);
  EXPECT_EQ(distribution::erlang(3ms, 4).mean(), 3ms);
  EXPECT_EQ(distribution::lognormal(3ms, 4).mean(), 3ms);
  EXPECT_EQ(distribution::bimodal(1ms, 11ms, 0.25).mean(), 3500us);
  EXPECT_EQ(distribution::empirical({1ms, 2ms, 6ms}).mean(), 3ms);
}

TEST(distribution, reports_whether_all_draws_are_zero) {
  EXPECT_TRUE(distribution{}.zero());
  EXPECT_TRUE(distribution::exponential(0ns).zero());
  EXPECT_TRUE(distribution::uniform(0ns, 0ns).zero());
  EXPECT_TRUE(distribution::bimodal(0ns, 1s, 0).zero());
  EXPECT_TRUE(distribution::bimodal(1s, 0ns, 1).zero());
  EXPECT_TRUE(distribution::empirical({0ns, 0ns}).zero());
  EXPECT_FALSE(distribution::empirical({0ns, 1ns}).zero());
  EXPECT_FALSE(distribution::bimodal(0ns, 1s, 0.1).zero());
  EXPECT_FALSE(distribution::uniform(0ns, 1ns).zero());
  for (const auto& x : all_kinds)
    EXPECT_FALSE(x.zero());
}

TEST(distribution, of_zero_mean_draws_zero) {
  keyed_random random{draw_key{1}};
  EXPECT_EQ(distribution::exponential(0ns).draw(random), 0ns);
  EXPECT_EQ(distribution::erlang(0ns, 3).draw(random), 0ns);
  EXPECT_EQ(distribution::lognormal(0ns, 3).draw(random), 0ns);
}

// -- as configuration ---------------------------------------------------------

// `x` as it stands in a file.
setting value(const std::string& x) {
  problems found;
  auto root = parse_toml("x = " + x, "f", found);
  EXPECT_EQ(to_text(found), "");
  return root["x"];
}

template <class Field, class... Ts>
std::string problem_of(const std::string& text, Ts&&... xs) {
  problems found;
  Field{xs...}.read(value(text), "time", found);
  return to_text(found);
}

struct form {
  std::string text;
  distribution expected;
};

const form forms[] = {
  {R"("5ms")", {5ms}},
  {R"("0")", {}},
  {R"({ kind = "constant", mean = "5ms" })", {5ms}},
  {R"({ kind = "uniform", min = "1ms", max = "1ms" })",
   distribution::uniform(1ms, 1ms)},
  {R"({ kind = "exponential", mean = "5ms" })", distribution::exponential(5ms)},
  {R"({ kind = "erlang", mean = "5ms", k = 1000 })",
   distribution::erlang(5ms, 1000)},
  {R"({ kind = "lognormal", mean = "100h", cv = 0.5 })",
   distribution::lognormal(100h, 0.5)},
  {R"({ kind = "bimodal", fast = "1ms", slow = "1s", share = 0.25 })",
   distribution::bimodal(1ms, 1s, 0.25)},
  {R"({ kind = "empirical", values = ["1ms", "2ms"] })",
   distribution::empirical({1ms, 2ms})},
  {R"({ kind = "normal", mean = "5ms", cv = 0.5 })",
   distribution::normal(5ms, 0.5)},
  {R"({ kind = "weibull", mean = "5ms", shape = 0.1 })",
   distribution::weibull(5ms, 0.1)},
  {R"({ kind = "hyperexponential", mean = "5ms", cv = 1 })",
   distribution::hyperexponential(5ms, 1)},
  {R"({ kind = "pareto", mean = "5ms", shape = 1.001 })",
   distribution::pareto(5ms, 1.001)},
};

TEST(distribution_value, reads_every_kind) {
  for (const auto& [text, expected] : forms) {
    distribution x{1h};
    problems found;
    field_value_for<distribution>{x}.read(value(text), "time", found);
    EXPECT_EQ(to_text(found), "");
    EXPECT_EQ(x, expected) << text;
  }
}

TEST(distribution_value, is_written_as_it_is_read) {
  for (auto x : all_kinds) {
    auto text = field_value_for<distribution>{x}.text();
    if (text.front() != '{')
      text = '"' + text + '"';
    distribution again;
    problems found;
    field_value_for<distribution>{again}.read(value(text), "time", found);
    EXPECT_EQ(to_text(found), "");
    EXPECT_EQ(again, x) << text;
  }
  auto x = distribution::bimodal(1ms, 1s, 0.25);
  EXPECT_EQ(field_value_for<distribution>{x}.text(),
            R"({ kind = "bimodal", fast = "1ms", slow = "1s", share = 0.25 })");
}

TEST(distribution_value, reads_a_duration_that_a_message_gives) {
  distribution x;
  problems found;
  field_value_for<distribution>{x}.read({setting::raw{" 5ms "}, {}}, "time",
                                        found);
  EXPECT_EQ(to_text(found), "");
  EXPECT_EQ(x, distribution{5ms});
}

class distribution_mistake : public testing::TestWithParam<test::mistake> {};

TEST_P(distribution_mistake, is_reported_and_changes_nothing) {
  distribution x{1h};
  problems found;
  field_value_for<distribution>{x}.read(value(GetParam().text), "time", found);
  EXPECT_EQ(test::kinds_and_keys(found), GetParam().expected) << to_text(found);
  EXPECT_EQ(x, distribution{1h});
}

const test::mistake mistakes[] = {
  {"5", {"type time"}},
  {"'101h'", {"range time"}},
  {"'unlimited'", {"range time"}},
  {"{}", {"missing time.kind"}},
  {"{ knid = 'erlang' }", {"unknown time.knid"}},
  {"{ kind = 'gauss', mean = '1s' }", {"range time.kind"}},
  {"{ kind = 'normal', mean = '1s' }", {"missing time.cv"}},
  {"{ kind = 'normal', mean = '1s', cv = 0.6 }", {"relation time.cv"}},
  {"{ kind = 'hyperexponential', mean = '1s', cv = 0.9 }",
   {"relation time.cv"}},
  {"{ kind = 'pareto', mean = '1s', shape = 1 }", {"relation time.shape"}},
  {"{ kind = 'weibull', mean = '1s', shape = 0.05 }", {"range time.shape"}},
  {"{ kind = 'erlang', mean = '1s' }", {"missing time.k"}},
  {"{ kind = 'erlang', mean = '1s', k = 0 }", {"range time.k"}},
  {"{ kind = 'exponential', maen = '1s' }", {"unknown time.maen"}},
  {"{ kind = 'exponential', mean = '1s', cv = 2 }", {"relation time.cv"}},
  {"{ kind = 'uniform', mean = '1s', min = '0', max = '1s' }",
   {"relation time.mean"}},
  {"{ kind = 'uniform', min = '2s', max = '1s' }", {"relation time.max"}},
  {"{ kind = 'lognormal', mean = '1s', cv = 100.5 }", {"range time.cv"}},
  {"{ kind = 'bimodal', fast = '1s', slow = 2, share = 1.5 }",
   {"type time.slow", "range time.share"}},
  {"{ kind = 'empirical', values = [] }", {"missing time.values"}},
  {"{ kind = 'empirical' }", {"missing time.values"}},
  {"{ kind = 'empirical', values = '1s' }", {"type time.values"}},
  {"{ kind = 'empirical', values = ['1s', '101h'] }", {"range time.values[1]"}},
};

INSTANTIATE_TEST_SUITE_P(all, distribution_mistake,
                         testing::ValuesIn(mistakes));

TEST(distribution_value, checks_values_set_in_code) {
  auto complaints = [](distribution x) {
    problems found;
    field_value_for<distribution>{x}.check("time", found);
    return to_text(found);
  };
  for (const auto& x : all_kinds)
    EXPECT_EQ(complaints(x), "");
  EXPECT_EQ(complaints(distribution::erlang(-1ns, 0)),
            "time.mean: -1ns is out of range, allowed: 0s to 100h\n"
            "time.k: 0 is out of range, allowed: 1 to 1000");
  EXPECT_EQ(complaints(distribution::uniform(2s, 1s)),
            "time.max: 1s is less than min, which is 2s");
  EXPECT_EQ(complaints(distribution::empirical({})),
            "time.values: is empty, allowed: a list of at least one "
            "duration of 0s to 100h");
  EXPECT_EQ(complaints(distribution::empirical({1s, 101h})),
            "time.values[1]: 101h is out of range, allowed: 0s to 100h");
}

// -- counts -------------------------------------------------------------------

constexpr range<std::uint32_t> one_to_ten{1, 10};

TEST(count_value, reads_a_count_and_unlimited) {
  std::uint32_t x = 5;
  EXPECT_EQ(problem_of<count_value>("10", x, one_to_ten), "");
  EXPECT_EQ(x, 10u);
  EXPECT_EQ((count_value{x, one_to_ten}.text()), "10");
  EXPECT_EQ(problem_of<count_value>("'unlimited'", x, one_to_ten), "");
  EXPECT_EQ(x, count_value::unlimited);
  EXPECT_EQ((count_value{x, one_to_ten}.text()), "unlimited");
  problems found;
  count_value{x, one_to_ten}.read({setting::raw{"7"}, {}}, "n", found);
  EXPECT_EQ(x, 7u);
}

TEST(count_value, refuses_everything_else) {
  std::uint32_t x = 5;
  constexpr auto allowed = "allowed: 1 to 10, or \"unlimited\"";
  auto expect = [&](const std::string& text, const std::string& what) {
    EXPECT_EQ(problem_of<count_value>(text, x, one_to_ten),
              "f:1:5: time: " + what + allowed);
  };
  expect("0", "0 is out of range, ");
  expect("11", "11 is out of range, ");
  expect("-1", "-1 is out of range, ");
  expect("1.5", "1.5 is not a count, ");
  expect("'ten'", "\"ten\" is not a count, ");
  expect("true", "true is not a count, ");
  EXPECT_EQ(x, 5u);
  problems found;
  x = 11;
  count_value{x, one_to_ten}.check("n", found);
  EXPECT_EQ(to_text(found),
            "n: 11 is out of range, allowed: 1 to 10, or \"unlimited\"");
}

} // namespace
} // namespace caisson::sim
