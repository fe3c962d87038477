// Faults that are drawn at random.
#include <simulator/explore/drawn_faults.hpp>
#include <simulator/explore/fault_menu.hpp>
#include <simulator/explore/fault_texts.hpp>
#include <simulator/explore/found_scenario.hpp>
#include <simulator/explore/round_numbers.hpp>
#include <simulator/explore/zone_cuts.hpp>
#include <simulator/scenario/faults.hpp>
#include <simulator/scenario/replicas.hpp>

#include <caisson/settings.hpp>
#include <caisson/settings/toml.hpp>

#include <support/explored.hpp>
#include <support/random_world.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(round_numbers, have_at_most_two_digits) {
  EXPECT_THAT(round_numbers(12, 160),
              ElementsAre(15, 20, 30, 50, 70, 100, 150));
  EXPECT_THAT(round_numbers(50, 50), ElementsAre(50));
  EXPECT_THAT(round_numbers(51, 69), ElementsAre());
  EXPECT_THAT(round_numbers(-5, 10), ElementsAre(10));
  for (auto n : round_numbers(1, INT64_MAX))
    EXPECT_GT(n, 0);
}

TEST(round_unit, is_not_more_than_asked_for) {
  EXPECT_EQ(round_unit(1), 1);
  EXPECT_EQ(round_unit(9), 5);
  EXPECT_EQ(round_unit(10), 10);
  EXPECT_EQ(round_unit(499), 200);
  EXPECT_EQ(round_unit(0), 1);
}

TEST(fault_menu, has_usual_bounds) {
  auto arm = test::explored_arm();
  fault_menu m{arm, {}};
  EXPECT_EQ(m.from, 10s);
  EXPECT_EQ(m.to, 75s);
  EXPECT_EQ(m.longest, 32500ms);
  EXPECT_EQ(m.unit, 500ms);
  EXPECT_EQ(m.kinds.size(), 9u);
  ASSERT_EQ(m.services.size(), 2u);
  EXPECT_THAT(m.services[0].names, ElementsAre("web"));
  EXPECT_TRUE(m.services[0].has_cache);
  EXPECT_THAT(m.services[1].names, ElementsAre("db", "db#1", "db#2", "db#3"));
  ASSERT_EQ(m.messages.size(), 2u);
  EXPECT_THAT(m.messages[0].callers, ElementsAre("web"));
  EXPECT_THAT(m.messages[1].callers, ElementsAre("users"));
}

TEST(fault_menu, begins_after_the_warmup) {
  auto arm = test::explored_arm();
  arm.warmup = 90s;
  fault_menu m{arm, {}};
  EXPECT_EQ(m.from, 90s);
  EXPECT_EQ(m.to, 95s);
}

TEST(fault_menu, has_sizes_from_weak_to_strong) {
  auto arm = test::explored_arm();
  fault_menu m{arm, {.factor = 3, .rate = 0.02, .delay = 2ms}};
  auto sizes = [&](fault_kind kind, auto member) {
    std::vector<double> out;
    for (const auto& f : m.sizes(test::some_fault(kind, 10s, 1s)))
      out.push_back(static_cast<double>(f.*member));
    return out;
  };
  EXPECT_THAT(sizes(fault_kind::slow, &fault_config::factor),
              ElementsAre(1.5, 2, 3));
  EXPECT_THAT(sizes(fault_kind::loss, &fault_config::rate),
              ElementsAre(0.01, 0.015, 0.02));
  EXPECT_THAT(sizes(fault_kind::capacity, &fault_config::servers),
              ElementsAre(3, 2, 1, 0));
  EXPECT_EQ(m.sizes(test::some_fault(fault_kind::delay, 10s, 1s)).size(), 3u);
  EXPECT_TRUE(m.sizes(test::some_fault(fault_kind::stall, 10s, 1s)).empty());
}

TEST(fault_menu, is_held_to_kinds_and_targets) {
  auto arm = test::explored_arm();
  fault_menu m{
    arm, {.kinds = {fault_kind::crash, fault_kind::loss}, .targets = {"db#2"}}};
  EXPECT_THAT(m.kinds, ElementsAre(fault_kind::crash, fault_kind::loss));
  std::set<std::string> seen;
  for (std::uint64_t i = 0; i < 300; ++i)
    for (const auto& f : drawn_faults(m, i))
      seen.insert(hits_messages(f.kind) ? f.from[0] + ">" + f.to[0] : f.target);
  EXPECT_EQ(seen, (std::set<std::string>{"db#2", "db#2>web", "web>db#2"}));
}

arm_config explored_zones() {
  return parse_scenario(std::string{test::explored_world}
                          + "[zones]\nnames = ['a', 'b', 'c', 'd']\n",
                        "world.toml")
    .arms.at(0);
}

TEST(fault_menu, has_zones) {
  auto arm = explored_zones();
  fault_menu m{arm, {}};
  ASSERT_EQ(m.services.size(), 5u);
  EXPECT_THAT(m.services[2].names, ElementsAre("a", "web", "db#1"));
  EXPECT_TRUE(m.services[2].is_zone);
  EXPECT_TRUE(m.services[2].has_cache);
  EXPECT_EQ(m.services[2].servers, 8u);
  EXPECT_THAT(m.services[3].names, ElementsAre("b", "db#2"));
  EXPECT_FALSE(m.services[3].has_cache);
  EXPECT_EQ(m.services[3].servers, 4u);
  EXPECT_FALSE(m.services[1].is_zone);
  std::vector<std::string> smaller;
  for (const auto& f :
       m.smaller_places(test::some_fault(fault_kind::crash, 10s, 1s, "a")))
    smaller.push_back(f.target);
  EXPECT_THAT(smaller, ElementsAre("web", "db#1"));
}

TEST(fault_menu, is_held_to_a_zone) {
  auto arm = explored_zones();
  fault_menu m{arm, {.kinds = {fault_kind::crash}, .targets = {"b"}}};
  ASSERT_EQ(m.services.size(), 1u);
  EXPECT_THAT(m.services[0].names, ElementsAre("b", "db#2"));
  EXPECT_THROW((fault_menu{arm, {.targets = {"e"}}}), config_error);
}

std::string cut_text(const arm_config& arm) {
  std::string out;
  for (const auto& x : zone_cuts(arm))
    out += fmt::format("{}: {}; ", x.zone, fmt::join(x.other_zones, " "));
  return out;
}

TEST(fault_menu, cuts_zones_off_that_exchange_messages) {
  // web, in a, calls db in a, b and c; users are outside.
  auto arm = explored_zones();
  EXPECT_EQ(cut_text(arm), "a: b c; b: a; c: a; ");
  arm.loads.at(0).zone = "d";
  EXPECT_EQ(cut_text(arm), "a: b c d; b: a; c: a; d: a; ");
  arm.loads.at(0).zone = "a";
  arm.services.at(1).replicas = 2;
  EXPECT_EQ(cut_text(arm), "a: b; ") << "one cut between two is enough";
  arm.services.at(1).replicas = 1;
  EXPECT_EQ(cut_text(arm), "");
  EXPECT_EQ(cut_text(test::explored_arm()), "");
}

TEST(fault_menu, cuts_a_zone_off_from_less) {
  auto arm = explored_zones();
  fault_menu m{arm, {.kinds = {fault_kind::partition}, .targets = {"a"}}};
  ASSERT_EQ(m.messages.size(), 1u);
  EXPECT_THAT(m.messages[0].all_services(), ElementsAre("b", "c"));
  fault_config f;
  f.kind = fault_kind::partition;
  f.from = {"a"};
  f.to = {"b", "c"};
  std::vector<std::string> smaller;
  for (const auto& x : m.smaller_places(f))
    smaller.push_back(place_of(x));
  EXPECT_THAT(smaller,
              ElementsAre("a -> b, c", "b, c -> a", "a <-> b", "a <-> c"));
  std::set<std::string> drawn;
  for (std::uint64_t i = 0; i < 100; ++i)
    for (const auto& x : drawn_faults(m, i))
      drawn.insert(place_of(x));
  EXPECT_THAT(drawn, ElementsAre("a -> b, c", "a <-> b, c", "b, c -> a"));
}

std::string menu_problem(const fault_bounds& b) {
  try {
    fault_menu m{test::explored_arm(), b};
    return "none";
  } catch (const config_error& e) {
    return e.what();
  }
}

TEST(fault_menu, reports_what_is_wrong_with_bounds) {
  EXPECT_THAT(menu_problem({.targets = {"dbx"}}),
              HasSubstr("--target: \"dbx\" is not one of"));
  EXPECT_THAT(menu_problem({.targets = {"db#4"}}), HasSubstr("--target"));
  EXPECT_THAT(menu_problem({.targets = {"web#1"}}), HasSubstr("--target"));
  EXPECT_THAT(menu_problem({.from = 100s}), HasSubstr("--from: is after"));
  EXPECT_THAT(menu_problem({.to = 101s}), HasSubstr("--to: is after"));
  EXPECT_THAT(menu_problem({.from = 50s, .to = 50s}),
              HasSubstr("--to: leaves no time"));
  EXPECT_THAT(menu_problem({.kinds = {fault_kind::flush}, .targets = {"db"}}),
              HasSubstr("--kind: no such fault"));
  EXPECT_EQ(menu_problem({.kinds = {fault_kind::flush}, .targets = {"web"}}),
            "none");
}

// -- drawing ------------------------------------------------------------------

void expect_within(const fault_menu& m, const fault_config& f) {
  EXPECT_GE(f.at, m.from);
  EXPECT_EQ(f.at % m.unit, 0s);
  EXPECT_LE(f.at + f.lasts, m.to);
  if (f.kind != fault_kind::flush) {
    EXPECT_GE(f.lasts, m.unit);
    EXPECT_LE(f.lasts, m.longest);
  }
  EXPECT_LE(f.factor, m.bounds.factor);
  EXPECT_LE(f.rate, m.bounds.rate);
}

void expect_read_back(const fault_config& read, const fault_config& f) {
  EXPECT_EQ(to_sentence(read), to_sentence(f));
  EXPECT_EQ(read.from, f.from);
  EXPECT_EQ(read.to, f.to);
  EXPECT_EQ(read.at, f.at);
  EXPECT_EQ(read.lasts, f.lasts);
  if (f.kind == fault_kind::slow) {
    EXPECT_EQ(read.factor, f.factor);
  }
  if (f.kind == fault_kind::errors || f.kind == fault_kind::loss) {
    EXPECT_EQ(read.rate, f.rate);
  }
}

TEST(fault_setting, keeps_whether_work_in_progress_is_hit) {
  auto with = [](fault_kind kind) {
    auto f = test::some_fault(kind, 1s, 2s);
    f.in_progress = true;
    return f;
  };
  auto slow = with(fault_kind::slow);
  auto stall = with(fault_kind::stall);
  EXPECT_EQ(to_sentence(slow),
            "db slow by a factor of 10 in all its work, from 1s on "
            "for 2s");
  EXPECT_EQ(to_sentence(stall), "db stalls in all its work, from 1s on for 2s");
  for (const auto& f : {slow, stall}) {
    problems none;
    auto root = parse_toml(test::explored_world, "x.toml", none);
    auto text = found_scenario(root, ".", test::explored_arm(), {f}, 1, ".",
                               false);
    auto read = parse_scenario(text, "x.toml").arms.at(0).faults;
    ASSERT_EQ(read.size(), 1u);
    EXPECT_TRUE(read[0].in_progress);
    EXPECT_EQ(to_sentence(read[0]), to_sentence(f));
  }
}

// Whatever the world: what is drawn is right for it, and is written and read
// back as it was.
TEST(drawn_faults, are_right_for_any_world) {
  std::set<fault_kind> kinds;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    problems none;
    auto text = test::random_world{seed}.text();
    auto root = parse_toml(text, "x.toml", none);
    auto arm = parse_scenario(text, "x.toml").arms.at(0);
    fault_menu m{arm, {.most = 6}};
    auto faults = drawn_faults(m, seed);
    ASSERT_GE(faults.size(), 1u);
    ASSERT_LE(faults.size(), 6u);
    auto found = found_scenario(root, "", arm, faults, seed, "");
    SCOPED_TRACE(found);
    auto again = parse_scenario(found, "found.toml");
    EXPECT_EQ(again.seed, seed);
    const auto& all = again.arms.at(0).faults;
    ASSERT_EQ(all.size(), arm.faults.size() + faults.size());
    for (std::size_t i = 0; i < faults.size(); ++i) {
      kinds.insert(faults[i].kind);
      expect_within(m, faults[i]);
      expect_read_back(all[arm.faults.size() + i], faults[i]);
    }
  }
  EXPECT_EQ(kinds.size(), 9u);
}

TEST(drawn_faults, follow_from_the_key) {
  auto arm = test::explored_arm();
  fault_menu m{arm, {}};
  EXPECT_EQ(to_sentence(drawn_faults(m, 7)), to_sentence(drawn_faults(m, 7)));
  std::set<std::string> different;
  for (std::uint64_t i = 0; i < 50; ++i)
    different.insert(to_sentence(drawn_faults(m, i)));
  EXPECT_GT(different.size(), 45u);
}

// -- files --------------------------------------------------------------------

TEST(found_scenario, is_the_world_of_one_arm) {
  auto text = std::string{"title = \"A shop\"\n"} + test::explored_world + R"(
[expect]
success_at_least = 0.5
[sweep.set]
"service.web.workers" = [1, 2]
[arm.wide]
title = "more servers"
service.web.workers = 99
[[arm.wide.fault]]
kind = "stall"
target = "web"
at = "1s"
for = "1s"
[arm.other]
service.web.workers = 3
)";
  problems none;
  auto root = parse_toml(text, "x.toml", none);
  auto arms = parse_scenario(text, "x.toml").arms;
  auto crash = test::some_fault(fault_kind::crash, 10s, 1500ms, "db#2");
  auto found = found_scenario(root, "", arms[0], {crash}, 17, "", true);
  auto s = parse_scenario(found, "found.toml");
  EXPECT_EQ(s.title, "A shop");
  EXPECT_EQ(s.seed, 17u);
  ASSERT_EQ(s.arms.size(), 1u);
  EXPECT_EQ(s.arms[0].name, "wide");
  EXPECT_EQ(s.arms[0].title, "more servers");
  EXPECT_EQ(s.arms[0].services[0].servers, 99u);
  EXPECT_EQ(s.arms[0].expect.success_at_least, 0.5);
  EXPECT_EQ(s.arms[0].expect.verdict, verdict_kind::recovered);
  ASSERT_EQ(s.arms[0].faults.size(), 2u);
  EXPECT_EQ(to_sentence(s.arms[0].faults[1]),
            "db#2 crashes, from 10s on for 1500ms");
  EXPECT_TRUE(s.sweep.parameters.empty());
}

TEST(found_scenario, finds_the_traces_of_the_file) {
  problems none;
  auto root = parse_toml(R"(
length = "10s"
[service.web]
[load.users]
target = "web"
trace = { file = "data/day.csv", format = "timestamps" }
)",
                         "x.toml", none);
  arm_config arm;
  EXPECT_THAT(found_scenario(root, "shops/a", arm, {}, 1, "shops/found"),
              HasSubstr("file = \"../a/data/day.csv\""));
}

} // namespace
} // namespace caisson::sim
