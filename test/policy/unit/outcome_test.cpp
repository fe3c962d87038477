#include <caisson/policy/outcome.hpp>
#include <caisson/policy/policy.hpp>
#include <caisson/policy/policy_config.hpp>

#include <support/judging.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

outcome foreign(std::string_view category, std::uint8_t code) {
  outcome o;
  o.ok = false;
  o.code = code;
  o.category = category_hash(category);
  return o;
}

TEST(outcome, what_is_released_as_neutral_is_judged_by_nobody) {
  auto o = outcome::without_verdict();
  EXPECT_FALSE(o.ok);
  EXPECT_TRUE(o.is(errc::cancelled));
  EXPECT_TRUE(o.may_have_executed);
  classifier all;
  all.by_value = [](const outcome&) { return verdict::failure; };
  classifier listed;
  listed.allow = {"cancelled"};
  for (const auto& c : {classifier{}, all, listed})
    for (const auto& lists : {retry_lists, count_lists})
      EXPECT_EQ(judged(c, o, lists), verdict::neutral);
}

TEST(outcome, success_is_a_value_and_no_error) {
  auto o = outcome::success();
  EXPECT_TRUE(o.ok);
  EXPECT_TRUE(o.may_have_executed);
  EXPECT_EQ(o.code, 0);
  for (int i = 1; i <= last_errc; ++i)
    EXPECT_FALSE(o.is(static_cast<errc>(i)));
}

TEST(outcome, failure_carries_code_category_and_time_to_come_back) {
  auto o = outcome::failure(errc::rate_limited, false, 3s);
  EXPECT_FALSE(o.ok);
  EXPECT_TRUE(o.own_error);
  EXPECT_FALSE(o.may_have_executed);
  EXPECT_TRUE(o.is(errc::rate_limited));
  EXPECT_FALSE(o.is(errc::queue_full));
  EXPECT_EQ(o.category, caisson_category);
  EXPECT_EQ(o.retry_after, 3s);
  // It is the host that knows whose answer it is.
  EXPECT_FALSE(o.from_worker);
}

TEST(outcome, a_foreign_error_with_the_same_code_is_not_ours) {
  auto o = foreign("app", static_cast<std::uint8_t>(errc::rate_limited));
  EXPECT_FALSE(o.is(errc::rate_limited));
}

TEST(category_hash, is_fnv_1a) {
  // Published test vectors of the 64-bit variant.
  EXPECT_EQ(category_hash(""), 0xcbf29ce484222325u);
  EXPECT_EQ(category_hash("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(category_hash("foobar"), 0x85944171f73967e8u);
}

struct table_row {
  errc code;
  verdict may_have_executed;
  verdict not_reached;
};

TEST(classifier, standard_table_covers_every_code) {
  constexpr auto refused = verdict::refused;
  constexpr auto neutral = verdict::neutral;
  constexpr auto transient = verdict::transient;
  const table_row rows[] = {
    {errc::breaker_open, refused, refused},
    {errc::queue_full, refused, refused},
    {errc::wait_timeout, refused, refused},
    {errc::rate_limited, refused, refused},
    {errc::deadline_exceeded, transient, refused},
    {errc::cancelled, neutral, neutral},
    {errc::worker_down, transient, refused},
    {errc::budget_exhausted, neutral, neutral},
    {errc::shed, neutral, neutral},
    {errc::batch_failed, transient, refused},
    {errc::no_such_permit, neutral, neutral},
    {errc::invalid_config, neutral, neutral},
    {errc::draining, neutral, neutral},
    {errc::callback_failed, neutral, neutral},
    {errc::call_loop, neutral, neutral},
    {errc::injected, transient, transient},
    {errc::feature_off, neutral, neutral},
    {errc::internal_error, transient, refused},
    {errc::throttled, neutral, neutral},
  };
  EXPECT_EQ(std::size(rows), last_errc);
  for (const auto& row : rows) {
    EXPECT_EQ(classifier::standard(outcome::failure(row.code, true)),
              row.may_have_executed)
      << name_of(row.code);
    EXPECT_EQ(classifier::standard(outcome::failure(row.code, false)),
              row.not_reached)
      << name_of(row.code);
  }
}

TEST(classifier, standard_table_of_values_and_foreign_errors) {
  EXPECT_EQ(classifier::standard(outcome::success()), verdict::success);
  EXPECT_EQ(classifier::standard(foreign("app", 3)), verdict::transient);
  EXPECT_EQ(classifier::standard(foreign("system_error", 1)), verdict::failure);
  EXPECT_EQ(classifier::standard(foreign("system_error", 2)),
            verdict::transient);
  EXPECT_EQ(classifier::standard(foreign("app", 1)), verdict::transient);
}

TEST(classifier, without_rules_follows_the_table) {
  classifier c;
  auto late = outcome::failure(errc::deadline_exceeded, true);
  EXPECT_EQ(judged(c, late, retry_lists), verdict::transient);
  EXPECT_EQ(judged(c, outcome::success(), retry_lists), verdict::success);
}

TEST(classifier, allow_list_decides_about_all_errors) {
  classifier c;
  c.allow = {"deadline_exceeded", "app:3"};
  auto late = outcome::failure(errc::deadline_exceeded, false);
  auto shed = outcome::failure(errc::shed, true);
  EXPECT_EQ(judged(c, late, retry_lists), verdict::transient);
  EXPECT_EQ(judged(c, shed, retry_lists), verdict::failure);
  EXPECT_EQ(judged(c, foreign("app", 3), retry_lists), verdict::transient);
  EXPECT_EQ(judged(c, foreign("app", 4), retry_lists), verdict::failure);
  EXPECT_EQ(judged(c, foreign("app", 4), count_lists), verdict::neutral);
  EXPECT_EQ(judged(c, outcome::success(), retry_lists), verdict::success);
}

TEST(classifier, deny_list_wins_and_leaves_others_to_the_table) {
  classifier c;
  c.deny = {"app:*", "worker_down"};
  auto down = outcome::failure(errc::worker_down, true);
  auto late = outcome::failure(errc::deadline_exceeded, true);
  EXPECT_EQ(judged(c, down, retry_lists), verdict::failure);
  EXPECT_EQ(judged(c, down, count_lists), verdict::neutral);
  EXPECT_EQ(judged(c, late, retry_lists), verdict::transient);
  EXPECT_EQ(judged(c, foreign("app", 255), retry_lists), verdict::failure);
  EXPECT_EQ(judged(c, foreign("other", 255), retry_lists), verdict::transient);
  c.allow = {"worker_down", "app:3"};
  EXPECT_EQ(judged(c, down, retry_lists), verdict::failure);
  EXPECT_EQ(judged(c, foreign("app", 3), retry_lists), verdict::failure);
}

TEST(classifier, function_comes_before_everything_even_for_values) {
  classifier c;
  c.deny = {"worker_down"};
  c.by_value = [](const outcome& o) {
    return o.ok ? verdict::transient : verdict::neutral;
  };
  EXPECT_EQ(judged(c, outcome::success(), retry_lists), verdict::transient);
  EXPECT_EQ(judged(c, outcome::failure(errc::worker_down, true), retry_lists),
            verdict::neutral);
}

TEST(classifier, a_function_that_throws_has_no_opinion) {
  classifier c;
  c.allow = {"worker_down"};
  c.by_value = [](const outcome& o) -> verdict {
    if (o.ok)
      throw std::runtime_error{"no such field"};
    throw 7;
  };
  for (auto& lists : {retry_lists, count_lists}) {
    listening_env host;
    EXPECT_EQ(c.judge(outcome::success(), lists, host), verdict::neutral);
    EXPECT_EQ(c.judge(outcome::failure(errc::worker_down, true), lists, host),
              verdict::neutral);
    EXPECT_EQ(host.threw,
              (std::vector<std::string>{"by_value: no such field",
                                        "by_value: unknown exception"}));
  }
}

TEST(classifier, accepts_the_three_forms_of_names) {
  EXPECT_EQ(classifier::problem_with({}), "");
  EXPECT_EQ(classifier::problem_with(
              {"shed", "app:1", "app:255", "system_error:*", "a:b:3"}),
            "");
}

TEST(classifier, refuses_names_of_no_error) {
  for (auto name : {"", "typo", "app:", "app:0", "app:256", "app:-1", "app:3x",
                    ":3", ":*", "app:**", "app: 3", "Shed"})
    EXPECT_NE(classifier::problem_with({"shed", name}), "") << name;
}

TEST(classifier, every_wrong_name_is_reported) {
  problems found;
  check_error_names({"typo", "shed", "app:0"}, "deny", "stack.db", found);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(to_text(found[0]),
            "stack.db.deny: \"typo\" names no error, allowed: a caisson error "
            "such as \"deadline_exceeded\", \"<category>:<1 to 255>\" or "
            "\"<category>:*\"");
  EXPECT_TRUE(found[1].message.starts_with("\"app:0\" names no error"));
}

} // namespace
} // namespace caisson::test
