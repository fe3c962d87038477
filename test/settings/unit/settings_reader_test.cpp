#include <support/sample_config.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct bounded {
  duration wait = 1s;
  std::int64_t up = 0;
  std::int64_t down = 0;
  std::int64_t any = 0;
  double free = 0;
};

void describe(field_visitor& v, bounded& c) {
  constexpr auto lo = std::numeric_limits<std::int64_t>::min();
  constexpr auto hi = std::numeric_limits<std::int64_t>::max();
  constexpr auto inf = std::numeric_limits<double>::infinity();
  v.on({"wait", ""}, c.wait, {1ms, 1h});
  v.on({"up", ""}, c.up, {0, hi});
  v.on({"down", ""}, c.down, {lo, 0});
  v.on({"any", ""}, c.any, {lo, hi});
  v.on({"free", ""}, c.free, {-inf, inf});
}

using pairs = std::map<std::string, std::string>;

template <class T>
setting placed(std::string place, T value) {
  return {std::move(value), std::move(place)};
}

// What reading `from` over a fresh config complains about.
template <class Config = sample_config>
std::string read_complaint(const settings& from, Config c = {}) {
  return to_text(read_settings(from, "s", c));
}

template <class Config = sample_config>
std::string text_complaint(const pairs& from) {
  return read_complaint<Config>(settings_from_text(from));
}

template <class T>
std::string complaint_about(const std::string& key, T value) {
  settings from;
  from[key] = {std::move(value), ""};
  return read_complaint(from);
}

// -- reading typed values -----------------------------------------------------

TEST(settings, absent_fields_keep_their_values) {
  sample_config c;
  c.least = 3;
  EXPECT_TRUE(read_settings({}, "s", c).empty());
  EXPECT_EQ(c.least, 3u);
  EXPECT_EQ(c.wait, 1s);
}

TEST(settings, every_type_is_read) {
  settings from;
  from["name"] = placed("", std::string{"db"});
  from["mode"] = placed("", std::string{"observe"});
  from["loud"] = placed("", true);
  from["least"] = placed("", std::int64_t{2});
  from["ratio"] = placed("", 0.25);
  from["wait"] = placed("", std::string{"1.5s"});
  from["pause"] = placed("", std::string{"20ms"});
  from["words"] = placed("",
                         std::vector<setting>{placed("", std::string{"a"}),
                                              placed("", std::string{"b, c"})});
  sample_config c;
  EXPECT_EQ(to_text(read_settings(from, "s", c)), "");
  EXPECT_EQ(c.name, "db");
  EXPECT_EQ(c.mode, mode::observe);
  EXPECT_TRUE(c.loud);
  EXPECT_EQ(c.least, 2u);
  EXPECT_EQ(c.ratio, 0.25);
  EXPECT_EQ(c.wait, 1500ms);
  EXPECT_EQ(c.pause, schedule::constant(20ms));
  EXPECT_EQ(c.words, (std::vector<std::string>{"a", "b, c"}));
}

TEST(settings, an_integer_is_a_number_but_a_number_is_no_integer) {
  EXPECT_EQ(complaint_about("ratio", std::int64_t{1}), "");
  EXPECT_EQ(complaint_about("least", 2.0),
            "s.least: 2.0 is not an integer, allowed: 1 to 100");
}

TEST(settings, a_wrong_type_is_named_with_what_is_allowed) {
  EXPECT_EQ(complaint_about("loud", std::string{"true"}),
            "s.loud: \"true\" is not a boolean, allowed: true, false");
  EXPECT_EQ(complaint_about("least", std::string{"2"}),
            "s.least: \"2\" is not an integer, allowed: 1 to 100");
  EXPECT_EQ(complaint_about("ratio", settings{}),
            "s.ratio: a table is not a number, allowed: 0 to 1");
  EXPECT_EQ(complaint_about("wait", std::int64_t{5}),
            "s.wait: 5 is not a duration, allowed: a number with ns, us, ms, "
            "s, min, h or d, such as \"250ms\", or \"unlimited\"");
  EXPECT_EQ(complaint_about("name", true),
            "s.name: true is not a string, allowed: a text in quotes");
  EXPECT_EQ(complaint_about("mode", std::int64_t{1}),
            "s.mode: 1 is not one of: enforce, observe, off");
  EXPECT_EQ(complaint_about("words", std::string{"a"}),
            "s.words: \"a\" is not a list, allowed: a list of strings");
  EXPECT_EQ(complaint_about("pause", true),
            "s.pause: true is not a schedule, allowed: a duration such as "
            "\"250ms\", \"none\", a table or a list of durations or tables");
}

TEST(settings, every_wrong_item_of_a_list_is_reported_where_it_stands) {
  settings from;
  from["words"] = placed(
    "f:1:1", std::vector<setting>{placed("f:1:2", std::int64_t{1}),
                                  placed("f:1:4", std::string{"ok"}),
                                  placed("f:1:8", std::vector<setting>{})});
  EXPECT_EQ(read_complaint(from), "f:1:2: s.words[0]: 1 is not a string\n"
                                  "f:1:8: s.words[2]: a list is not a string");
}

TEST(settings, values_outside_of_the_range_are_refused) {
  EXPECT_EQ(complaint_about("least", std::int64_t{0}),
            "s.least: 0 is out of range, allowed: 1 to 100");
  EXPECT_EQ(complaint_about("most", std::int64_t{1'000'001}),
            "s.most: 1000001 is out of range, allowed: 1 to 1000000");
  EXPECT_EQ(complaint_about("ratio", 1.5),
            "s.ratio: 1.5 is out of range, allowed: 0 to 1");
  EXPECT_EQ(complaint_about("ratio", std::nan("")),
            "s.ratio: nan is not a finite number, allowed: 0 to 1");
  EXPECT_EQ(complaint_about("ratio", HUGE_VAL),
            "s.ratio: inf is not a finite number, allowed: 0 to 1");
}

TEST(settings, both_ends_of_a_range_belong_to_it) {
  for (std::int64_t n : {1, 5})
    EXPECT_EQ(complaint_about("least", n), "") << n;
  EXPECT_EQ(complaint_about("most", std::int64_t{1'000'000}), "");
  EXPECT_EQ(complaint_about("ratio", 0.0), "");
  EXPECT_EQ(complaint_about("ratio", 1.0), "");
  EXPECT_EQ(text_complaint({{"wait", "0"}}), "");
  EXPECT_EQ(text_complaint({{"wait", "unlimited"}}), "");
}

TEST(settings, a_bound_that_is_the_types_own_is_left_out) {
  EXPECT_EQ(text_complaint<bounded>({{"up", "-1"}}),
            "s.up: -1 is out of range, allowed: at least 0");
  EXPECT_EQ(text_complaint<bounded>({{"down", "1"}}),
            "s.down: 1 is out of range, allowed: at most 0");
  EXPECT_EQ(text_complaint<bounded>({{"any", "9223372036854775808"}}),
            "s.any: 9223372036854775808 is out of range, allowed: any integer");
  EXPECT_EQ(text_complaint<bounded>({{"free", "x"}}),
            "s.free: \"x\" is not a number, allowed: any finite number");
  EXPECT_EQ(text_complaint<bounded>({{"any", "-9223372036854775808"}}), "");
}

TEST(settings, a_bounded_duration_does_not_offer_unlimited) {
  EXPECT_EQ(text_complaint<bounded>({{"wait", "x"}}),
            "s.wait: \"x\" is not a duration, allowed: a number with ns, us, "
            "ms, s, min, h or d, such as \"250ms\", from 1ms to 1h");
  EXPECT_EQ(text_complaint<bounded>({{"wait", "unlimited"}}),
            "s.wait: \"unlimited\" is out of range, allowed: 1ms to 1h");
  EXPECT_EQ(text_complaint<bounded>({{"wait", "0"}}),
            "s.wait: 0 is out of range, allowed: 1ms to 1h");
  EXPECT_EQ(text_complaint<bounded>({{"wait", "1ms"}}), "");
  EXPECT_EQ(text_complaint<bounded>({{"wait", "1h"}}), "");
}

// -- reading text -------------------------------------------------------------

TEST(settings_text, is_read_by_the_type_of_the_field) {
  sample_config c;
  auto from = settings_from_text({{"name", "7"},
                                  {"mode", "off"},
                                  {"loud", " true "},
                                  {"least", " +2 "},
                                  {"ratio", "1e-1"},
                                  {"wait", "5s"},
                                  {"pause", "20ms"},
                                  {"words", "a, b"}});
  EXPECT_EQ(to_text(read_settings(from, "s", c)), "");
  EXPECT_EQ(c.name, "7");
  EXPECT_EQ(c.mode, mode::off);
  EXPECT_TRUE(c.loud);
  EXPECT_EQ(c.least, 2u);
  EXPECT_EQ(c.ratio, 0.1);
  EXPECT_EQ(c.wait, 5s);
  EXPECT_EQ(c.pause, schedule::constant(20ms));
  EXPECT_EQ(c.words, (std::vector<std::string>{"a", "b"}));
}

TEST(settings_text, that_does_not_fit_is_refused) {
  EXPECT_EQ(text_complaint({{"loud", "yes"}}),
            "s.loud: \"yes\" is not a boolean, allowed: true, false");
  EXPECT_EQ(text_complaint({{"least", "2.0"}}),
            "s.least: 2.0 is not an integer, allowed: 1 to 100");
  EXPECT_EQ(text_complaint({{"least", "2x"}}),
            "s.least: \"2x\" is not an integer, allowed: 1 to 100");
  EXPECT_EQ(text_complaint({{"least", "99999999999999999999"}}),
            "s.least: 99999999999999999999 is out of range, allowed: 1 to "
            "100");
  EXPECT_EQ(text_complaint({{"ratio", "nan"}}),
            "s.ratio: nan is not a finite number, allowed: 0 to 1");
  EXPECT_EQ(text_complaint({{"ratio", "1e999"}}),
            "s.ratio: 1e999 is out of range, allowed: 0 to 1");
  EXPECT_EQ(text_complaint({{"wait", "5 parsecs"}}),
            "s.wait: \"5 parsecs\" is not a duration, allowed: a number with "
            "ns, us, ms, s, min, h or d, such as \"250ms\", or \"unlimited\"");
  EXPECT_EQ(text_complaint({{"mode", "fast"}}),
            "s.mode: \"fast\" is not one of: enforce, observe, off");
}

TEST(settings_text, gives_lists_in_three_ways) {
  using words = std::vector<std::string>;
  const std::pair<std::string, words> cases[] = {
    {"", {}},
    {" ", {}},
    {"[]", {}},
    {"a", {"a"}},
    {"a,b", {"a", "b"}},
    {" a , b ", {"a", "b"}},
    {"[a, b]", {"a", "b"}},
    {"[\"a\", \"b c\"]", {"a", "b c"}},
    {"a,,b", {"a", "", "b"}},
    {"a,", {"a", ""}},
  };
  for (const auto& [text, expected] : cases) {
    sample_config c;
    c.words = {"before"};
    EXPECT_TRUE(
      read_settings(settings_from_text({{"words", text}}), "s", c).empty());
    EXPECT_EQ(c.words, expected) << text;
  }
}

TEST(settings_text, dotted_keys_give_tables) {
  auto from = settings_from_text({{"a.b.c", "1"}, {"a.d", "2"}, {"e", "3"}});
  EXPECT_EQ(from.size(), 2u);
  const auto& a = std::get<settings>(from.at("a").value);
  const auto& b = std::get<settings>(a.at("b").value);
  EXPECT_EQ(std::get<setting::raw>(b.at("c").value).text, "1");
  EXPECT_EQ(std::get<setting::raw>(a.at("d").value).text, "2");
  EXPECT_EQ(std::get<setting::raw>(from.at("e").value).text, "3");
}

TEST(settings_text, a_value_and_a_part_of_it_cannot_both_be_given) {
  EXPECT_EQ(text_complaint({{"pause", "5s"}, {"pause.base", "3s"}}),
            "s.pause.base: cannot be given beside a value for \"pause\" as a "
            "whole");
}

TEST(settings_text, empty_parts_of_keys_are_unknown_keys) {
  for (auto key : {"", ".", "wait.", ".wait"})
    EXPECT_NE(text_complaint({{key, "5s"}}), "") << key;
}

// -- problems -----------------------------------------------------------------

TEST(problems, unknown_keys_are_named_with_the_nearest_known_one) {
  constexpr auto known
    = "known keys: name, mode, loud, least, most, ratio, wait, pause, words";
  const std::pair<std::string, std::string> cases[] = {
    {"lest", ", did you mean \"least\"? "},
    {"wiat", ", did you mean \"wait\"? "},
    {"Ratio", ", did you mean \"ratio\"? "},
    {"word", ", did you mean \"words\"? "},
    {"threshold", ", "},
    {"x", ", "},
  };
  for (const auto& [key, hint] : cases)
    EXPECT_EQ(text_complaint({{key, "1"}}),
              "s." + key + ": unknown key" + hint + known);
}

TEST(problems, all_are_reported_at_once_and_nothing_changes) {
  settings from;
  from["least"] = placed("f:1:9", std::int64_t{50});
  from["wait"] = placed("f:2:8", std::string{"x"});
  from["loud"] = placed("f:3:8", true);
  from["extra"] = placed("f:4:9", true);
  sample_config c;
  auto found = read_settings(from, "s", c);
  ASSERT_EQ(found.size(), 3u);
  using enum problem_kind;
  EXPECT_EQ(found[0].key, "s.wait");
  EXPECT_EQ(found[0].kind, type);
  EXPECT_EQ(found[0].place, "f:2:8");
  EXPECT_EQ(found[1].key, "s.extra");
  EXPECT_EQ(found[1].kind, unknown);
  EXPECT_EQ(found[1].place, "f:4:9");
  EXPECT_EQ(found[2],
            (problem{relation, "s.least", "must not exceed most", "f:1:9"}));
  EXPECT_FALSE(c.loud);
  EXPECT_EQ(c.least, 1u);
}

TEST(problems, of_relations_without_a_value_stand_at_the_table) {
  settings from;
  from["most"] = placed("f:1:9", std::int64_t{2});
  sample_config c;
  c.least = 3;
  auto found = read_settings(from, "s", c, "f:0:1");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, "f:0:1");
}

TEST(problems, are_reported_once_for_one_key) {
  using enum problem_kind;
  problems out{{range, "s.a", "first", "f:1:1"}};
  settings from;
  from["b"] = placed("f:2:2", true);
  add_problems({{relation, "s.a", "second"},
                {relation, "s.b", "x"},
                {range, "s.b", "y"},
                {range, "s.c", "z"}},
               {from, "s", "f:9:9"}, out);
  EXPECT_EQ(to_text(out), "f:1:1: s.a: first\nf:2:2: s.b: x\nf:2:2: s.b: "
                          "y\nf:9:9: s.c: z");
}

TEST(problems, read_as_one_line_each) {
  constexpr auto kind = problem_kind::type;
  EXPECT_EQ(to_text(problem{kind, "a.b", "m", "f:1:2"}), "f:1:2: a.b: m");
  EXPECT_EQ(to_text(problem{kind, "a.b", "m"}), "a.b: m");
  EXPECT_EQ(to_text(problem{kind, {}, "m", "f"}), "f: m");
  EXPECT_EQ(to_text(problem{kind, {}, "m"}), "m");
  EXPECT_EQ(to_text(problems{}), "");
}

TEST(problems, show_values_on_one_line_and_not_too_long) {
  EXPECT_EQ(complaint_about("mode", std::string{"a\n\"b\\"}),
            "s.mode: \"a\\x0a\\\"b\\\\\" is not one of: enforce, observe, off");
  EXPECT_EQ(complaint_about("mode", std::string(100, 'x')),
            "s.mode: \"" + std::string(80, 'x')
              + "…\" is not one of: enforce, observe, off");
  // 79 bytes, then a character of two bytes that must not be cut in half.
  EXPECT_EQ(complaint_about("mode", std::string(79, 'x') + "éé"),
            "s.mode: \"" + std::string(79, 'x')
              + "…\" is not one of: enforce, observe, off");
}

TEST(config_error, lists_every_problem) {
  sample_config c;
  c.least = 0;
  c.ratio = 2;
  try {
    require_valid(c);
    FAIL() << "nothing thrown";
  } catch (const config_error& e) {
    EXPECT_EQ(e.all().size(), 2u);
    EXPECT_STREQ(e.what(), "least: 0 is out of range, allowed: 1 to 100\n"
                           "ratio: 2 is out of range, allowed: 0 to 1");
  }
}

// -- values set in code -------------------------------------------------------

TEST(range_checker, finds_what_the_reader_would_find) {
  EXPECT_TRUE(problems_of(sample_config{}).empty());
  sample_config c;
  c.mode = static_cast<mode>(7);
  c.least = 101;
  c.most = 0;
  c.ratio = std::nan("");
  c.wait = -1s;
  c.pause = schedule::constant(-1s);
  EXPECT_EQ(to_text(problems_of(c, "s")),
            "s.mode: value 7 is not one of: enforce, observe, off\n"
            "s.least: 101 is out of range, allowed: 1 to 100\n"
            "s.most: 0 is out of range, allowed: 1 to 1000000\n"
            "s.ratio: nan is not a finite number, allowed: 0 to 1\n"
            "s.wait: -1s is out of range, allowed: 0s to unlimited\n"
            "s.pause.base: -1s is out of range, allowed: 0s to unlimited\n"
            "s.least: must not exceed most");
}

} // namespace
} // namespace caisson::test
