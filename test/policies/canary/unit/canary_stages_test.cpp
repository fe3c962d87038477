// Stages with limits of their own.
#include <caisson/settings/toml.hpp>

#include <policies/canary/model/canary_rig.hpp>
#include <support/problem_texts.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace canaries;
using strings = std::vector<std::string>;
using testing::HasSubstr;

std::string text_of_stages(const canary_config& c) {
  for (const auto& row : rows_of(c))
    if (row.key == "stages")
      return row.value;
  return {};
}

// -- configuration ------------------------------------------------------------

// What `stages` becomes, or all that is wrong.
std::string stages_from_toml(const std::string& text) {
  problems found;
  auto read = parse_toml(text, "c.toml", found);
  canary_config c;
  auto more = read_settings(section{read}, c);
  found.insert(found.end(), more.begin(), more.end());
  return found.empty() ? text_of_stages(c) : to_text(found);
}

TEST(canary_stages, are_shares_or_tables_or_both) {
  const std::string both = R"([0.01, { share = 0.3, dwell = "1h", )"
                           R"(max_p99 = "800ms" }, 1])";
  EXPECT_EQ(stages_from_toml("stages = " + both), both);
  EXPECT_EQ(stages_from_toml("[[stages]]\nshare = 0.5\n"
                             "[[stages]]\nshare = 1\nmin_calls = 7\n"),
            "[0.5, { share = 1, min_calls = 7 }]");
  EXPECT_EQ(stages_from_toml("stages = [{ share = 0.5 }]"), "[0.5]");
  canary_config c;
  c.stages = {0.01, {0.3, {.dwell = 1h, .max_p99 = 800ms}}, 1.0};
  EXPECT_TRUE(problems_of(c).empty());
  EXPECT_EQ(text_of_stages(c), both);
}

TEST(canary_stages, are_read_from_their_own_text) {
  canary_config c;
  c.stages = {{0.25,
               {.dwell = unlimited,
                .min_calls = 5,
                .max_error_excess = 0.5,
                .max_latency_ratio = 2,
                .min_latency_excess = 3ms,
                .significance_level = 0.25,
                .max_p99 = 1500us,
                .max_failures_in_a_row = 0,
                .max_difference_rate = 0.125}},
              1.0};
  auto text = text_of_stages(c);
  canary_config read;
  auto found = read_settings(settings_from_text({{"stages", text}}), {}, read);
  EXPECT_EQ(to_text(found), "");
  EXPECT_EQ(read.stages, c.stages);
}

TEST(canary_stages, say_what_is_wrong_and_where) {
  struct {
    std::string stages;
    std::string problem;
  } const table[] = {
    {"[{ dwell = \"1s\" }]", "c.toml:1:11: stages[0].share: "},
    {"[0.1, { share = 0.5, dwell = \"0s\" }]",
     "stages[1].dwell: \"0s\" is out of range, allowed: 1ms to unlimited (in "
     "stage_2)"},
    {"[0.1, { share = 0.5, min_calls = 0 }]", "(in stage_2)"},
    {"[0.1, { share = 0.5, max_p99 = \"soon\" }]", "stages[1].max_p99: "},
    {"[0.1, { share = 0.5, dwel = \"1s\" }]", "did you mean \"dwell\"?"},
    {"[0.1, { share = 0.5, window = \"1s\" }]", "stages[1].window: unknown"},
    {"[0.5, { share = 0.1, min_calls = 3 }]",
     "stages[1].share: 0.1 is not greater than the share of the stage before"},
    {"[{ share = 2 }]", "stages[0].share: 2 is out of range"},
    {"[[0.5]]", "stages[0]"},
  };
  for (const auto& x : table)
    EXPECT_THAT(stages_from_toml("stages = " + x.stages), HasSubstr(x.problem));
}

TEST(canary_stages, are_checked_in_code_and_in_text) {
  canary_config c;
  c.stages = {0.1, {0.5, {.dwell = 0s, .max_error_excess = 2}}, {0.4, {}}};
  EXPECT_EQ(
    kinds_and_keys(problems_of(c)),
    (strings{"range stages[1].dwell", "range stages[1].max_error_excess"}));
  EXPECT_THAT(problems_of(c).at(0).message, HasSubstr("in stage_2"));
  canary_config read;
  auto problems_in = [&](const std::string& text) {
    return kinds_and_keys(
      read_settings(settings_from_text({{"stages", text}}), {}, read));
  };
  for (auto* text :
       {"[{ share = 0.5", "{ share = 0.5 }", "[{ share = 0.5 }] 1",
        "[{ share = 0.5, }]", "[{ share }]", "[{ share = }]", "[{ = 0.5 }]",
        "[{ share = 0.1, share = 0.2 }]", "[{ share = 0.5 } 0.6]",
        "[, { share = 0.5 }]", "[{ share = { x = 1 } }]", "[{ share = [1] }]",
        "[{ share = 0.5, dwell = \"1s }]", "[{ share = 0.5, dwell = '\\n' }]",
        "[{ sh are = 0.5 }]", "[{ share = 0.5 }, ,]", "{"})
    EXPECT_EQ(problems_in(text), strings{"syntax stages"}) << text;
  // What cannot be read is not compared with its neighbours.
  EXPECT_EQ(problems_in("[0.1, x, 0.5]"), strings{"type stages[1]"});
  EXPECT_EQ(problems_in("[0.5, { share = 2 }, 0.4]"),
            strings{"range stages[1].share"});
  for (auto* text : {"[0.1,{share=0.5,dwell='1h'}]",
                     " [ 0.1 , { share = 0.5 , dwell = 1h }, ]"
                     "\n"}) {
    EXPECT_EQ(problems_in(text), strings{}) << text;
    EXPECT_EQ(read.stages,
              (std::vector<canary_stage>{0.1, {0.5, {.dwell = 1h}}}))
      << text;
  }
  // Those beyond the last one have no names.
  std::string many = "[0.01";
  for (int i = 2; i < 30; ++i)
    many += fmt::format(", {}", 0.01 * i);
  EXPECT_EQ(problems_in(many + ", 0.2]"),
            (strings{"range stages", "relation stages"}));
  EXPECT_EQ(problems_in("[{ share = 0.5, dwell = \"0s\" }]"),
            strings{"range stages[0].dwell"});
}

// -- limits in force ----------------------------------------------------------

canary_config own_limits() {
  auto c = quick_canary();
  c.max_error_excess = 1;
  c.stages = {{0.1, {.dwell = 1s, .min_calls = 2}},
              0.5,
              {1.0, {.dwell = 3s, .max_failures_in_a_row = 2}}};
  return c;
}

TEST(canary_stages, last_as_long_and_need_as_many_answers_as_each_says) {
  canary_rig h{own_limits()};
  h.canary_answers(1);
  h.advance(1s);
  EXPECT_EQ(h.state(), "stage_1");
  h.canary_answers(1);
  EXPECT_EQ(h.state(), "stage_2");
  // Here the layer's count.
  h.advance(10s);
  h.canary_answers(9);
  EXPECT_EQ(h.state(), "stage_2");
  h.canary_answers(1);
  EXPECT_EQ(h.state(), "stage_3");
  h.canary_answers(10);
  h.advance(3s - 1ns);
  EXPECT_EQ(h.state(), "stage_3");
  h.advance(1ns);
  EXPECT_EQ(h.state(), "promoted");
}

TEST(canary_stages, report_which_limits_are_in_force) {
  auto c = own_limits();
  canary_rig h{c};
  auto limits = [&] { return h.policy.notes().at("limits"); };
  EXPECT_EQ(limits(), "dwell = 1s, min_calls = 2, max_error_excess = 1, "
                      "max_latency_ratio = 1.5, min_latency_excess = 1ms, "
                      "significance_level = 1, max_p99 = unlimited, "
                      "max_failures_in_a_row = 0, max_difference_rate = 0.001");
  h.canary_answers(2);
  h.advance(1s);
  EXPECT_THAT(limits(), HasSubstr("dwell = 10s, min_calls = 10, "));
  c.min_calls = 12;
  h.reconfigure(c);
  EXPECT_THAT(limits(), HasSubstr("dwell = 10s, min_calls = 12, "));
}

TEST(canary_stages, end_by_their_own_limits_also_after_the_last_one) {
  canary_rig h{own_limits()};
  h.canary_answers(2);
  h.advance(1s);
  h.canary_answers(3, failed());
  EXPECT_EQ(h.state(), "stage_2");
  h.canary_answers(200);
  h.advance(10s);
  ASSERT_EQ(h.state(), "stage_3");
  h.canary_answers(10);
  h.advance(3s);
  ASSERT_EQ(h.state(), "promoted");
  h.canary_answers(2, failed());
  EXPECT_EQ(h.changes().back(), "promoted>rolled_back: 2 failures in a row");
}

TEST(canary_stages, have_their_own_failure_rate_and_latency) {
  struct {
    canary_limits own;
    outcome answer;
    duration took;
    std::string state;
  } const table[] = {
    {{}, failed(), 0s, "rolled_back"},
    {{.max_error_excess = 1}, failed(), 0s, "stage_1"},
    {{}, outcome::success(), 50ms, "rolled_back"},
    {{.max_latency_ratio = 10}, outcome::success(), 50ms, "stage_1"},
    {{.min_latency_excess = 1s}, outcome::success(), 50ms, "stage_1"},
    {{.min_calls = 11}, failed(), 0s, "stage_1"},
  };
  for (const auto& x : table) {
    auto c = quick_canary();
    c.stages = {{0.1, x.own}, 1.0};
    canary_rig h{c};
    h.baseline_answers(20, outcome::success(), 10ms);
    h.canary_answers(10, x.answer, x.took);
    EXPECT_EQ(h.state(), x.state) << to_text(rules_of(c, c.stages[0]));
  }
}

// -- change -------------------------------------------------------------------

TEST(canary_stages, go_on_under_other_limits) {
  canary_rig h;
  h.canary_answers(4);
  h.advance(5s);
  auto c = quick_canary();
  c.stages = {{0.1, {.dwell = 6s, .min_calls = 4}}, 0.5, 1.0};
  h.reconfigure(c);
  EXPECT_EQ(h.state(), "stage_1");
  EXPECT_EQ(h.count("stage_answers"), 4);
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 1s);
  c.stages[0].own.dwell = 5s;
  h.reconfigure(c);
  EXPECT_EQ(h.state(), "stage_2");
  EXPECT_EQ(h.changes().size(), 2u);
  c.stages[1].own.max_failures_in_a_row = 1;
  h.reconfigure(c);
  EXPECT_EQ(h.state(), "stage_2");
  h.canary_answers(1, failed());
  EXPECT_EQ(h.state(), "rolled_back");
}

TEST(canary_stages, begin_anew_with_other_shares_only) {
  canary_rig h;
  h.canary_answers(4);
  auto c = quick_canary();
  c.stages = {{0.1, {.min_calls = 5}}, 0.6, 1.0};
  h.reconfigure(c);
  EXPECT_EQ(h.count("stage_answers"), 0);
  EXPECT_EQ(h.state(), "stage_1");
}

} // namespace
} // namespace caisson::test
