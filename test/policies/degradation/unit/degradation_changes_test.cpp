#include <caisson/policies/degradation/degradation.hpp>

#include <policies/degradation/model/degradation_rig.hpp>
#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace degrading;
using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// -- changes ------------------------------------------------------------------

TEST(degradation, levels_keep_their_state_by_name) {
  degradation_rig h{tree()};
  h.steady(1s, false);
  auto c = tree();
  std::swap(c.levels[1], c.levels[2]);
  h.reconfigure(c);
  EXPECT_EQ(h.off(), (strings{"ads", "b"}));
  c.levels.erase(c.levels.begin() + 1);
  h.reconfigure(c);
  EXPECT_TRUE(h.off().empty());
}

TEST(degradation, a_new_window_starts_empty_and_others_keep_what_they_have) {
  auto bad_enough = [](degradation_config next) {
    degradation_rig h;
    h.bad(10);
    h.reconfigure(std::move(next));
    h.advance(1s);
    return !h.off().empty();
  };
  EXPECT_TRUE(bad_enough(quick_degradation()));
  auto c = quick_degradation();
  c.window = 2min;
  EXPECT_FALSE(bad_enough(c));
}

TEST(degradation, evaluates_sooner_when_configured_to) {
  auto c = quick_degradation();
  c.check_every = 30s;
  degradation_rig h{c};
  h.bad(10);
  h.reconfigure(quick_degradation());
  h.advance(1s);
  EXPECT_EQ(h.off(), strings{"extras"});
}

TEST(degradation, a_shorter_wait_counts_for_what_is_off) {
  auto c = quick_degradation();
  c.recover_after = 10min;
  c.recover_after_max = 1h;
  degradation_rig h{c};
  h.steady(1s, false);
  h.steady(60s, true);
  ASSERT_EQ(h.off(), strings{"extras"});
  c.recover_after = 30s;
  h.reconfigure(c);
  h.steady(1s, true);
  EXPECT_TRUE(h.off().empty());
}

TEST(degradation, less_patience_counts_at_once) {
  auto c = quick_degradation();
  c.patience = 1h;
  degradation_rig h{c};
  h.steady(60s, false);
  ASSERT_EQ(h.off(), strings{"extras"});
  c.patience = 10s;
  h.reconfigure(c);
  h.steady(1s, false);
  EXPECT_EQ(h.off().size(), 2u);
}

// -- what counts --------------------------------------------------------------

TEST(degradation, counts_outcomes_as_callers_see_them) {
  auto own = [](errc code) { return outcome::failure(code, false); };
  struct {
    outcome o;
    std::string_view counter;
  } const table[] = {
    {outcome::success(), "succeeded"},
    {own(errc::breaker_open), "failed"},
    {own(errc::queue_full), "failed"},
    {own(errc::rate_limited), "failed"},
    {own(errc::shed), "failed"},
    {own(errc::throttled), "failed"},
    {own(errc::deadline_exceeded), "failed"},
    {own(errc::worker_down), "failed"},
    {own(errc::internal_error), "failed"},
    {own(errc::injected), "failed"},
    // Else what is switched off would keep itself off.
    {own(errc::feature_off), "ignored"},
    {own(errc::cancelled), "ignored"},
    {own(errc::draining), "ignored"},
    {outcome::without_verdict(), "ignored"},
  };
  for (const auto& row : table) {
    degradation_rig h;
    h.finish(h.arrive(), row.o);
    EXPECT_EQ(h.count(row.counter), 1)
      << name_of(static_cast<errc>(row.o.code));
  }
}

TEST(degradation, errors_can_be_named) {
  auto c = quick_degradation();
  c.classify.deny = {"worker_down"};
  degradation_rig h{c};
  h.bad(100);
  h.fail(h.arrive(), errc::shed);
  EXPECT_EQ(h.count("ignored"), 100);
  EXPECT_EQ(h.count("failed"), 1);
  c.classify.deny = {"shed"};
  h.reconfigure(c);
  h.fail(h.arrive(), errc::shed);
  EXPECT_EQ(h.count("ignored"), 101);
}

TEST(degradation, a_call_that_runs_into_its_deadline_has_failed) {
  degradation_rig h;
  for (int i = 0; i < 10; ++i)
    h.abandon(h.arrive());
  h.abandon(h.arrive(), errc::cancelled);
  EXPECT_EQ(h.count("failed"), 10);
  EXPECT_EQ(h.count("ignored"), 1);
  EXPECT_EQ(h.count("abandoned"), 11);
  h.advance(1s);
  EXPECT_EQ(h.off(), strings{"extras"});
}

// -- settings -----------------------------------------------------------------

TEST(degradation, refuses_levels_that_make_no_sense) {
  auto with = [](std::vector<degradation_level> levels) {
    degradation_config c;
    c.levels = std::move(levels);
    return problems_of(c);
  };
  EXPECT_TRUE(with(tree().levels).empty());
  struct {
    std::vector<degradation_level> levels;
    std::string_view problem;
  } const table[] = {
    {{}, "range levels"},
    {std::vector<degradation_level>(33), "range levels"},
    {{{.name = ""}}, "missing levels[0].name"},
    {{{.name = "a b"}}, "range levels[0].name"},
    {{{.name = "a"}, {.name = "a"}}, "relation levels[1].name"},
    {{{.name = "a", .parent = "b"}, {.name = "b"}},
     "relation levels[0].parent"},
    {{{.name = "a", .parent = "a"}}, "relation levels[0].parent"},
    {{{.name = "a", .features = {""}}}, "range levels[0].features"},
    {{{.name = "a", .features = strings(65, "x")}}, "range levels[0].features"},
    {{{.name = "a", .min_success = 0, .max_latency = unlimited}},
     "relation levels[0].min_success"},
    {{{.name = "a", .min_success = 1.5}}, "range levels[0].min_success"},
  };
  for (const auto& row : table) {
    auto found = kinds_and_keys(with(row.levels));
    ASSERT_FALSE(found.empty()) << row.problem;
    EXPECT_EQ(found[0], row.problem);
  }
}

TEST(degradation, refuses_settings_that_contradict_each_other) {
  degradation_config c;
  c.check_every = 2min;
  c.held_off = {"extras", "nobody"};
  c.held_on = {"core", "extras"};
  c.recover_after = 1h;
  EXPECT_EQ(kinds_and_keys(problems_of(c)),
            (strings{"relation held_off", "relation held_on",
                     "relation check_every", "relation recover_after_max"}));
}

} // namespace
} // namespace caisson::test
