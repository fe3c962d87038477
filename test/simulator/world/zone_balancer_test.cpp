// A caller's choice among zones.
#include <simulator/world/zone_balancer.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace caisson::sim {
namespace {

using testing::ElementsAre;

edge_config routed(zone_routing routing,
                   balancing kind = balancing::round_robin) {
  edge_config out;
  out.routing = routing;
  out.balancer = kind;
  return out;
}

std::vector<std::size_t> zone_choices(zone_balancer& x, std::uint64_t n) {
  std::vector<std::size_t> out;
  for (std::uint64_t i = 0; i < n; ++i)
    out.push_back(x.choose(draw_key{1}.with(i)));
  return out;
}

// How much of the calls each zone gets.
std::vector<double> shares(const zone_layout& where, std::size_t zones) {
  zone_balancer x{routed(zone_routing::proportional), where};
  std::vector<double> out(zones);
  constexpr std::uint64_t n = 200'000;
  for (auto i : zone_choices(x, n))
    out[where.replicas[i]] += 1.0 / n;
  return out;
}

TEST(zone_balancer, takes_all_if_zones_do_not_matter) {
  zone_balancer x{routed(zone_routing::any),
                  {.home = 1, .replicas = {0, 1, 2, 1}}};
  EXPECT_THAT(zone_choices(x, 5), ElementsAre(0, 1, 2, 3, 0));
}

TEST(zone_balancer, stays_at_home) {
  zone_balancer x{routed(zone_routing::local),
                  {.home = 1, .replicas = {0, 1, 2, 1}}};
  EXPECT_THAT(zone_choices(x, 5), ElementsAre(1, 3, 1, 3, 1));
}

TEST(zone_balancer, takes_all_if_nobody_is_at_home) {
  for (auto routing : {zone_routing::local, zone_routing::proportional}) {
    zone_balancer no_balancer{
      routed(routing),
      {.home = zone_map::nowhere, .replicas = {0, 1, 2}, .callers = {1, 1, 1}}};
    EXPECT_THAT(zone_choices(no_balancer, 4), ElementsAre(0, 1, 2, 0));
  }
  zone_balancer empty{routed(zone_routing::local),
                      {.home = 2, .replicas = {0, 1, 0}}};
  EXPECT_THAT(zone_choices(empty, 4), ElementsAre(0, 1, 2, 0));
}

TEST(zone_balancer, counts_what_is_in_progress_by_replica) {
  zone_balancer x{routed(zone_routing::local, balancing::least_pending),
                  {.home = 1, .replicas = {1, 0, 1, 1}}};
  EXPECT_THAT(zone_choices(x, 3), ElementsAre(0, 2, 3));
  x.over(2);
  EXPECT_THAT(zone_choices(x, 1), ElementsAre(2));
  x.over(3);
  EXPECT_THAT(zone_choices(x, 1), ElementsAre(3));
}

TEST(zone_balancer, keeps_calls_if_home_has_its_share) {
  EXPECT_THAT(shares({.home = 0, .replicas = {0, 0, 1}, .callers = {1, 1}}, 2),
              ElementsAre(testing::DoubleNear(1, 1e-9), 0));
  EXPECT_THAT(
    shares({.home = 1, .replicas = {0, 1, 0, 1}, .callers = {3, 3}}, 2),
    ElementsAre(0, testing::DoubleNear(1, 1e-9)));
}

TEST(zone_balancer, sends_the_rest_to_where_there_is_more) {
  auto near = [](double x) { return testing::DoubleNear(x, 0.005); };
  // Home has 1/6 of the replicas and 1/2 of the callers: a third stays. Zone 1
  // has 1/2 - 1/4 to spare, zone 2 has 1/3 - 1/4.
  EXPECT_THAT(
    shares({.home = 0, .replicas = {1, 1, 1, 2, 2, 0}, .callers = {4, 2, 2}},
           3),
    ElementsAre(near(1.0 / 3), near(0.5), near(1.0 / 6)));
  // Nobody at home: all goes elsewhere.
  EXPECT_THAT(
    shares({.home = 2, .replicas = {0, 0, 1}, .callers = {0, 1, 1}}, 3),
    ElementsAre(near(1), 0, 0));
}

TEST(zone_balancer, gives_each_zone_its_share_of_all_calls) {
  // Callers that are equally busy.
  const std::vector<std::uint32_t> callers{4, 1, 0, 5};
  const std::vector<std::uint32_t> replicas{0, 1, 1, 2, 3, 3, 3, 0};
  std::vector<double> all(4);
  for (std::uint32_t home = 0; home < 4; ++home) {
    if (callers[home] == 0)
      continue;
    auto own = shares({.home = home, .replicas = replicas, .callers = callers},
                      4);
    for (std::size_t z = 0; z < 4; ++z)
      all[z] += own[z] * callers[home] / 10;
  }
  EXPECT_THAT(all, ElementsAre(testing::DoubleNear(0.25, 0.005),
                               testing::DoubleNear(0.25, 0.005),
                               testing::DoubleNear(0.125, 0.005),
                               testing::DoubleNear(0.375, 0.005)));
}

} // namespace
} // namespace caisson::sim
