// The table `per_key` of a layer, from code, from TOML and as text.
#include <caisson/policies.hpp>
#include <caisson/stack/built_in_kinds.hpp>

#include <support/stack_texts.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;

constexpr auto limited = "[[stack.s.layer]]\nkind = 'limiter'\nrate = 50\n"
                         "[stack.s.layer.per_key]\nmax_keys = 7\n"
                         "idle = '1min'\nkeyless = 'pass'\n"
                         "[stack.s.layer.per_key.overrides.gold]\nrate = 500\n"
                         "[stack.s.layer.per_key.overrides.'a.b/c']\n"
                         "burst = 3\nmax_wait = '2s'\n";

TEST(per_key_settings, are_the_same_from_toml_as_from_code) {
  auto coded = stack{"s"}.add<keyed<limiter>>(
    {{.rate = 50},
     {.max_keys = 7,
      .idle = 1min,
      .keyless = keyless_calls::pass,
      .overrides = {{"gold", {{"rate", "500"}}},
                    {"a.b/c", {{"burst", "3"}, {"max_wait", "2s"}}}}}});
  auto rows = rows_in(coded);
  EXPECT_THAT(rows,
              Contains("per_key = { max_keys = 7, idle = 1min, keyless = pass, "
                       "overrides = { a.b/c = { burst = 3, max_wait = 2s }, "
                       "gold = { rate = 500 } } }"));
  auto read = rows_in(only_stack(limited).policies);
  EXPECT_THAT(read, Contains("rate = 50"));
  EXPECT_THAT(read, Contains("[limiter: limiter]"));
  EXPECT_THAT(read, Contains(HasSubstr("{ burst = 3, max_wait = \"2s\" }, "
                                       "gold = { rate = 500 }")));
  EXPECT_EQ(read.size(), rows.size());
}

TEST(per_key_settings, are_for_every_kind_that_ignores_content) {
  std::set<std::string> keyable;
  for (const auto& kind : detail::built_in_kinds()) {
    auto text = "[[stack.s.layer]]\nkind = '" + kind.name + "'\n" + kind.example
                + "per_key = {}\n";
    if (!kind.keyable) {
      EXPECT_THAT(complaint(text), HasSubstr("layer[0].per_key: unknown key"));
      continue;
    }
    keyable.insert(kind.name);
    EXPECT_THAT(rows_in(only_stack(text).policies),
                Contains(HasSubstr("per_key = { max_keys = 10000")))
      << kind.name;
    EXPECT_EQ(only_stack(text).policies.names().at(0), kind.name);
  }
  for (const auto* name :
       {"breaker", "semaphore", "limiter", "retrier", "deadline", "chaos"})
    EXPECT_TRUE(keyable.contains(name)) << name;
}

TEST(per_key_settings, are_what_was_meant_if_their_name_is_misspelled) {
  EXPECT_THAT(complaint("[[stack.s.layer]]\nkind = 'limiter'\nper_kye = {}\n"),
              HasSubstr("did you mean \"per_key\"?"));
}

struct problem_row {
  const char* settings;
  const char* text;
};

class per_key_problems : public testing::TestWithParam<problem_row> {};

TEST_P(per_key_problems, are_reported_with_their_place) {
  auto text = std::string{"[[stack.s.layer]]\nkind = 'limiter'\n"}
              + GetParam().settings;
  EXPECT_EQ(complaint(text), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
  all, per_key_problems,
  testing::Values(
    problem_row{"per_key.max_keys = 0\n",
                "f:3:20: stack.s.layer[0].per_key.max_keys: 0 is out of range, "
                "allowed: 1 to 1000000"},
    problem_row{
      "per_key.idle = '0s'\n",
      "f:3:16: stack.s.layer[0].per_key.idle: \"0s\" is out of range, "
      "allowed: 1s to unlimited"},
    problem_row{"per_key.keyless = 'maybe'\n",
                "f:3:19: stack.s.layer[0].per_key.keyless: \"maybe\" is "
                "not one of: pass, share, reject"},
    problem_row{"per_key = 3\n",
                "f:3:11: stack.s.layer[0].per_key: 3 is not a table"},
    problem_row{"per_key.overrides.gold = 3\n",
                "f:3:26: stack.s.layer[0].per_key.overrides.gold: 3 is not a "
                "table"},
    problem_row{"per_key.overrides.gold.rate = 0\n",
                "f:3:31: stack.s.layer[0].per_key.overrides.gold.rate: 0 is "
                "out of range, allowed: 1 to 1000000000"},
    problem_row{"per_key.overrides.gold.mode = 'off'\n",
                "f:3:31: stack.s.layer[0].per_key.overrides.gold.mode: the "
                "mode is that of the whole layer and cannot differ from key to "
                "key"},
    problem_row{"per_key.overrides.''.rate = 1\n",
                "f:3:19: stack.s.layer[0].per_key.overrides.: a key of 0 "
                "bytes, allowed: 1 to 1024"},
    // A relation: with a time to wait there must be places to wait in.
    problem_row{"max_waiters = 0\nper_key.overrides.gold.max_wait = '1s'\n",
                "f:4:19: stack.s.layer[0].per_key.overrides.gold.max_waiters: "
                "0 lets no call wait, but max_wait is 1s, allowed: 1 to "
                "1000000, or max_wait of 0s"},
    // What is wrong with the layer is not repeated for each key.
    problem_row{"max_waiters = 0\nmax_wait = '1s'\n"
                "per_key.overrides.gold.burst = 2\n",
                "f:3:15: stack.s.layer[0].max_waiters: 0 lets no call wait, "
                "but max_wait is 1s, allowed: 1 to 1000000, or max_wait of "
                "0s"}));

TEST(per_key_settings, in_code_are_checked_at_the_start) {
  auto s = stack{"s"}.add<keyed<semaphore>>(
    {{},
     {.max_keys = 0,
      .overrides = {{"gold", {{"permits", "0"}, {"colour", "red"}}}}}});
  auto text = to_text(s.check());
  EXPECT_THAT(text, HasSubstr("semaphore.per_key.max_keys: 0 is out of range"));
  EXPECT_THAT(text, HasSubstr("semaphore.per_key.overrides.gold.permits: 0 is "
                              "out of range"));
  EXPECT_THAT(text, HasSubstr("semaphore.per_key.overrides.gold.colour: "
                              "unknown key"));
}

TEST(per_key_settings, leave_no_room_for_a_shared_budget_or_a_verifier) {
  EXPECT_THAT(complaint("[[stack.s.layer]]\nkind = 'retrier'\nper_key = {}\n"
                        "budget_name = 'all'\n"),
              HasSubstr("f:4:15: stack.s.layer[0].budget_name: each key has a "
                        "budget of its own"));
  EXPECT_THAT(complaint("[[stack.s.layer]]\nkind = 'retrier'\nper_key = {}\n"
                        "verify = 'nobody'\n"),
              HasSubstr("f:4:10: stack.s.layer[0].verify: cannot be given "
                        "beside per_key"));
}

// -- while it runs ------------------------------------------------------------

class changing : public testing::Test {
protected:
  std::string change(std::map<std::string, std::string> set) {
    return to_text(layer_->change(settings_from_text(set), host_));
  }

  std::vector<std::string> rows() { return texts_of(layer_->config_rows()); }

  random_source random_;
  env host_{time_point{} + 1h, random_};
  std::unique_ptr<layer> layer_ = std::move(
    only_stack(limited).policies.build().at(0));
};

TEST_F(changing, sets_single_values_and_keeps_the_others) {
  EXPECT_EQ(change({{"per_key.max_keys", "9"},
                    {"per_key.overrides.gold.burst", "77"},
                    {"per_key.overrides.new.rate", "1"},
                    {"rate", "60"}}),
            "");
  EXPECT_THAT(rows(), Contains("rate = 60"));
  EXPECT_THAT(rows(),
              Contains("per_key = { max_keys = 9, idle = 1min, keyless = pass, "
                       "overrides = { a.b/c = { burst = 3, max_wait = \"2s\" "
                       "}, gold = { burst = 77, rate = 500 }, new = { rate = 1 "
                       "} } }"));
}

TEST_F(changing, takes_an_override_away) {
  EXPECT_EQ(change({{"per_key.overrides.gold", "none"}}), "");
  EXPECT_THAT(
    rows(), Contains(HasSubstr("overrides = { a.b/c = { burst = 3, max_wait = "
                               "\"2s\" } } }")));
}

TEST_F(changing, refuses_what_does_not_fit_an_override) {
  auto before = rows();
  EXPECT_THAT(change({{"max_waiters", "0"}}),
              HasSubstr("per_key.overrides.a.b/c.max_waiters: 0 lets no call "
                        "wait"));
  EXPECT_THAT(change({{"per_key.overrides.gold.rate", "-1"}}),
              HasSubstr("limiter.per_key.overrides.gold.rate: -1 is out of "
                        "range"));
  EXPECT_EQ(rows(), before);
}

} // namespace
} // namespace caisson::test
