// Limits of configuration for those that read it, whoever wrote it.
#include <caisson/policy/policy_config.hpp>
#include <caisson/policy/schedule_settings.hpp>
#include <caisson/settings/settings_text.hpp>

#include <support/toml_texts.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct pause_config {
  std::string name;
  caisson::mode mode = caisson::mode::enforce;
  schedule pause = schedule::constant(10ms);
};

void describe(field_visitor& v, pause_config& c) {
  describe_common(v, c);
  v.on({"pause", "between"}, c.pause);
}

problems problems_with(const std::map<std::string, std::string>& texts) {
  pause_config c;
  return read_settings(settings_from_text(texts), "s", c);
}

// -- keys ---------------------------------------------------------------------

TEST(settings_limits, a_key_of_very_many_parts_is_one_problem) {
  auto key = std::string(300'000, '.');
  auto found = problems_with({{key, "1"}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].key, setting_path{"s"} / key);
  EXPECT_EQ(found[0].message, too_deep);
  EXPECT_LT(to_text(found).size(), 500u);
}

TEST(settings_limits, a_key_below_a_field_is_one_too) {
  auto found = problems_with({{"pause" + repeated(".a", 300'000), "1"}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, too_deep);
}

TEST(settings_limits, a_key_of_64_parts_is_taken_apart_and_one_of_65_is_not) {
  auto most = "a" + repeated(".a", most_levels - 1);
  EXPECT_TRUE(settings_from_text({{most, "1"}}).contains("a"));
  EXPECT_EQ(problems_with({{most, "1"}})[0].key, "s.a");
  auto more = most + ".a";
  EXPECT_TRUE(settings_from_text({{more, "1"}}).contains(more));
  EXPECT_EQ(problems_with({{more, "1"}})[0].message, too_deep);
}

TEST(settings_limits, a_key_of_500_bytes_is_unknown_and_a_longer_one_too_long) {
  auto found = problems_with({{std::string(longest_key, 'a'), "1"}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].message.starts_with("unknown key, known keys: name"));
  found = problems_with({{std::string(longest_key + 1, 'a'), "1"}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "is a key of 501 bytes, allowed: at most 500");
}

TEST(settings_limits, a_value_is_shown_in_part) {
  auto found = problems_with({{"mode", std::string(1'000'000, '7')}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            std::string(80, '7') + "… is not one of: enforce, observe, off");
}

// -- numbers of problems ------------------------------------------------------

TEST(settings_limits, all_unknown_keys_are_counted_and_a_hundred_are_reported) {
  std::map<std::string, std::string> texts;
  for (int i = 0; i < 100'000; ++i)
    texts["key" + std::to_string(i)] = "1";
  auto found = problems_with(texts);
  EXPECT_EQ(found.size(), texts.size());
  auto text = to_text(found);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 100);
  EXPECT_TRUE(text.ends_with("\n... and 99900 more: 100000 problems in all"));
  EXPECT_EQ(config_error{found}.what(), text);
}

TEST(settings_limits, a_hundred_problems_are_all_reported) {
  problems found(most_listed_problems,
                 problem{problem_kind::range, "k", "is bad"});
  auto text = to_text(found);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 99);
  EXPECT_TRUE(text.ends_with("\nk: is bad"));
}

TEST(settings_limits, of_very_many_names_the_first_are_listed) {
  std::vector<std::string> names(61, "n");
  EXPECT_TRUE(detail::listed_names(names).ends_with(", n and 1 more"));
  names.pop_back();
  EXPECT_TRUE(detail::listed_names(names).ends_with(", n, n"));
}

// -- what is shown ------------------------------------------------------------

TEST(printable, escapes_what_a_terminal_would_obey) {
  const std::pair<std::string, std::string> cases[] = {
    {"plain, with \"quotes\" and \\", "plain, with \"quotes\" and \\"},
    {"\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"},
    {"a\nb\r\tc", "a\\x0ab\\x0d\\x09c"},
    {std::string{"\0\x7f", 2}, "\\x00\\x7f"},
    {"\u009b31m", "\\u009b31m"},         // the same escape code in one
    {"a\u2028b", "a\\u2028b"},           // a line break
    {"\u202etxt.exe", "\\u202etxt.exe"}, // from right to left
    {"\u2066x", "\\u2066x"},
    {"\x9b[31m", "\\x9b[31m"}, // not UTF-8
    {"\xe2\x80", "\\xe2\\x80"},
    {"é █ 漢 😀", "é █ 漢 😀"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(detail::printable(text), expected);
    EXPECT_EQ(detail::printable(expected), expected);
  }
}

TEST(problems, are_one_line_each_whatever_is_in_them) {
  EXPECT_EQ(to_text(problem{problem_kind::range, "a\nb", "m\r", "f\x1b"}),
            "f\\x1b: a\\x0ab: m\\x0d");
  EXPECT_EQ(to_text(problem{problem_kind::range, std::string(1000, 'k'), "m"}),
            std::string(300, 'k') + "…: m");
  EXPECT_EQ(to_text(problem{problem_kind::range, {}, std::string(5000, 'm')}),
            std::string(4000, 'm') + "…");
}

} // namespace
} // namespace caisson::test
