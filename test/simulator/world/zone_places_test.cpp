// Zones as configuration, and where replicas are.
#include <simulator/scenario/zones.hpp>

#include <support/sim_scenarios.hpp>
#include <support/simulated.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using names = std::vector<std::string>;

const std::string three_zones = "[zones]\nnames = ['a', 'b', 'c']\n";

// -- as configuration ---------------------------------------------------------

names zone_mistakes(const std::string& more) {
  return test::mistakes_in(std::string{test::smallest_world} + more);
}

TEST(scenario_zones, are_checked) {
  struct row {
    std::string text;
    names expected;
  };
  const std::string crash = "[[fault]]\nkind = 'crash'\nfor = '1s'\n";
  const std::string cut = "[[fault]]\nkind = 'partition'\nfor = '1s'\n";
  const std::string db = "[service.db]\nreplicas = 2\n";
  const row rows[] = {
    {three_zones, {}},
    {"[zones]\nnames = 'a'", {}},
    {"[zones]\nbetween = '1ms'", {"missing zones.names"}},
    {"[zones]\nnames = []", {"missing zones.names"}},
    {"[zones]\nnames = ['a', 'b', 'a']", {"relation zones.names[2]"}},
    {"[zones]\nnames = ['a', '*']", {"range zones.names[1]"}},
    {"[zones]\nnames = ['a#1']", {"range zones.names[0]"}},
    {"[zones]\nnames = ['a', 'web']", {"relation zones.names[1]"}},
    {"[zones]\nnames = ['users']", {"relation zones.names[0]"}},
    {"[zones]\nnames = ['g']\n[group]\ng = ['web']",
     {"relation zones.names[0]"}},
    {"[zones]\nnames = ['a']\nbetween = '-1ms'", {"type zones.between"}},
    {"[zones]\nnames = ['a']\nnmaes = ['b']", {"unknown zones.nmaes"}},
    {three_zones + db + "zones = ['a', 'd']", {"unknown service.db.zones[1]"}},
    {three_zones + db + "zones = 'a'", {}},
    {three_zones + db + "zones = '*'", {}},
    {three_zones + db + "zones = ['*', 'a']", {"unknown service.db.zones[0]"}},
    {three_zones + db + "zones = []", {"missing service.db.zones"}},
    {db + "zones = 'a'", {"unknown service.db.zones"}},
    {three_zones + "[load.more]\ntarget = 'web'\nrate = 1\nzone = 'd'",
     {"unknown load.more.zone"}},
    {three_zones + "[load.more]\ntarget = 'web'\nrate = 1\nzone = 'c'", {}},
    {"[[edge]]\nzone_routing = 'local'", {"relation edge[0].zone_routing"}},
    {"[[edge]]\nzone_routing = 'any'", {}},
    {three_zones + "[[edge]]\nzone_routing = 'near'",
     {"range edge[0].zone_routing"}},
    {three_zones + "[group]\neast = ['a', 'users']", {}},
    {three_zones + "[group]\neast = ['d']", {"unknown group.east[0]"}},
    {three_zones + crash + "target = 'a'", {}},
    {three_zones + crash + "target = 'd'", {"unknown fault[0].target"}},
    {three_zones + crash + "target = 'a#1'", {"range fault[0].target"}},
    {three_zones + crash + "target = 'b'", {"relation fault[0].target"}},
    {three_zones + db + crash + "target = 'b'", {}},
    {three_zones + cut + "from = 'users'\nto = 'a'", {}},
    {three_zones + cut + "from = 'users'\nto = 'b'", {"relation fault[0]"}},
    {three_zones + cut + "from = 'users'\nto = 'd'", {"unknown fault[0].to"}},
  };
  for (const auto& x : rows)
    EXPECT_EQ(zone_mistakes(x.text), x.expected) << x.text;
}

TEST(scenario_zones, are_at_most_a_hundred) {
  std::string list;
  for (int i = 0; i < 100; ++i)
    list += "'z" + std::to_string(i) + "', ";
  EXPECT_THAT(zone_mistakes("[zones]\nnames = [" + list + "]"), IsEmpty());
  EXPECT_EQ(zone_mistakes("[zones]\nnames = [" + list + "'more']"),
            names{"range zones.names"});
}

TEST(scenario_zones, can_differ_between_arms) {
  auto s = parse_scenario(std::string{test::smallest_world} + three_zones
                            + "between = '1ms'\n"
                              "[arm.far]\nzones.between = '7ms'\n"
                              "service.web.zones = 'c'\n[arm.near]\n",
                          "f");
  const auto& far = test::arm_of(s, "far");
  EXPECT_EQ(far.zones.names, (names{"a", "b", "c"}));
  EXPECT_EQ(far.zones.between, distribution{duration{7ms}});
  EXPECT_EQ(far.services.at(0).zones, names{"c"});
  EXPECT_EQ(test::arm_of(s, "near").zones.between, distribution{duration{1ms}});
}

TEST(zone_warnings, report_zones_without_a_replica) {
  auto warnings = [](const std::string& of_web) {
    return zone_warnings(test::only_arm("length = '1s'\n" + three_zones
                                        + "[service.web]\n" + of_web
                                        + "\n[load.users]\ntarget = 'web'\n"
                                          "rate = 1\n"));
  };
  EXPECT_THAT(warnings("zones = ['a', 'c', 'b']\nreplicas = 2"),
              ElementsAre("service web has 2 replicas for 3 zones: none is in "
                          "b"));
  EXPECT_THAT(warnings("zones = ['a', 'c', 'a']"),
              ElementsAre("service web has 1 replica for 3 zones: none is in "
                          "c"));
  EXPECT_THAT(warnings("zones = ['a', 'c', 'a']\nreplicas = 2"), IsEmpty());
  EXPECT_THAT(warnings("zones = ['a', 'c']\nreplicas = 2"), IsEmpty());
  EXPECT_THAT(warnings("replicas = 2"), IsEmpty());
}

// -- where they are -----------------------------------------------------------

const std::string placed = R"(
length = "30s"
[zones]
names = ["a", "b", "c"]
[service.web]
replicas = 5
calls = ["db", "one"]
[service.db]
replicas = 4
zones = ["b", "b", "c"]
[service.one]
zones = "c"
[load.users]
target = "web"
rate = 10
[load.staff]
target = "web"
rate = 10
zone = "b"
)";

std::string places(const arm_config& arm, std::size_t service) {
  zone_map zones{arm};
  std::string out;
  for (std::uint32_t i = 0; i < arm.services[service].replicas; ++i)
    out += zones.name(zones.of_replica(service, i));
  return out;
}

TEST(zone_map, spreads_replicas_in_turn) {
  auto arm = test::only_arm(placed);
  EXPECT_EQ(places(arm, 0), "abcab");
  EXPECT_EQ(places(arm, 1), "bbcb");
  EXPECT_EQ(places(arm, 2), "c");
  zone_map zones{arm};
  EXPECT_EQ(zones.of_load(0), zone_map::nowhere);
  EXPECT_EQ(zones.of_load(1), 1u);
  EXPECT_EQ(zones.name(zone_map::nowhere), "");
  EXPECT_THAT(zones.names_of(arm, 0), ElementsAre("a", "b", "c"));
  EXPECT_THAT(zones.names_of(arm, 1), ElementsAre("b", "c"));
  arm.services[1].replicas = 2;
  EXPECT_THAT(zone_map{arm}.names_of(arm, 1), ElementsAre("b"));
}

TEST(zone_map, is_empty_without_zones) {
  auto arm = test::only_arm(test::smallest_world);
  zone_map zones{arm};
  EXPECT_EQ(zones.size(), 0u);
  EXPECT_EQ(zones.of_replica(0, 0), zone_map::nowhere);
  EXPECT_EQ(zones.of_load(0), zone_map::nowhere);
  EXPECT_THAT(zones.names_of(arm, 0), IsEmpty());
}

TEST(target_hits, replicas_by_their_service_number_or_zone) {
  auto arm = test::only_arm(placed);
  zone_map zones{arm};
  auto hit = [&](std::string_view target) {
    std::string out;
    for (std::size_t s = 0; s < 3; ++s, out += ' ')
      for (std::uint32_t i = 0; i < arm.services[s].replicas; ++i)
        out += target_hits(arm, zones, target, s, i) ? 'x' : '.';
    return out;
  };
  EXPECT_EQ(hit("a"), "x..x. .... . ");
  EXPECT_EQ(hit("b"), ".x..x xx.x . ");
  EXPECT_EQ(hit("c"), "..x.. ..x. x ");
  EXPECT_EQ(hit("db"), "..... xxxx . ");
  EXPECT_EQ(hit("db#2"), "..... .x.. . ");
  EXPECT_EQ(hit(""), "..... .... . ");
}

} // namespace
} // namespace caisson::sim
