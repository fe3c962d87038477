// Shares of time for stages.
#include <caisson/policy/stage_budget.hpp>
#include <caisson/settings/toml.hpp>

#include <support/problem_texts.hpp>
#include <support/times.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

stage_budget_config lookup() {
  return {.total = 300ms,
          .stages = {{"dns", 20ms}, {"tls", 50ms}, {"api", 200ms}},
          .reserve = 30ms};
}

// -- configuration ------------------------------------------------------------

TEST(stage_budget, refuses_what_cannot_work) {
  struct row {
    std::string what;
    stage_budget_config config;
    strings found;
  };
  auto changed = [](auto f) {
    auto c = lookup();
    f(c);
    return c;
  };
  std::vector<stage_share> many;
  for (int i = 0; i < 65; ++i)
    many.push_back({"s" + std::to_string(i), 1us});
  for (const auto& x : std::vector<row>{
         {"all that there is", lookup(), {}},
         {"a nanosecond too much",
          changed([](auto& c) { c.reserve += 1ns; }),
          {"relation total"}},
         {"a reserve alone that is too much",
          changed([](auto& c) { c.reserve = 301ms; }),
          {"relation total"}},
         {"shares that overflow together",
          {.total = 365 * 24h,
          .stages = std::vector<stage_share>(2, {"s", 365 * 24h})},
          {"relation stages[1].name", "relation total"}},
         {"no stage", {.total = 1s}, {"range stages"}},
         {"too many stages", {.total = 1s, .stages = many}, {"range stages"}},
         {"two of one name",
          changed([](auto& c) { c.stages[2].name = "dns"; }),
          {"relation stages[2].name"}},
         {"a stage without a name",
          changed([](auto& c) { c.stages[0].name = ""; }),
          {"missing stages[0].name"}},
         {"a share of nothing",
          changed([](auto& c) { c.stages[0].share = 0ns; }),
          {"range stages[0].share"}},
         {"no total",
          changed([](auto& c) { c.total = 0ns; }),
          {"range total", "relation total"}}}) {
    EXPECT_EQ(kinds_and_keys(problems_of(x.config)), x.found) << x.what;
    if (x.found.empty()) {
      EXPECT_NO_THROW(stage_budget{x.config});
    } else {
      EXPECT_THROW(stage_budget{x.config}, config_error) << x.what;
    }
  }
}

TEST(stage_budget, is_read_from_toml) {
  auto c = stage_budget_config{};
  problems found;
  auto table = parse_toml(R"(
total = "300ms"
reserve = "30ms"
stages = [{ name = "dns", share = "20ms" }, { name = "api", share = "200ms" }]
)",
                          "f", found);
  EXPECT_EQ(found, problems{});
  EXPECT_EQ(read_settings(table, {}, c), problems{});
  EXPECT_EQ(c.total, 300ms);
  EXPECT_EQ(c.reserve, 30ms);
  ASSERT_EQ(c.stages.size(), 2u);
  EXPECT_EQ(c.stages[1].name, "api");
  EXPECT_EQ(c.stages[1].share, 200ms);

  auto wrong = parse_toml(R"(
total = "100ms"
stages = [{ name = "dns" }, { name = "api", share = "200ms" }]
)",
                          "f", found);
  EXPECT_EQ(kinds_and_keys(read_settings(wrong, {}, c)),
            (strings{"missing stages[0].share", "relation total"}));
  EXPECT_EQ(c.total, 300ms);
}

// -- stages -------------------------------------------------------------------

TEST(stage_budget, gives_each_stage_its_share_or_what_is_left) {
  struct row {
    std::string stage;
    duration at;
    duration gets;
  };
  auto clock = stage_budget{lookup()}.start(start);
  for (const auto& x : std::vector<row>{{"dns", 0ms, 20ms},
                                        {"tls", 0ms, 50ms},
                                        {"api", 0ms, 200ms},
                                        // What others left is there.
                                        {"api", 5ms, 200ms},
                                        {"api", 70ms, 200ms},
                                        // What they took too much is not.
                                        {"api", 70ms + 1ns, 200ms - 1ns},
                                        {"api", 170ms, 100ms},
                                        {"dns", 249ms, 20ms},
                                        {"dns", 251ms, 19ms},
                                        {"dns", 270ms - 1ns, 1ns},
                                        {"dns", 270ms, 0ms},
                                        {"api", 299ms, 0ms},
                                        {"api", 300ms, 0ms},
                                        {"api", 10h, 0ms}}) {
    auto now = start + x.at;
    EXPECT_EQ(clock.time_for(x.stage, now), x.gets) << x.stage << x.at.count();
    EXPECT_EQ(clock.limit_of(x.stage, now), now + x.gets);
    EXPECT_EQ(clock.left(now), std::max(300ms - x.at, duration::zero()));
  }
  EXPECT_EQ(clock.end(), start + 300ms);
}

TEST(stage_budget, does_not_grow_when_the_clock_steps_back) {
  auto clock = stage_budget{lookup()}.start(start);
  EXPECT_EQ(clock.left(start - 1h), 300ms);
  EXPECT_EQ(clock.time_for("api", start - 1h), 200ms);
}

TEST(stage_budget, ends_with_the_deadline_of_the_whole) {
  stage_budget budget{lookup()};
  EXPECT_EQ(budget.start(start, never).end(), start + 300ms);
  EXPECT_EQ(budget.start(start, start + 1h).end(), start + 300ms);
  auto short_of_time = budget.start(start, start + 100ms);
  EXPECT_EQ(short_of_time.end(), start + 100ms);
  EXPECT_EQ(short_of_time.time_for("api", start), 70ms);
  auto late = budget.start(start, start - 1s);
  EXPECT_EQ(late.left(start), 0ms);
  EXPECT_EQ(late.limit_of("dns", start), start);
}

TEST(stage_budget, knows_its_stages_and_no_others) {
  stage_budget budget{lookup()};
  EXPECT_TRUE(budget.has("tls"));
  EXPECT_FALSE(budget.has("tcp"));
  EXPECT_FALSE(budget.has(""));
  EXPECT_EQ(budget.share_of("tls"), 50ms);
  auto clock = budget.start(start);
  EXPECT_THROW((void)budget.share_of("tcp"), std::out_of_range);
  EXPECT_THROW((void)clock.limit_of("tcp", start), std::out_of_range);
  // After the end, too.
  EXPECT_THROW((void)clock.time_for("tcp", start + 1h), std::out_of_range);
}

TEST(stage_budget, runs_on_without_the_budget) {
  auto clock = stage_budget{lookup()}.start(start);
  auto copy = clock;
  EXPECT_EQ(copy.limit_of("dns", start), start + 20ms);
}

TEST(stage_budget, supports_the_end_of_time) {
  auto clock = stage_budget{lookup()}.start(never - 1ms);
  EXPECT_EQ(clock.end(), never);
  EXPECT_EQ(clock.limit_of("api", never - 1ns), never);
}

// Stages that keep their limits, one after the other, never use the reserve,
// and all get their whole shares.
RC_GTEST_PROP(stage_budget, is_enough_for_stages_that_keep_to_it, ()) {
  stage_budget_config c;
  auto sum = duration::zero();
  auto n = *rc::gen::inRange(1, 9);
  for (int i = 0; i < n; ++i) {
    auto share = 1us + duration{*rc::gen::inRange(0, 1'000'000)};
    c.stages.push_back({std::to_string(i), share});
    sum += share;
  }
  c.reserve = duration{*rc::gen::inRange(0, 1'000'000)};
  c.total = sum + c.reserve + duration{*rc::gen::inRange(0, 1000)};
  auto clock = stage_budget{c}.start(start);
  auto now = start;
  for (const auto& x : c.stages) {
    auto limit = clock.limit_of(x.name, now);
    RC_ASSERT(limit == now + x.share);
    now += duration{*rc::gen::inRange<std::int64_t>(0, x.share.count() + 1)};
  }
  RC_ASSERT(clock.left(now) >= c.reserve);
}

// Whatever the stages take.
RC_GTEST_PROP(stage_budget, never_gives_the_reserve_away, ()) {
  auto clock = stage_budget{lookup()}.start(start);
  auto now = start;
  for (auto i : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3))) {
    auto stage = lookup().stages[static_cast<std::size_t>(i)];
    auto limit = clock.limit_of(stage.name, now);
    RC_ASSERT(limit >= now);
    RC_ASSERT(limit <= now + stage.share);
    RC_ASSERT(limit == now || clock.end() - limit >= 30ms);
    now += duration{*rc::gen::inRange(0, 100'000'000)};
  }
}

} // namespace
} // namespace caisson::test
