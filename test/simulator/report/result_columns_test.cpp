// The tables of columns that all outputs of results go by.
#include <simulator/results/edges.hpp>
#include <simulator/results/requests.hpp>
#include <simulator/results/run.hpp>
#include <simulator/results/services.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string_view>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

template <class Table>
void expect_distinct(const Table& table) {
  std::set<std::string_view> names;
  std::set<std::string_view> metrics;
  for (const auto& c : table) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    if (!c.metric().empty()) {
      EXPECT_TRUE(metrics.insert(c.metric()).second) << c.metric();
    }
  }
}

TEST(result_columns, have_each_name_once) {
  expect_distinct(latency_columns);
  expect_distinct(run_columns);
  expect_distinct(request_columns);
  expect_distinct(load_columns);
  expect_distinct(load_row_columns);
  expect_distinct(service_columns);
  expect_distinct(service_row_columns);
  expect_distinct(edge_columns);
  expect_distinct(edge_row_columns);
  expect_distinct(connection_columns);
  expect_distinct(connection_row_columns);
}

// Rows are joined by kind, which a mean or a ratio has no way for.
template <class Table>
void expect_joinable(const Table& table) {
  for (const auto& c : table) {
    if (!c.stored())
      continue;
    EXPECT_TRUE(c.kind == column_kind::sum || c.kind == column_kind::level
                || c.kind == column_kind::largest)
      << c.name;
  }
}

TEST(result_columns, of_rows_can_be_joined) {
  expect_joinable(load_row_columns);
  expect_joinable(service_row_columns);
  expect_joinable(connection_row_columns);
  connection_row row{.used = 5,
                     .used_max = 9,
                     .waiting = 0,
                     .waiting_max = 1,
                     .refused = 2,
                     .expired = 3};
  join_columns(connection_row_columns, row,
               {.used = 4,
                .used_max = 7,
                .waiting = 2,
                .waiting_max = 3,
                .refused = 10,
                .expired = 20});
  EXPECT_EQ(row, (connection_row{.used = 4,
                                 .used_max = 9,
                                 .waiting = 2,
                                 .waiting_max = 3,
                                 .refused = 12,
                                 .expired = 23}));
}

TEST(result_columns, are_in_the_order_of_their_places) {
  std::vector<std::string_view> names;
  for (auto c : columns_in(connection_row_columns, output::html))
    names.push_back(c->name);
  EXPECT_EQ(names, (std::vector<std::string_view>{
                     "used", "waiting", "no_connection", "waiting_max"}));
}

// What the page shows of a row must be in its rows.
template <class Table>
void expect_shown_of_rows(const Table& table) {
  for (const auto& c : table)
    if (c.place_in(output::second) != absent
        || c.place_in(output::curve) != absent) {
      EXPECT_NE(c.place_in(output::html), absent) << c.name;
      EXPECT_TRUE(c.traits.unit != metric_unit::share) << c.name;
    }
}

TEST(result_columns, that_a_page_shows_of_rows_are_in_its_rows) {
  expect_shown_of_rows(request_columns);
  expect_shown_of_rows(latency_columns);
  expect_shown_of_rows(load_row_columns);
  expect_shown_of_rows(service_row_columns);
  expect_shown_of_rows(edge_row_columns);
  expect_shown_of_rows(connection_row_columns);
}

// What is infinite if it never comes cannot be a count.
TEST(result_columns, of_a_run_know_what_never_came) {
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  run_summary r;
  r.unanswered = 3;
  r.relapses = {{.at = 5, .until = 7}, {.at = 9, .until = {}}};
  auto number = [&](std::string_view metric) {
    return number_of(*column_of_metric(run_columns, metric), r);
  };
  EXPECT_EQ(number("unanswered"), 3);
  EXPECT_EQ(number("relapses"), 2);
  EXPECT_EQ(number("recovery"), infinity);
  EXPECT_EQ(number("recovered_at"), infinity);
  EXPECT_EQ(column_of_metric(run_columns, "answered_twice"), nullptr);
  r.recovery_from = 9500ms;
  r.recovered_at = 12;
  EXPECT_EQ(number("recovery"), 2.5);
  EXPECT_EQ(number("recovered_at"), 12);
  r.recovered_at = 9;
  EXPECT_EQ(number("recovery"), 0) << "well before the fault is gone";
}

TEST(result_columns, give_numbers_of_each_sort) {
  service_summary s{.name = "s",
                    .arrivals = 8,
                    .refused = 2,
                    .mean_wait = 1500ms,
                    .utilization = 0.5};
  auto number = [&](std::string_view metric) {
    return number_of(*column_of_metric(service_columns, metric), s);
  };
  EXPECT_EQ(number("arrivals"), 8);
  EXPECT_EQ(number("refused_share"), 0.25);
  EXPECT_EQ(number("wait"), 1.5);
  EXPECT_EQ(number("utilization"), 0.5);
  EXPECT_EQ(column_of_metric(service_columns, "mean_wait"), nullptr);
  EXPECT_EQ(column_of_metric(latency_columns, "count"), nullptr);
  const request_counts n{
    .offered = 10, .attempts = 25, .good = 5, .errors = {}};
  auto rate_of = [&](double seconds) {
    return number_of(*column_of_metric(request_columns, "goodput"), n, seconds);
  };
  EXPECT_EQ(rate_of(2), 2.5);
  EXPECT_EQ(rate_of(0), 0);
}

} // namespace
} // namespace caisson::sim
