// The fields of a scenario's flat tables, and what their choices are called.
#pragma once

#include <simulator/results/verdict_kind.hpp>
#include <simulator/scenario/checks.hpp>
#include <simulator/scenario/scenario.hpp>

#include <chrono>
#include <string_view>

namespace caisson::sim {

/// How long anything in a scenario takes at most and at least.
inline constexpr duration longest_time = std::chrono::hours(100);
inline constexpr duration shortest_time{1};

// -- descriptions, for reading and for the tables in the docs -----------------

/// Everything in the table of an arm.
void describe(field_visitor& v, arm_config& c);
void describe(field_visitor& v, operation_config& c);
void describe(field_visitor& v, call_config& c);
/// What belongs to the service and not to its unnamed operation.
void describe(field_visitor& v, service_config& c);
void describe(field_visitor& v, autoscale_config& c);
void describe(field_visitor& v, edge_rule& c);
void describe(field_visitor& v, load_config& c);
void describe(field_visitor& v, fault_config& c);
void describe(field_visitor& v, metric_bound& c);
void describe(field_visitor& v, expectation& c);

// -- relations ----------------------------------------------------------------

void check(const autoscale_config& c, const setting_path& path, problems& out);
void check(const service_config& c, const setting_path& path, problems& out);
void check(const load_config& c, const setting_path& path, problems& out);
void check(const metric_bound& c, const setting_path& path, problems& out);

// -- names of choices ---------------------------------------------------------

/// After what a client makes another attempt.
enum class retry_rule { failure, timeout };

} // namespace caisson::sim

namespace caisson {

template <>
struct enum_names<sim::scaling> {
  static constexpr std::string_view value[] = {"utilization", "queue"};
};

template <>
struct enum_names<sim::balancing> {
  static constexpr std::string_view value[] = {"round_robin", "random",
                                               "power_of_two", "least_pending"};
};

template <>
struct enum_names<sim::zone_routing> {
  static constexpr std::string_view value[] = {"any", "local", "proportional"};
};

template <>
struct enum_names<sim::after_giving_up> {
  static constexpr std::string_view value[] = {"close", "keep"};
};

template <>
struct enum_names<sim::abandoned_work> {
  static constexpr std::string_view value[] = {"finish", "skip", "cancel"};
};

template <>
struct enum_names<sim::load_kind> {
  static constexpr std::string_view value[] = {"constant", "poisson", "closed"};
};

template <>
struct enum_names<sim::retry_rule> {
  static constexpr std::string_view value[] = {"failure", "timeout"};
};

template <>
struct enum_names<sim::fault_kind> {
  static constexpr std::string_view value[] = {
    "slow",  "errors",    "stall", "crash", "capacity",
    "flush", "partition", "loss",  "delay"};
};

template <>
struct enum_names<sim::fault_direction> {
  static constexpr std::string_view value[] = {"both", "one_way"};
};

template <>
struct enum_names<sim::verdict_kind> {
  static constexpr std::string_view value[] = {
    sim::verdict_name(sim::verdict_kind::recovered),
    sim::verdict_name(sim::verdict_kind::degraded),
    sim::verdict_name(sim::verdict_kind::stuck),
    sim::verdict_name(sim::verdict_kind::no_fault),
  };
};

} // namespace caisson
