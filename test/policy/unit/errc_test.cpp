#include <caisson/policy/errc.hpp>

#include <gtest/gtest.h>

#include <set>

namespace caisson {
namespace {

TEST(errc, names_are_distinct_and_read_back) {
  std::set<std::string_view> names;
  for (int i = 1; i <= last_errc; ++i) {
    auto code = static_cast<errc>(i);
    EXPECT_TRUE(names.insert(name_of(code)).second) << name_of(code);
    EXPECT_EQ(errc_named(name_of(code)), code);
    EXPECT_EQ(to_string(code), name_of(code));
  }
}

TEST(errc, ends_match_their_names) {
  EXPECT_EQ(name_of(errc::breaker_open), "breaker_open");
  EXPECT_EQ(name_of(errc::injected), "injected");
  EXPECT_EQ(name_of(errc::feature_off), "feature_off");
  EXPECT_EQ(name_of(errc::internal_error), "internal_error");
  EXPECT_EQ(name_of(errc::throttled), "throttled");
  EXPECT_EQ(static_cast<int>(errc::throttled), last_errc);
}

TEST(errc, other_values_are_unknown) {
  EXPECT_EQ(name_of(static_cast<errc>(0)), "unknown");
  EXPECT_EQ(name_of(static_cast<errc>(last_errc + 1)), "unknown");
  EXPECT_EQ(name_of(static_cast<errc>(255)), "unknown");
}

TEST(errc, other_names_are_none) {
  for (auto name : {"", "unknown", "Breaker_open", "breaker_open ", "shed2"})
    EXPECT_EQ(errc_named(name), std::nullopt) << name;
}

TEST(errc, a_rejection_happens_before_any_work) {
  const std::set<errc> rejections{
    errc::breaker_open,   errc::queue_full,     errc::wait_timeout,
    errc::rate_limited,   errc::shed,           errc::draining,
    errc::invalid_config, errc::no_such_permit, errc::call_loop,
    errc::feature_off,    errc::throttled,
  };
  for (int i = 1; i <= last_errc; ++i) {
    auto code = static_cast<errc>(i);
    EXPECT_EQ(is_rejection(code), rejections.contains(code)) << name_of(code);
  }
  EXPECT_FALSE(is_rejection(static_cast<errc>(0)));
}

} // namespace
} // namespace caisson
