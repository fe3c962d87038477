#include <simulator/scenario/faults.hpp>

#include <simulator/scenario/edges.hpp>
#include <simulator/scenario/fields.hpp>

#include <caisson/settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace caisson::sim {

namespace {

// What a fault of messages has in place of a target.
void describe_messages(field_visitor& v, fault_config& c) {
  constexpr std::string_view names = "names of groups, zones, loads, services "
                                     "and replicas, or \"*\" for all";
  names_value from{c.from};
  v.on({.key = "from",
        .help = "one side of the messages",
        .allowed = names,
        .required = true,
        .when = {"kind", {"partition", "loss", "delay"}}},
       from);
  names_value to{c.to};
  v.on({.key = "to",
        .help = "the other side",
        .allowed = names,
        .required = true,
        .when = {"kind", {"partition", "loss", "delay"}}},
       to);
  v.choice({.key = "direction",
            .help = "both: messages in both directions; one_way: only those "
                    "that `from` sends to `to`",
            .when = {"kind", {"partition", "loss", "delay"}}},
           c.direction);
  v.on({.key = "delay",
        .help = "delay only: how much longer each message takes",
        .when = {"kind", {"delay"}}},
       c.delay, {shortest_time, longest_time});
}

// How many requests a fault counts.
constexpr std::int64_t most_counted = 1'000'000'000;

void describe_counted_end(field_visitor& v, fault_config& c) {
  v.on({.key = "for_requests",
        .help = "the same by count: how many arriving requests it affects",
        .when = {"kind", {"slow", "errors", "stall", "crash", "capacity"}},
        .one_of = "for"},
       c.for_requests, range<std::int64_t>{1, most_counted});
  v.on({.key = "mean_requests_to_repair",
        .help = "a random number of requests with this mean, instead of `for` "
                "(mean requests to repair)",
        .needs = {"mtbf", "mean_requests_between_failures"},
        .when = {"kind", {"slow", "errors", "stall", "crash", "capacity"}},
        .one_of = "for"},
       c.mean_requests_to_repair, range<double>{1, most_counted});
}

void describe_counted_begin(field_visitor& v, fault_config& c) {
  v.on({.key = "mean_requests_between_failures",
        .help = "the same by count: the mean number of requests from its end "
                "to the next one (mean requests between failures)",
        .when = {"kind",
                 {"slow", "errors", "stall", "crash", "capacity", "flush"}},
        .one_of = "mtbf"},
       c.mean_requests_between_failures, range<double>{1, most_counted});
  v.on({.key = "after_requests",
        .help = "the fault begins with the request after this many, which are "
                "counted from at on",
        .when = {"kind",
                 {"slow", "errors", "stall", "crash", "capacity", "flush"}},
        .one_of = "mtbf"},
       c.after_requests, range<std::int64_t>{1, most_counted});
}

bool is_planned(const fault_config& f) {
  return !f.mtbf && !counts_requests(f);
}

} // namespace

void describe(field_visitor& v, fault_config& c) {
  v.choice(
    {.key = "kind",
     .help
     = "slow: work takes factor times as long; errors: a share of rate fails; "
       "stall: no work begins; crash: all requests inside are lost, and none "
       "is accepted; capacity: only `workers` servers are left; flush: the "
       "caches are emptied; of messages: partition: all are lost; loss: a "
       "share of rate is lost; delay: they take longer",
     .required = true},
    c.kind);
  v.on({.key = "target",
        .help = "a service, one of its replicas, or a zone",
        .allowed = "the name of a service or a zone, or service#1, "
                   "service#2, ...",
        .required = true,
        .nonempty = true,
        .when = {"kind",
                 {"slow", "errors", "stall", "crash", "capacity", "flush"}}},
       c.target);
  describe_messages(v, c);
  v.on({"at", "when it begins; before length"}, c.at,
       {duration::zero(), longest_time});
  v.on({.key = "for",
        .help = "how long it lasts; not for flush, which takes no time",
        .required = true,
        .when = {"kind",
                 {"slow", "errors", "stall", "crash", "capacity", "partition",
                  "loss", "delay"}},
        .one_of = "for"},
       c.lasts, {shortest_time, longest_time});
  v.on({.key = "mttr",
        .help = "a random time with this mean, instead of `for` (mean time to "
                "repair)",
        .needs = {"mtbf", "mean_requests_between_failures"},
        .when = {"kind",
                 {"slow", "errors", "stall", "crash", "capacity", "partition",
                  "loss", "delay"}},
        .one_of = "for"},
       c.mttr, range<duration>{shortest_time, longest_time});
  describe_counted_end(v, c);
  v.on({.key = "mtbf",
        .help = "the fault recurs at random, from at on: the mean time from "
                "its end to the next one (mean time between failures)",
        .one_of = "mtbf"},
       c.mtbf, range<duration>{std::chrono::milliseconds(1), longest_time});
  describe_counted_begin(v, c);
  v.on({.key = "in_progress",
        .help = "slow and stall only: whether it also affects work that began "
                "before it, for as long as the fault lasts",
        .when = {"kind", {"slow", "stall"}}},
       c.in_progress);
  v.on({.key = "factor",
        .help = "slow only: how many times as long work takes",
        .when = {"kind", {"slow"}}},
       c.factor, {1e-6, 1e6});
  v.on({.key = "rate",
        .help = "errors and loss only: share of the requests, or of the "
                "messages",
        .when = {"kind", {"errors", "loss"}}},
       c.rate, {0.0, 1.0});
  v.integer<std::uint32_t>({.key = "workers",
                            .help = "capacity only: how many servers are left",
                            .required = true,
                            .when = {"kind", {"capacity"}}},
                           c.servers, {0, 1'000'000});
}

std::string_view fault_name(fault_kind kind) {
  return enum_names<fault_kind>::value[static_cast<std::size_t>(kind)];
}

std::string place_of(const fault_config& f) {
  if (!hits_messages(f.kind))
    return f.target;
  auto arrow = f.direction == fault_direction::both ? "<->" : "->";
  return fmt::format("{} {} {}", fmt::join(f.from, ", "), arrow,
                     fmt::join(f.to, ", "));
}

bool counts_requests(const fault_config& f) {
  return f.after_requests || f.mean_requests_between_failures || f.for_requests
         || f.mean_requests_to_repair;
}

std::size_t planned_faults(const arm_config& arm) {
  return static_cast<std::size_t>(
    std::ranges::count_if(arm.faults, is_planned));
}

std::optional<duration> first_planned_fault(const arm_config& arm) {
  std::optional<duration> out;
  for (const auto& f : arm.faults)
    if (is_planned(f))
      out = out ? std::min(*out, f.at) : f.at;
  return out;
}

std::optional<duration> recovery_start(const arm_config& arm) {
  if (arm.recovery_from || planned_faults(arm) == 0)
    return arm.recovery_from;
  auto last = duration::zero();
  for (const auto& f : arm.faults)
    if (is_planned(f))
      last = std::max(last, duration_sum(f.at, f.lasts));
  return last;
}

} // namespace caisson::sim
