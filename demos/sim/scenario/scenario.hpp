// What a scenario file says: a world, its load, its faults, and several arms.
#pragma once

#include <sim/scenario/count_value.hpp>
#include <sim/scenario/distribution.hpp>
#include <sim/scenario/trace.hpp>
#include <sim/scenario/verdict_kind.hpp>

#include <caisson/schedule_settings.hpp>
#include <caisson/settings.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson {
struct stack_entry;
} // namespace caisson

namespace caisson::sim {

/// The stacks of an arm. Arms share those that they do not replace. To look
/// into one needs <caisson/stack_toml.hpp>, and with it CAF.
using stack_map = std::map<std::string, std::shared_ptr<const stack_entry>,
                           std::less<>>;

inline constexpr std::uint32_t no_limit = count_value::unlimited;

// -- services -----------------------------------------------------------------

/// In which order a service serves those that wait.
enum class queue_order { fifo, lifo };

/// What a service does with work whose caller has given up.
enum class abandoned_work {
  /// It does it all the same.
  finish,
  /// It does not begin it any more, but ends what it has begun.
  skip,
  /// It drops it at once, whether it has begun or not.
  cancel,
};

/// A call of one operation to another service.
struct call_config {
  /// `service` or `service.operation`.
  std::string to;
  /// How many such calls: 1 to 10000.
  std::uint32_t count = 1;
  /// Whether they are made at the same time instead of one after another.
  bool parallel = false;
  /// With which probability they are made at all: 0 to 1.
  double probability = 1;
  /// Whether the operation goes on when the call fails.
  bool optional = false;
  /// How long the operation waits for each of them.
  duration timeout = unlimited;
  /// Greater than 0: the call is made only if its key, one of so many, is not
  /// in the service's cache; a success puts it there. 0 to 1000000.
  std::uint32_t cache_keys = 0;
  /// How long a key stays in the cache.
  duration cache_ttl = unlimited;
  /// How much more often the first keys are asked for than others, by Zipf's
  /// law: 0 (all equally) to 10.
  double cache_skew = 0;
};

/// What an operation does next: calls, made at the same time, or work.
struct step {
  std::vector<call_config> calls;
  distribution work;
};

/// What a service can be asked for.
struct operation_config {
  /// `service.operation`, or `service` for the unnamed one.
  std::string name;
  /// Work at the beginning.
  distribution time;
  /// Work that each item adds to `time`: a request has one item, a batch many.
  distribution item_time;
  std::vector<step> steps;
};

struct service_config {
  std::string name;
  /// How many requests it works on at once: 1 to 1000000, or no_limit.
  std::uint32_t workers = 1;
  /// How many may wait for a worker: 0 to 1000000000, or no_limit.
  std::uint32_t queue = no_limit;
  queue_order order = queue_order::fifo;
  abandoned_work abandoned = abandoned_work::finish;
  /// Whether a worker takes other work while its request waits for calls.
  bool async = false;
  /// Whether the deadline of a request holds for the calls made for it.
  bool propagate_deadline = true;
  /// Share of requests that fail after their first work: 0 to 1.
  double errors = 0;
  /// Work takes 1 + slowdown · max(0, requests inside - slowdown_from) times
  /// as long, at most slowdown_max times.
  double slowdown = 0;
  std::uint32_t slowdown_from = 0;
  double slowdown_max = 100;
  /// The policies in front of the service, shared by all callers; "" for none.
  std::string stack;
  /// In the order of the file. The unnamed one, if there is one, is the first.
  std::vector<operation_config> operations;
};

// -- edges --------------------------------------------------------------------

/// What lies between a caller and a service, resolved for one pair.
struct edge_config {
  /// One way.
  distribution latency;
  /// The policies on the caller's side; "" for none.
  std::string stack;
  /// Whether these calls may be carried out twice.
  bool idempotent = true;
};

/// An entry of `[[edge]]`.
struct edge_rule {
  /// Names of loads and services, or "*".
  std::vector<std::string> from = {"*"};
  /// Names of services or operations, or "*".
  std::vector<std::string> to = {"*"};
  std::optional<distribution> latency;
  std::optional<std::string> stack;
  std::optional<bool> idempotent;
};

// -- load ---------------------------------------------------------------------

enum class load_kind {
  /// Open loop: one request every 1/rate seconds, the first one at `start`.
  constant,
  /// Open loop: exponential gaps.
  poisson,
  /// Closed loop: `users` that wait for their answer, then think.
  closed,
};

/// A point of a rate profile.
struct rate_point {
  /// The instant of a point that could not be read.
  static constexpr duration no_time{-1};

  duration at = no_time;
  double rate = 0;
  /// How many requests come before, if that is known better than the rates
  /// tell; not scaled.
  std::optional<double> before = {};
};

struct load_config {
  std::string name;
  load_kind kind = load_kind::poisson;
  /// Requests per second; what `profile` or `trace` gives is multiplied by
  /// `scale` instead.
  double rate = 0;
  /// Rates from instants on, ascending; empty if `rate` holds throughout.
  std::vector<rate_point> profile;
  /// Whether the rate moves in a straight line from one point to the next.
  bool ramps = false;
  /// Arrivals read from a trace of timestamps, after start; ascending.
  std::vector<duration> arrivals;
  double scale = 1;
  /// Where `profile` or `arrivals` come from, if not from the scenario.
  std::optional<trace_config> trace;
  std::uint32_t users = 0;
  distribution think;
  /// The only operation that is asked for; empty if there is a mix in the file.
  std::string target;
  /// Operations and their weights.
  std::vector<std::pair<std::string, double>> mix;
  duration start = duration::zero();
  /// When the last request is made, at the latest.
  duration stop = unlimited;
  /// How long the client waits for the answer to each attempt.
  duration timeout = unlimited;
  /// The same, drawn for each request; instead of `timeout`.
  std::optional<distribution> patience;
  /// How many attempts the client makes in all: 1 to 100.
  std::uint32_t attempts = 1;
  /// Between the failure of an attempt and the next attempt.
  schedule pause;
  /// Only a timeout is retried, not an error that comes as an answer.
  bool retry_timeouts_only = false;
  std::int32_t priority = 0;
};

// -- faults -------------------------------------------------------------------

enum class fault_kind {
  /// Work that begins takes `factor` times as long.
  slow,
  /// A share of `rate` of the requests fails after its first work.
  errors,
  /// No request is begun, and no answer of a call looked at; work under way is
  /// finished.
  stall,
  /// All that is inside is lost; whoever comes is rejected until the end.
  crash,
  /// Only `workers` workers.
  capacity,
  /// The caches are emptied. Takes no time.
  flush,
};

struct fault_config {
  fault_kind kind = fault_kind::slow;
  std::string target;
  duration at = duration::zero();
  duration lasts = duration::zero();
  double factor = 10;
  double rate = 1;
  std::uint32_t workers = 1;
};

// -- expectations -------------------------------------------------------------

/// A bound on a number of the result; docs/simulator-output.md has the names.
struct metric_bound {
  std::string metric;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  /// Only the seconds in [from, to), for numbers that are kept per second.
  duration from = duration::zero();
  duration to = unlimited;
  /// Where it is in the file, and under which key.
  std::string place = {};
  setting_path key = {};
};

struct expectation {
  std::optional<verdict_kind> verdict = {};
  /// Bounds that have keys of their own; `bounds` has them, too.
  std::optional<double> success_at_least = {};
  std::optional<double> success_at_most = {};
  std::optional<duration> p99_at_most = {};
  std::optional<duration> recovers_within = {};
  std::vector<metric_bound> bounds = {};
};

// -- the whole ----------------------------------------------------------------

/// One arm: a complete world.
struct arm_config {
  /// `default` if the scenario has no arms.
  std::string name = "default";
  std::string title;
  /// How long the load lasts.
  duration length = duration::zero();
  /// How long after that answers are waited for.
  duration drain = std::chrono::seconds(60);
  /// Requests made earlier, and what a service does earlier, count in no total.
  duration warmup = duration::zero();
  /// From when on recovery is looked for; the end of the last fault if absent.
  std::optional<duration> recovery_from;

  std::vector<service_config> services;
  std::vector<edge_rule> edges;
  std::vector<load_config> loads;
  std::vector<fault_config> faults;
  stack_map stacks;
  expectation expect;
};

struct scenario {
  std::string title;
  std::uint64_t seed = 1;
  /// In the order of the file; at least one.
  std::vector<arm_config> arms;
};

/// Reads a scenario file and the traces that it names, which are looked for
/// relative to it. Throws `config_error` with everything that is wrong.
[[nodiscard]] scenario load_scenario(const std::filesystem::path& path);

/// As `load_scenario`, from a text; `source_name` stands for the file in
/// problems, and traces are looked for relative to `base`.
[[nodiscard]] scenario parse_scenario(std::string_view text,
                                      std::string_view source_name,
                                      const std::filesystem::path& base = {});

} // namespace caisson::sim
