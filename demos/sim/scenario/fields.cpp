#include <sim/scenario/fields.hpp>

#include <sim/scenario/count_value.hpp>
#include <sim/scenario/distribution_value.hpp>

#include <limits>

namespace caisson::sim {

namespace {

constexpr auto none = duration::zero();
constexpr duration longest = std::chrono::hours(100);
constexpr duration shortest{1};

// How many workers or users there can be.
constexpr std::uint32_t most = 1'000'000;

} // namespace

void describe(field_visitor& v, arm_config& c) {
  v.on({"length", "how long the load lasts"}, c.length, {shortest, longest});
  v.on({"drain", "how long after that answers are waited for"}, c.drain,
       {none, longest});
  v.on({"warmup", "what happens earlier counts in no total; less than length"},
       c.warmup, {none, longest});
}

void describe(field_visitor& v, operation_config& c) {
  distribution_value time{c.time};
  v.on({"time", "work at the beginning"}, time);
  distribution_value item_time{c.item_time};
  v.on({"item_time", "work that each item adds: a request has one item, a "
                     "batch many"},
       item_time);
}

void describe(field_visitor& v, call_config& c) {
  v.on({"to", "which operation: a service, or service.operation"}, c.to);
  v.integer<std::uint32_t>({"count", "how many such calls"}, c.count,
                           {1, 10'000});
  v.on({"parallel", "whether they are made at the same time instead of one "
                    "after another"},
       c.parallel);
  v.on({"probability", "with which probability they are made at all"},
       c.probability, {0.0, 1.0});
  v.on({"optional", "whether the operation goes on when a call fails"},
       c.optional);
  v.on({"timeout", "how long the operation waits for each call"}, c.timeout,
       {shortest, unlimited});
  v.integer<std::uint32_t>(
    {"cache_keys", "more than 0: a call is made only if its key, one of so "
                   "many, is not in the service's cache; a success puts it "
                   "there"},
    c.cache_keys, {0, most});
  v.on({"cache_ttl", "how long a key stays in the cache"}, c.cache_ttl,
       {shortest, unlimited});
}

void describe(field_visitor& v, service_config& c) {
  count_value workers{c.workers, {1, most}};
  v.on({"workers", "how many requests it works on at once"}, workers);
  count_value queue{c.queue, {0, 1'000'000'000}};
  v.on({"queue", "how many requests may wait for a worker; beyond that they "
                 "are refused"},
       queue);
  v.choice({"order", "in which order those that wait are served"}, c.order);
  v.choice({"abandoned", "work whose caller has given up: finish: it is done "
                         "all the same; skip: it is not begun any more; "
                         "cancel: it is dropped at once"},
           c.abandoned);
  v.on({"async", "whether a worker takes other work while its request waits "
                 "for calls"},
       c.async);
  v.on({"propagate_deadline", "whether the deadline of a request holds for the "
                              "calls made for it"},
       c.propagate_deadline);
  v.on({"errors", "share of requests that fail after their first work"},
       c.errors, {0.0, 1.0});
  v.on({"slowdown", "how much longer work takes for each request inside above "
                    "slowdown_from, as a share"},
       c.slowdown, {0.0, 1e6});
  v.integer<std::uint32_t>(
    {"slowdown_from", "so many requests inside slow nothing down"},
    c.slowdown_from, {0, 1'000'000'000});
  v.on({"slowdown_max", "work takes at most so many times as long"},
       c.slowdown_max, {1.0, 1e6});
  v.on({"stack", "the policies in front of the service, shared by all callers; "
                 "none if empty"},
       c.stack);
}

void describe(field_visitor& v, edge_config& c) {
  distribution_value latency{c.latency};
  v.on({"latency", "how long a message takes, one way"}, latency);
  v.on({"stack", "the policies on the caller's side; none if empty"}, c.stack);
  v.on({"idempotent", "whether these calls may be carried out twice"},
       c.idempotent);
}

void describe(field_visitor& v, load_config& c) {
  v.choice({"kind", "constant: one request every 1/rate seconds; poisson: "
                    "exponential gaps; closed: users that wait for their "
                    "answer, then think"},
           c.kind);
  v.on({"rate", "how many requests begin", "per second"}, c.rate, {1e-6, 1e7});
  v.on({"ramps", "whether the rate moves in a straight line from one point of "
                 "the profile to the next"},
       c.ramps);
  v.on({"scale", "multiplies the rate of a profile or of a trace"}, c.scale,
       {1e-6, 1e6});
  v.integer<std::uint32_t>({"users", "closed only: how many"}, c.users,
                           {1, most});
  distribution_value think{c.think};
  v.on({"think", "closed only: how long a user waits before each request"},
       think);
  v.on({"start", "when the load begins"}, c.start, {none, longest});
  v.on({"stop", "from when on no request begins; later than start"}, c.stop,
       {shortest, unlimited});
  v.on({"timeout", "how long the client waits for the answer to each attempt"},
       c.timeout, {shortest, unlimited});
  v.integer<std::uint32_t>({"attempts", "how many attempts a client makes in "
                                        "all, the first one included"},
                           c.attempts, {1, 100});
  v.on({"pause", "between the end of an attempt and the next attempt"},
       c.pause);
  auto rule = c.retry_timeouts_only ? retry_rule::timeout : retry_rule::failure;
  v.choice({"retry", "failure: every attempt that failed is followed by "
                     "another; timeout: only one that was not answered in "
                     "time"},
           rule);
  c.retry_timeouts_only = rule == retry_rule::timeout;
  using limits = std::numeric_limits<std::int32_t>;
  v.integer<std::int32_t>({"priority", "of the calls, for limits that know "
                                       "priorities"},
                          c.priority, {limits::min(), limits::max()});
}

void describe(field_visitor& v, fault_config& c) {
  v.choice({"kind", "slow: work takes factor times as long; errors: a share of "
                    "rate fails; stall: nothing is begun; crash: all that is "
                    "inside is lost, and nobody gets in; capacity: only so "
                    "many workers; flush: the caches are emptied"},
           c.kind);
  v.on({"target", "the service"}, c.target);
  v.on({"at", "when it begins; before length"}, c.at, {none, longest});
  v.on({"for", "how long it lasts; not for flush, which takes no time"},
       c.lasts, {shortest, longest});
  v.on({"factor", "slow only"}, c.factor, {1e-6, 1e6});
  v.on({"rate", "errors only: share of the requests"}, c.rate, {0.0, 1.0});
  v.integer<std::uint32_t>({"workers", "capacity only"}, c.workers, {0, most});
}

} // namespace caisson::sim
