// Orders by keys that no request has.
#include <simulator/scenario/scenario.hpp>

#include <support/sim_scenarios.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using wrong_orders = std::vector<std::string>;

// Two loads ask `web`, which calls `db`; nobody calls `spare`.
wrong_orders wrong_with(const std::string& text, const std::string& a = "",
                        const std::string& b = "") {
  return test::mistakes_in("length = '60s'\n"
                           "service.web.calls = ['db']\n"
                           "service.spare = {}\n"
                           "[load.a]\ntarget = 'web'\nrate = 1\n"
                           + a + "\n[load.b]\ntarget = 'web'\nrate = 1\n" + b
                           + "\n" + text);
}

std::string db_with(const std::string& order) {
  return "[service.db]\norder = '" + order + "'";
}

TEST(orders_without_effect, are_found_in_services) {
  const wrong_orders found{"relation service.db.order"};
  for (std::string order :
       {"fifo", "lifo", "adaptive_lifo", "codel", "deadline_first"})
    EXPECT_EQ(wrong_with(db_with(order)), wrong_orders{}) << order;
  EXPECT_EQ(wrong_with(db_with("fair")), found);
  EXPECT_EQ(wrong_with(db_with("fair"), "priority = 1"), found);
  EXPECT_EQ(wrong_with(db_with("fair"), "", "keys = 1"), wrong_orders{})
    << "beside requests without a key";
}

// As in comparisons of all orders: it is `fifo` then.
TEST(orders_without_effect, are_not_priorities_that_are_all_alike) {
  EXPECT_EQ(wrong_with(db_with("priority")), wrong_orders{});
}

TEST(orders_without_effect, are_found_where_the_load_with_keys_does_not_come) {
  const std::string other = "[service.other]\norder = 'fair'\n[load.c]\ntarget "
                            "= 'other'\nrate = 1\n[service.db]";
  EXPECT_EQ(wrong_with(other, "keys = 5"),
            wrong_orders{"relation service.other.order"});
  EXPECT_EQ(wrong_with(other + "\n[load.d]\ntarget = 'db'\nrate = 1\nkeys = 1"),
            wrong_orders{"relation service.other.order"});
}

// It may be for an arm, or a sweep, in which somebody calls it.
TEST(orders_without_effect, are_none_where_nobody_comes) {
  EXPECT_EQ(wrong_with("[service.db]\n[service.idle]\norder = 'fair'"),
            wrong_orders{});
  EXPECT_EQ(wrong_with("[service.db]\n[[stack.s.layer]]\nkind = 'semaphore'\n"
                       "permits = 1\nmax_waiters = 9\norder = 'fair'"),
            wrong_orders{});
}

std::string limit_with(const std::string& order) {
  return "[[stack.s.layer]]\nkind = 'deadline'\n"
         "[[stack.s.layer]]\nkind = 'semaphore'\npermits = 1\n"
         "max_waiters = 9\norder = '"
         + order + "'\n";
}

TEST(orders_without_effect, are_found_in_stacks) {
  const wrong_orders found{"relation stack.s.layer[1].order"};
  const std::string of_service = "[service.db]\nstack = 's'\n";
  const std::string of_edge = "[service.db]\n[[edge]]\nfrom = 'web'\nto = "
                              "'db'\nstack = 's'\n";
  for (const auto& user : {of_service, of_edge}) {
    EXPECT_EQ(wrong_with(user + limit_with("fair")), found);
    EXPECT_EQ(wrong_with(user + limit_with("priority")), wrong_orders{});
    EXPECT_EQ(wrong_with(user + limit_with("codel")), wrong_orders{});
    EXPECT_EQ(wrong_with(user + limit_with("fair"), "", "keys = 2"),
              wrong_orders{});
  }
}

// The gates of an edge see its own caller only.
TEST(orders_without_effect, are_found_on_the_edge_of_another_load) {
  auto edge_of = [](const std::string& load) {
    return "[service.db]\n[[edge]]\nfrom = '" + load
           + "'\nto = 'web'\nstack = 's'\n" + limit_with("fair");
  };
  EXPECT_EQ(wrong_with(edge_of("a"), "", "keys = 2"),
            wrong_orders{"relation stack.s.layer[1].order"});
  EXPECT_EQ(wrong_with(edge_of("b"), "", "keys = 2"), wrong_orders{});
  EXPECT_EQ(wrong_with(edge_of("*"), "", "keys = 2"), wrong_orders{});
}

TEST(orders_without_effect, are_none_of_presets) {
  EXPECT_EQ(wrong_with("[service.db]\nstack = 's'\n[stack.s]\npreset = "
                       "'server'"),
            wrong_orders{});
}

// The load that leads nowhere may be the one that should bring keys.
TEST(orders_without_effect, are_not_reported_beside_unknown_names) {
  EXPECT_EQ(wrong_with(db_with("fair")
                       + "\n[load.c]\ntarget = 'dv'\nrate = "
                         "1\nkeys = 1"),
            wrong_orders{"unknown load.c.target"});
}

TEST(orders_without_effect, are_reported_with_place_and_reason) {
  EXPECT_EQ(test::complaint_about("length = '60s'\n[load.l]\ntarget = "
                                  "'web'\nrate = 1\n[service.web]\norder = "
                                  "'fair'\n"),
            "f:6:9: service.web.order: fair has no effect: no load that "
            "reaches this queue sets keys, allowed: another order, or keys of "
            "such a load");
}

} // namespace
} // namespace caisson::sim
