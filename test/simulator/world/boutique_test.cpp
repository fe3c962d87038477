// Online Boutique calls what its handlers call.
#include <support/source_dir.hpp>

#include <simulator/play/run.hpp>
#include <simulator/scenario/scenario.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using counts = std::map<std::string, std::uint64_t>;

// How many requests each service gets for one request of that kind.
counts calls_of(const std::string& operation) {
  auto s = load_scenario(test::source_path("demos/scenarios/boutique.toml"));
  auto arm = s.arms.at(0);
  arm.faults.clear();
  arm.length = 1s;
  arm.loads.at(0).kind = load_kind::constant;
  arm.loads.at(0).rate = 1;
  arm.loads.at(0).mix = {{operation, 1.0}};
  auto r = run_arm(arm, {});
  EXPECT_EQ(r.totals.good, 1u);
  counts out;
  for (const auto& x : r.services)
    if (x.arrivals > 0)
      out.emplace(x.name, x.arrivals);
  return out;
}

TEST(boutique, shows_its_home_page) {
  EXPECT_EQ(calls_of("frontend.home"), (counts{{"frontend", 1},
                                               {"currency", 1 + 9},
                                               {"catalog", 1},
                                               {"cart", 1},
                                               {"redis", 1},
                                               {"ad", 1}}));
}

TEST(boutique, shows_a_product) {
  EXPECT_EQ(calls_of("frontend.product"), (counts{{"frontend", 1},
                                                  {"catalog", 1 + 1 + 4},
                                                  {"currency", 1 + 1},
                                                  {"cart", 1},
                                                  {"redis", 1},
                                                  {"recommendation", 1},
                                                  {"ad", 1}}));
}

TEST(boutique, checks_out) {
  EXPECT_EQ(calls_of("frontend.checkout"), (counts{{"frontend", 1},
                                                   {"checkout", 1},
                                                   {"cart", 2},
                                                   {"redis", 2},
                                                   {"catalog", 2 + 1 + 4},
                                                   {"currency", 2 + 1 + 1},
                                                   {"shipping", 2},
                                                   {"payment", 1},
                                                   {"email", 1},
                                                   {"recommendation", 1}}));
}

TEST(boutique, changes_the_currency_without_asking_anybody) {
  EXPECT_EQ(calls_of("frontend.set-currency"), (counts{{"frontend", 1}}));
}

} // namespace
} // namespace caisson::sim
