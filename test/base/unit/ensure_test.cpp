#include <caisson/base/ensure.hpp>

#include <support/violations.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace caisson {
namespace {

enum class hue : std::uint8_t { red, green = 7 };

// What is thrown, without the place.
template <class F>
std::string violation_in(F f) {
  test::violations_throw guard;
  try {
    f();
  } catch (const invariant_violation& x) {
    return x.what();
  }
  return "nothing";
}

TEST(ensure, evaluates_its_condition_once) {
  auto times = 0;
  CAISSON_ENSURE(++times > 0);
  EXPECT_EQ(times, 1);
  violation_in([&] { CAISSON_ENSURE(++times < 0); });
  EXPECT_EQ(times, 2);
}

TEST(ensure, evaluates_its_message_only_if_it_is_needed) {
  auto times = 0;
  CAISSON_ENSURE(true, "{}", ++times);
  EXPECT_EQ(times, 0);
  violation_in([&] { CAISSON_ENSURE(false, "{}", ++times); });
  EXPECT_EQ(times, 1);
}

TEST(ensure, says_what_is_wrong_and_where) {
  auto held = 5;
  auto text = violation_in([&] { CAISSON_ENSURE(held <= 3); });
  EXPECT_TRUE(text.starts_with("invariant violated: held <= 3 at ")) << text;
  EXPECT_NE(text.find("test/base/unit/ensure_test.cpp:"), std::string::npos)
    << text;
  EXPECT_EQ(text.find(": ", text.find("cpp:")), std::string::npos) << text;
}

TEST(ensure, its_message_has_values) {
  std::int64_t negative = -4;
  std::uint64_t mask = 255;
  std::string name = "db";
  auto text = violation_in([&] {
    CAISSON_ENSURE(false, "{} {:#x} {} {} {} {}", negative, mask, name,
                   std::string_view{"view"}, hue::green, 1.5);
  });
  EXPECT_TRUE(text.ends_with(": -4 0xff db view 7 1.5")) << text;
}

TEST(ensure, its_durations_are_for_people) {
  using namespace std::chrono_literals;
  auto text = violation_in([&] {
    CAISSON_ENSURE(false, "{} {} {}", duration{48'912'345}, 2s, duration{-5});
  });
  EXPECT_TRUE(text.ends_with(": 48.9 ms 2 s -5 ns")) << text;
}

// -- the current work ---------------------------------------------------------

struct fixed_work final : detail::current_work {
  explicit fixed_work(std::string x) : text(std::move(x)) {}
  [[nodiscard]] std::string describe() const override { return text; }
  std::string text;
};

TEST(ensure, its_text_ends_with_the_current_work) {
  fixed_work outer{"call 1"};
  fixed_work inner{"call 2"};
  auto violated = [] {
    return violation_in([] { CAISSON_ENSURE(false, "so"); });
  };
  detail::work_scope first{outer};
  EXPECT_TRUE(violated().ends_with(": so; call 1"));
  {
    detail::work_scope second{inner};
    EXPECT_TRUE(violated().ends_with(": so; call 2"));
    inner.text.clear();
    EXPECT_TRUE(violated().ends_with(": so"));
  }
  EXPECT_TRUE(violated().ends_with(": so; call 1"));
}

TEST(ensure, what_cannot_be_described_is_left_out) {
  struct broken_work final : detail::current_work {
    [[nodiscard]] std::string describe() const override {
      CAISSON_ENSURE(false, "broken");
      return "call 1";
    }
  } work;
  detail::work_scope scope{work};
  auto text = violation_in([] { CAISSON_ENSURE(false, "so"); });
  EXPECT_TRUE(text.ends_with(": so")) << text;
}

TEST(ensure, a_format_that_does_not_fit_is_shown_as_it_is) {
  auto text = violation_in([] { CAISSON_ENSURE(false, "{} and {}", 1); });
  EXPECT_TRUE(text.ends_with(": {} and {}")) << text;
}

TEST(ensure, takes_conditions_with_commas_in_parentheses) {
  auto sum = [](int a, int b) { return a + b; };
  auto text = violation_in([&] { CAISSON_ENSURE(sum(1, 2) == 4); });
  EXPECT_NE(text.find("sum(1, 2) == 4"), std::string::npos) << text;
}

TEST(ensure, is_one_statement) {
  auto other = false;
  if (!other)
    CAISSON_ENSURE(true);
  else
    FAIL();
}

TEST(ensure, may_stand_in_what_is_constant) {
  // No flag is read, and nothing is thrown, where the condition holds.
  EXPECT_EQ(violation_in([] { CAISSON_ENSURE(1 + 1 == 2, "{}", 1); }),
            "nothing");
}

TEST(ensureDeathTest, ends_a_test_with_its_text) {
  ASSERT_TRUE(aborts_on_violation());
  EXPECT_DEATH(CAISSON_ENSURE(1 > 2, "of {}", 3),
               "invariant violated: 1 > 2 at .*ensure_test.cpp:[0-9]+: of 3");
}

} // namespace
} // namespace caisson
