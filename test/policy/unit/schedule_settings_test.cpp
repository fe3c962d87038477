#include <caisson/policy/schedule_settings.hpp>

#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

namespace caisson {
namespace {

using namespace std::chrono_literals;
using segment = schedule::segment;
using shape = schedule::shape;
using pairs = std::map<std::string, std::string>;

struct backoff_config {
  schedule pause = schedule::exponential(1s).limit(30s);
};

void describe(field_visitor& v, backoff_config& c) {
  v.on({"pause", "between tries"}, c.pause);
}

using texts = std::vector<std::string>;

struct result {
  schedule pause;
  std::string complaint;
  // What is wrong, as programs see it.
  texts mistakes;
};

result read_pause(const settings& from, schedule before) {
  backoff_config c{std::move(before)};
  auto found = read_settings(from, "s", c);
  return {c.pause, to_text(found), test::kinds_and_keys(found)};
}

result read_pause(const pairs& from,
                  schedule before = schedule::exponential(1s).limit(30s)) {
  return read_pause(settings_from_text(from), std::move(before));
}

settings tables(const std::vector<pairs>& from) {
  std::vector<setting> list;
  for (const auto& p : from)
    list.push_back({settings_from_text(p), ""});
  settings out;
  out["pause"].value = list;
  return out;
}

TEST(schedule_settings, a_duration_is_a_constant_delay) {
  auto r = read_pause({{"pause", "5s"}});
  EXPECT_EQ(r.complaint, "");
  EXPECT_EQ(r.pause, schedule::constant(5s));
}

TEST(schedule_settings, none_and_an_empty_list_are_no_delays) {
  EXPECT_EQ(read_pause({{"pause", "none"}}).pause, schedule{});
  auto r = read_pause(tables({}), schedule::constant(1s));
  EXPECT_EQ(r.complaint, "");
  EXPECT_EQ(r.pause, schedule{});
}

TEST(schedule_settings, a_table_with_a_kind_is_a_new_segment) {
  auto r = read_pause({{"pause.kind", "linear"},
                       {"pause.base", "10ms"},
                       {"pause.step", "5ms"},
                       {"pause.jitter", "factor"},
                       {"pause.jitter_factor", "0.5"},
                       {"pause.take", "4"},
                       {"pause.until", "1min"}});
  EXPECT_EQ(r.complaint, "");
  EXPECT_EQ(r.pause, schedule::linear(10ms, 5ms)
                       .jittered(jitter::factor, 0.5)
                       .take(4)
                       .until(1min));
}

TEST(schedule_settings, every_kind_has_a_name) {
  const std::pair<pairs, schedule> cases[] = {
    {{{"pause.kind", "constant"}}, schedule::constant(0s)},
    {{{"pause.kind", "constant"}, {"pause.base", "2s"}},
     schedule::constant(2s)},
    {{{"pause.kind", "exponential"}, {"pause.base", "2s"}},
     schedule::exponential(2s)},
    {{{"pause.kind", "fibonacci"}, {"pause.base", "2s"}},
     schedule::fibonacci(2s)},
    {{{"pause.kind", "decorrelated"},
      {"pause.base", "2s"},
      {"pause.max", "9s"},
      {"pause.factor", "3"}},
     schedule::decorrelated(2s, 9s)},
  };
  for (const auto& [from, expected] : cases) {
    auto r = read_pause(from);
    EXPECT_EQ(r.complaint, "");
    EXPECT_EQ(r.pause, expected) << to_text(expected);
  }
  EXPECT_EQ(read_pause({{"pause.kind", "custom"}}).complaint,
            "s.pause.kind: \"custom\" is not one of: constant, linear, "
            "exponential, fibonacci, decorrelated, list");
}

TEST(schedule_settings, a_table_without_a_kind_changes_single_fields) {
  auto r = read_pause({{"pause.base", "5s"}, {"pause.jitter", "full"}});
  EXPECT_EQ(r.complaint, "");
  EXPECT_EQ(r.pause,
            schedule::exponential(5s).limit(30s).jittered(jitter::full));
}

TEST(schedule_settings, a_table_without_a_kind_needs_one_segment_or_none) {
  auto s = schedule::constant(1s);
  auto r = read_pause({{"pause.base", "5s"}}, s.take(1).then(s));
  EXPECT_EQ(r.complaint,
            "s.pause.kind: is missing: the present schedule has 2 segments, so "
            "single fields cannot be changed");
  EXPECT_EQ(r.pause, s.take(1).then(s));
  EXPECT_EQ(read_pause({{"pause.base", "5s"}}, schedule{}).pause,
            schedule::constant(5s));
}

TEST(schedule_settings, a_function_keeps_its_bounds_changeable) {
  auto s = schedule::custom([](std::uint32_t) { return duration{1s}; });
  EXPECT_EQ(read_pause({{"pause.max", "2s"}}, s).pause, s.limit(2s));
  EXPECT_EQ(read_pause({{"pause.base", "2s"}}, s).mistakes,
            texts{"relation s.pause.base"});
}

TEST(schedule_settings, a_list_of_tables_gives_segments_in_order) {
  auto r = read_pause(tables({{{"base", "1s"}, {"take", "1"}},
                              {{"kind", "fibonacci"}, {"base", "2s"}}}),
                      {});
  EXPECT_EQ(r.complaint, "");
  EXPECT_EQ(r.pause,
            schedule::constant(1s).take(1).then(schedule::fibonacci(2s)));
}

TEST(schedule_settings, problems_in_a_list_name_the_segment) {
  auto r = read_pause(
    tables({{{"base", "x"}}, {{"kind", "linear"}, {"sep", "1s"}}}),
    schedule::constant(1s));
  EXPECT_EQ(r.mistakes,
            (texts{"type s.pause[0].base", "unknown s.pause[1].sep"}));
  EXPECT_EQ(r.pause, schedule::constant(1s));
}

TEST(schedule_settings, an_item_that_is_no_table_is_refused) {
  settings from;
  from["pause"].value = std::vector<setting>{
    {std::string{"5s"}, "f:1:2"}, {settings_from_text({{"base", "1s"}}), ""}};
  EXPECT_EQ(read_pause(from, {}).complaint,
            "f:1:2: s.pause[0]: \"5s\" is not a segment, allowed: a table");
}

TEST(schedule_settings, a_list_of_durations_is_a_list_of_delays) {
  settings from;
  from["pause"].value = std::vector<setting>{{std::string{"10ms"}, "f:1:2"},
                                             {std::string{"0s"}, "f:1:8"},
                                             {std::string{"1s"}, "f:1:12"}};
  auto r = read_pause(from, {});
  EXPECT_EQ(r.complaint, "");
  EXPECT_EQ(r.pause, schedule::list({10ms, 0s, 1s}));
  for (std::string text :
       {"10ms, 0s, 1s", "[10ms,0s,1s]", " [\"10ms\", 0s,1s]"})
    EXPECT_EQ(read_pause({{"pause", text}}).pause, r.pause) << text;
  EXPECT_EQ(read_pause({{"pause.kind", "list"},
                        {"pause.delays", "10ms, 20ms"},
                        {"pause.jitter", "full"},
                        {"pause.take", "1"}})
              .pause,
            schedule::list({10ms, 20ms}).jittered(jitter::full).take(1));
}

TEST(schedule_settings, a_delay_that_is_none_is_named) {
  settings from;
  from["pause"].value = std::vector<setting>{{std::string{"10ms"}, "f:1:2"},
                                             {std::string{"soon"}, "f:1:8"},
                                             {std::string{"-1s"}, "f:1:12"}};
  auto r = read_pause(from, schedule::constant(1s));
  EXPECT_EQ(r.mistakes, (texts{"type s.pause[1]", "type s.pause[2]"}));
  EXPECT_EQ(r.complaint.substr(0, 20), "f:1:8: s.pause[1]: \"");
  EXPECT_EQ(r.pause, schedule::constant(1s));
  std::vector<setting> long_one(1'001, setting{std::string{"1s"}, ""});
  from["pause"].value = long_one;
  EXPECT_EQ(read_pause(from, {}).mistakes, texts{"range s.pause"});
  long_one.pop_back();
  from["pause"].value = long_one;
  EXPECT_EQ(read_pause(from, {}).mistakes, texts{});
}

TEST(schedule_settings, fields_that_do_nothing_are_refused) {
  const std::pair<pairs, std::string> cases[] = {
    {{{"pause.kind", "fibonacci"}, {"pause.base", "1s"}, {"pause.step", "1s"}},
     "relation s.pause.step"},
    {{{"pause.kind", "constant"}, {"pause.factor", "2"}},
     "relation s.pause.factor"},
    {{{"pause.jitter_factor", "0.5"}}, "relation s.pause.jitter_factor"},
    {{{"pause.kind", "decorrelated"},
      {"pause.base", "1s"},
      {"pause.jitter", "full"}},
     "relation s.pause.jitter"},
    {{{"pause.kind", "linear"}, {"pause.delays", "1s"}},
     "relation s.pause.delays"},
    {{{"pause.kind", "list"}, {"pause.delays", "1s"}, {"pause.base", "1s"}},
     "relation s.pause.base"},
    {{{"pause.kind", "list"}}, "relation s.pause.delays"},
  };
  for (const auto& [from, expected] : cases)
    EXPECT_EQ(read_pause(from).mistakes, texts{expected});
  EXPECT_EQ(
    read_pause({{"pause.kind", "constant"}, {"pause.factor", "2"}}).complaint,
    "s.pause.factor: factor applies to kind \"exponential\" or "
    "\"decorrelated\" only, this is \"constant\"");
}

TEST(schedule_settings, with_an_unknown_kind_nothing_else_is_blamed) {
  EXPECT_EQ(
    read_pause({{"pause.kind", "fibonaci"}, {"pause.step", "1s"}}).mistakes,
    texts{"range s.pause.kind"});
}

TEST(schedule_settings, relations_between_fields_are_checked) {
  EXPECT_EQ(read_pause({{"pause.max", "999ms"}}).complaint,
            "s.pause.max: 999ms is less than base, which is 1s");
  EXPECT_EQ(read_pause({{"pause.max", "1s"}}).complaint, "");
  for (std::string kind : {"exponential", "fibonacci", "decorrelated"})
    EXPECT_EQ(read_pause({{"pause.kind", kind}}).complaint,
              "s.pause.base: 0s never grows, allowed for " + kind
                + ": 1ns to unlimited");
}

TEST(schedule_settings, values_set_in_code_are_checked_too) {
  const std::pair<schedule, texts> cases[] = {
    {schedule::exponential(1s, 0.5), {"range s.factor"}},
    {schedule::constant(2s).limit(1s), {"relation s.max"}},
    {schedule::custom({}), {"relation s.custom"}},
    {schedule::list({}), {"relation s.delays"}},
    {schedule::list({1s, -1s}), {"range s.delays[1]"}},
    {schedule::list(std::vector<duration>(1'001)), {"range s.delays"}},
    {schedule::list({2s, 1s}).then(schedule::constant(1s)), {}},
    {schedule::constant(1s).until(999ms), {"relation s.until"}},
    {schedule::constant(1s).until(1s), {}},
    {schedule::constant(1s).jittered(jitter::full).until(1ms), {}},
    {schedule::constant(1s).then(schedule::constant(2s)),
     {"relation s[0].take"}},
    {schedule::constant(1s).until(3s).then(schedule::constant(2s)), {}},
    {schedule{{segment{.kind = static_cast<shape>(9)}}}, {"range s.kind"}},
    {schedule::constant(1s).take(1).then(schedule::constant(-1s)),
     {"range s[1].base"}},
    {schedule{}, {}},
    {schedule::custom([](std::uint32_t) { return duration{1}; }).limit(1s), {}},
  };
  for (const auto& [s, expected] : cases) {
    problems found;
    check_schedule(s, "s", found);
    EXPECT_EQ(test::kinds_and_keys(found), expected) << to_text(s);
  }
}

} // namespace
} // namespace caisson
