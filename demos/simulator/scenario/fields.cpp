#include <simulator/scenario/fields.hpp>

#include <simulator/scenario/count_value.hpp>
#include <simulator/scenario/distribution_value.hpp>
#include <simulator/scenario/edges.hpp>
#include <simulator/scenario/groups.hpp>
#include <simulator/scenario/loads.hpp>
#include <simulator/scenario/services.hpp>
#include <simulator/scenario/stacks.hpp>
#include <simulator/scenario/zones.hpp>

#include <fmt/format.h>

namespace caisson::sim {

namespace {

constexpr auto no_time = duration::zero();

// How many servers or users there can be.
constexpr std::uint32_t most = 1'000'000;

} // namespace

void describe(field_visitor& v, arm_config& c) {
  v.on({.key = "length", .help = "how long the load lasts", .required = true},
       c.length, {shortest_time, longest_time});
  v.on({"drain", "how long answers are waited for after the load has ended"},
       c.drain, {no_time, longest_time});
  v.on({"warmup", "what happens earlier is left out of totals; less than "
                  "length"},
       c.warmup, {no_time, longest_time});
  v.on({"recovery_from", "the time from which recovery is expected"},
       c.recovery_from, range<duration>{no_time, longest_time});
  tables_by_name services{c.services};
  v.on({.key = "service",
        .help = "the services by their names",
        .allowed = "at least one table [service.NAME]",
        .required = true,
        .nonempty = true},
       services);
  v.on({"zones", "where services and loads are"}, c.zones);
  groups_value groups{c.groups};
  v.on({"group", "names for several loads, services, replicas and zones"},
       groups);
  v.on({"edge", "what lies between callers and services"}, c.edges);
  tables_by_name loads{c.loads};
  v.on({.key = "load",
        .help = "the loads by their names",
        .allowed = "at least one table [load.NAME]",
        .required = true,
        .nonempty = true},
       loads);
  stacks_value stacks{c.stacks};
  v.on({"stack", "policies by the names of their stacks"}, stacks);
  v.on({"fault", "what goes wrong, and when"}, c.faults);
  v.on({"expect", "what is expected of a run"}, c.expect);
}

void describe(field_visitor& v, operation_config& c) {
  v.on({"time", "work at the beginning"}, c.time);
  v.on({"item_time", "work that each item adds: a request has one item, a "
                     "batch many"},
       c.item_time);
  v.on({"calls", "calls and work that follow, step by step"}, c.steps);
}

void describe(field_visitor& v, call_config& c) {
  v.on({.key = "to",
        .help = "which operation: a service, or service.operation",
        .allowed = "the name of an operation",
        .required = true},
       c.to);
  v.integer<std::uint32_t>({"count", "number of such calls"}, c.count,
                           {1, 10'000});
  v.on({"parallel", "whether they are made at the same time instead of one "
                    "after another"},
       c.parallel);
  v.on({"probability", "probability that the calls are made"}, c.probability,
       {0.0, 1.0});
  v.on({"optional", "whether the operation goes on when a call fails"},
       c.optional);
  v.on({"timeout", "how long the operation waits for each call"}, c.timeout,
       {shortest_time, unlimited});
  v.integer<std::uint32_t>(
    {"cache_keys", "more than 0: a call is made only if its key, one of so "
                   "many, is not in the service's cache; a success puts it "
                   "there"},
    c.cache_keys, {0, most});
  v.on({.key = "cache_ttl",
        .help = "how long a key stays in the cache",
        .needs = {"cache_keys"}},
       c.cache_ttl, {shortest_time, unlimited});
  v.on({.key = "cache_skew",
        .help = "the exponent of Zipf's law, by which keys are chosen: the "
                "probability of key i is proportional to 1 / i to the power "
                "of this; 0: all are equally likely",
        .needs = {"cache_keys"}},
       c.cache_skew, {0.0, 10.0});
}

void describe(field_visitor& v, autoscale_config& c) {
  v.choice({"by", "utilization: the share of the servers that were busy since "
                  "the last decision; queue: how many requests wait"},
           c.by);
  v.on({"target", "target utilization, or target number of waiting requests "
                  "per server"},
       c.target, {0.001, 1e6});
  v.integer<std::uint32_t>({"min", "smallest number of servers"}, c.min,
                           {1, most});
  v.integer<std::uint32_t>({"max", "largest number of servers"}, c.max,
                           {1, most});
  v.on({"every", "time between two decisions"}, c.every,
       {std::chrono::milliseconds(1), longest_time});
  v.on({"delay", "how long a new server takes to start"}, c.delay,
       {no_time, longest_time});
  v.on({"cooldown", "minimum time between a change and the next decision"},
       c.cooldown, {no_time, longest_time});
  v.on({"tolerance", "tolerance around the target, as a share of it"},
       c.tolerance, {0.0, 1.0});
}

void check(const autoscale_config& c, const setting_path& path, problems& out) {
  if (c.max < c.min)
    out.push_back(
      {problem_kind::relation, path / "max",
       fmt::format("{} is less than min, which is {}", c.max, c.min)});
  if (c.by == scaling::utilization && c.target > 1)
    out.push_back({problem_kind::relation, path / "target",
                   fmt::format("{} is more than 1, which a utilization never "
                               "is, allowed with by = \"utilization\": at most "
                               "1",
                               to_text(c.target))});
}

namespace {

void describe_slowdown(field_visitor& v, service_config& c) {
  v.on({"slowdown", "the share by which each request in service above "
                    "slowdown_from makes work longer"},
       c.slowdown, {0.0, 1e6});
  v.integer<std::uint32_t>(
    {"slowdown_from", "number of requests in service up to which work is not "
                      "slowed down"},
    c.slowdown_from, {0, 1'000'000'000});
  v.on({"slowdown_max", "work takes at most this many times as long"},
       c.slowdown_max, {1.0, 1e6});
  v.on({.key = "slowdown_in_progress",
        .help = "whether the slowdown follows the number inside at each moment "
                "instead of that when the work begins",
        .needs = {"slowdown"}},
       c.slowdown_in_progress);
}

// Those that wait for a server.
void describe_queue(field_visitor& v, service_config& c) {
  count_value queue{c.queue, {0, 1'000'000'000}};
  v.on({"queue", "how many requests may wait for a server of a replica; beyond "
                 "that they are refused"},
       queue);
  v.choice({"order", "the order in which waiting requests are served: fifo: "
                     "the oldest first; lifo: the newest first; "
                     "adaptive_lifo: the newest while more than lifo_above "
                     "wait, else the oldest; codel: the oldest, and some are "
                     "shed while all wait for long; deadline_first: the "
                     "earliest deadline; priority: the highest priority; "
                     "fair: each key in turn"},
           c.order);
  v.integer<std::uint32_t>(
    {.key = "lifo_above",
     .help = "adaptive_lifo only: the newest is next while more than this "
             "many wait",
     .when = {"order", {"adaptive_lifo"}}},
    c.waits.lifo_above, {0, 1'000'000'000});
  v.on({.key = "codel_target",
        .help = "codel only: shedding begins when every wait was at least as "
                "long as this throughout an interval, and ends with one that "
                "was shorter",
        .when = {"order", {"codel"}}},
       c.waits.codel_target, {shortest_time, longest_time});
  v.on({.key = "codel_interval",
        .help = "codel only: how long that must last, and then the time "
                "between two that are shed, which shrinks with their number",
        .when = {"order", {"codel"}}},
       c.waits.codel_interval, {shortest_time, longest_time});
  v.integer<std::uint32_t>(
    {.key = "codel_keep",
     .help
     = "codel only: none is shed if fewer than this many would still wait",
     .when = {"order", {"codel"}}},
    c.waits.codel_keep, {0, 1'000'000'000});
  v.on({.key = "aging",
        .help = "priority only: how long a request must have waited to be next "
                "in place of one that has just come and whose priority is "
                "higher by 1; unlimited: the lowest may starve",
        .when = {"order", {"priority"}}},
       c.waits.aging, {shortest_time, unlimited});
}

} // namespace

void describe(field_visitor& v, service_config& c) {
  v.integer<std::uint32_t>(
    {"replicas", "number of replicas; each has its own servers, queue, caches "
                 "and policies"},
    c.replicas, {1, 1000});
  names_value zones{c.zones};
  v.on({.key = "zones",
        .help = "the zones of the replicas, assigned in turn",
        .allowed = "the name of a zone, a list of them, or \"*\" for all"},
       zones);
  count_value servers{c.servers, {1, most}};
  v.on({"workers", "how many requests each replica works on at once"}, servers);
  count_value cores{c.cores, {1, most}};
  v.on({"cores", "how many cores the requests at work in each replica share "
                 "evenly; unlimited: each request has one of its own"},
       cores);
  v.on({.key = "autoscale",
        .help = "changes the number of servers, which is workers at first",
        .allowed = "a table"},
       c.autoscale);
  describe_queue(v, c);
  v.choice({"abandoned", "work whose caller has given up: finish: it is done "
                         "all the same; skip: it is not begun any more; "
                         "cancel: it is dropped at once"},
           c.abandoned);
  v.on({"async", "whether a server takes other work while its request waits "
                 "for calls"},
       c.async);
  v.on({"propagate_deadline", "whether the deadline of a request holds for the "
                              "calls made for it"},
       c.propagate_deadline);
  v.on({"errors", "share of requests that fail after their first work"},
       c.errors, {0.0, 1.0});
  describe_slowdown(v, c);
  v.on({"stack", "the policies in front of the service, shared by all callers; "
                 "none if empty"},
       c.stack);
}

void check(const service_config& c, const setting_path& path, problems& out) {
  if (c.cores != no_limit && c.autoscale
      && c.autoscale->by == scaling::utilization)
    out.push_back({problem_kind::relation, path / "autoscale",
                   "scales servers by their utilization, which does not show "
                   "how busy cores are, allowed with cores: by = \"queue\""});
  if (c.queue == 0 && c.order != wait_order::fifo)
    out.push_back({problem_kind::relation, path / "order",
                   "has no effect: queue is 0, so that no request waits, "
                   "allowed: fifo, or a queue of at least 1"});
}

} // namespace caisson::sim
