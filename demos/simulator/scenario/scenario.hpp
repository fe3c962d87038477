// A scenario: a world, its load, its faults, and several arms.
#pragma once

#include <simulator/results/verdict_kind.hpp>
#include <simulator/scenario/count_value.hpp>
#include <simulator/scenario/distribution.hpp>
#include <simulator/scenario/edge_config.hpp>
#include <simulator/scenario/load_recording.hpp>
#include <simulator/scenario/sweep_config.hpp>
#include <simulator/scenario/tune_config.hpp>
#include <simulator/scenario/zone_config.hpp>

#include <caisson/policy/schedule_settings.hpp>
#include <caisson/policy/wait_order.hpp>
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
/// into one needs <caisson/config/stack_toml.hpp>, and with it CAF.
using stack_map = std::map<std::string, std::shared_ptr<const stack_entry>,
                           std::less<>>;

// -- services -----------------------------------------------------------------

/// What a service does with work whose caller has given up.
enum class abandoned_work {
  /// It does it all the same.
  finish,
  /// It does not begin it any more, but ends what it has begun.
  skip,
  /// It drops it at once, whether it has begun or not.
  cancel,
};

/// What an autoscaler looks at.
enum class scaling {
  /// The share of the servers that were busy since it last looked.
  utilization,
  /// How many requests wait.
  queue,
};

/// Changes the number of a service's servers.
struct autoscale_config {
  scaling by = scaling::utilization;
  /// The utilization that it aims at, or how many may wait for each server:
  /// 0.001 to 1000000.
  double target = 0.7;
  /// How many servers there are at least and at most: 1 to 1000000.
  std::uint32_t min = 1;
  std::uint32_t max = 100;
  /// How often it looks.
  duration every = std::chrono::seconds(15);
  /// How long a new server takes to start.
  duration delay = std::chrono::seconds(30);
  /// How long after a decision no other one is made.
  duration cooldown = std::chrono::seconds(60);
  /// By which share of the target it may be missed without a change: 0 to 1.
  double tolerance = 0.1;
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
  /// How many of it there are, each with its own servers, queue, caches and
  /// policies: 1 to 1000.
  std::uint32_t replicas = 1;
  /// In which zones they are, in turn: names, or "*" for all zones.
  std::vector<std::string> zones = {"*"};
  /// How many requests each replica works on at once: 1 to 1000000, or
  /// no_limit.
  std::uint32_t servers = 1;
  /// How many cores those that do work share, in each replica: 1 to 1000000, or
  /// no_limit.
  std::uint32_t cores = no_limit;
  /// Changes `servers`, which is the number at the start.
  std::optional<autoscale_config> autoscale = {};
  /// How many may wait for a server of it: 0 to 1000000000, or no_limit.
  std::uint32_t queue = no_limit;
  /// In which order those are served that wait for their first server, as in
  /// gates. Numbers from 0 to 1000000000, durations from 1ns to 100h; a request
  /// is never hopeless. By priorities only, unless `aging` is set.
  wait_order order = wait_order::fifo;
  queue_settings waits = {.aging = unlimited};
  abandoned_work abandoned = abandoned_work::finish;
  /// Whether a server takes other work while its request waits for calls.
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
  /// The slowdown is that of the requests inside at each moment, and not of
  /// those when the work begins.
  bool slowdown_in_progress = false;
  /// The policies in front of the service, shared by all callers; "" for none.
  std::string stack;
  /// In the order of the file. The unnamed one, if there is one, is the first.
  std::vector<operation_config> operations;
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
  /// How many requests come before, if that is known better than from
  /// the rates; not scaled.
  std::optional<double> before = {};
};

struct load_config {
  std::string name;
  /// Where its clients are; outside of all zones if empty.
  std::string zone;
  load_kind kind = load_kind::poisson;
  /// Requests per second; what `profile` or `recording` gives is multiplied by
  /// `scale` instead.
  double rate = 0;
  /// Rates from instants on, ascending; empty if `rate` holds throughout.
  std::vector<rate_point> profile;
  /// Whether the rate moves in a straight line from one point to the next.
  bool ramps = false;
  /// Arrivals read from a recording of timestamps, after start; ascending.
  std::vector<duration> arrivals;
  double scale = 1;
  /// Where `profile` or `arrivals` come from, if not from the scenario.
  std::optional<recording_config> recording;
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
  /// More than 0: each request has one of so many keys, 0 to 1000000.
  std::uint32_t keys = 0;
  /// How much more often the first keys are asked for, by Zipf's law: 0 to 10.
  double key_skew = 0;
  /// How many times the rate a burst has: 0 to 1000000; 1: there are none.
  double burst = 1;
  /// Means of the times between bursts and of their lengths, both exponentially
  /// distributed.
  duration burst_every = std::chrono::seconds(60);
  duration burst_for = std::chrono::seconds(5);
};

// -- faults -------------------------------------------------------------------

enum class fault_kind {
  /// Work takes `factor` times as long: that which begins, or with
  /// `in_progress` all of it, for as long as the fault lasts.
  slow,
  /// A share of `rate` of the requests fails after its first work.
  errors,
  /// No request is begun, and no answer of a call looked at; work in flight is
  /// finished, or with `in_progress` stands still, too.
  stall,
  /// All that is inside is lost; whoever comes is rejected until the end.
  crash,
  /// Only `servers` servers.
  capacity,
  /// The caches are emptied. Takes no time.
  flush,
  /// Every message between two groups is lost.
  partition,
  /// A share of `rate` of the messages between two groups is lost.
  loss,
  /// Every message between two groups takes longer by `delay`.
  delay,
};

/// Whether a fault of this kind hits messages, and not a service.
[[nodiscard]] constexpr bool hits_messages(fault_kind kind) {
  return kind == fault_kind::partition || kind == fault_kind::loss
         || kind == fault_kind::delay;
}

/// Which messages between two groups a fault hits.
enum class fault_direction {
  /// Those from either one to the other.
  both,
  /// Only those from the first one to the second one.
  one_way,
};

struct fault_config {
  fault_kind kind = fault_kind::slow;
  /// `service`, `service#3` for one of its replicas, or a zone.
  std::string target;
  duration at = duration::zero();
  duration lasts = duration::zero();
  /// `slow` and `stall`: hits work that has begun before, too.
  bool in_progress = false;
  /// Comes at random from `at` on, this long on average after it was over the
  /// last time.
  std::optional<duration> mtbf = {};
  /// Lasts so long on average, instead of `lasts`.
  std::optional<duration> mttr = {};
  /// Begins once so many requests have arrived at a replica from `at` on.
  std::optional<std::int64_t> after_requests = {};
  /// Comes at random from `at` on, after so many requests on average since it
  /// was over the last time.
  std::optional<double> mean_requests_between_failures = {};
  /// Lasts for so many requests, or so many on average, instead of `lasts`.
  std::optional<std::int64_t> for_requests = {};
  std::optional<double> mean_requests_to_repair = {};
  double factor = 10;
  double rate = 1;
  std::uint32_t servers = 1;
  /// Faults of messages: names of groups, zones, loads, services and replicas,
  /// or "*".
  std::vector<std::string> from = {};
  std::vector<std::string> to = {};
  fault_direction direction = fault_direction::both;
  duration delay = std::chrono::milliseconds(100);
};

/// Loads, services, replicas and zones that have a name together.
struct group_config {
  std::string name;
  std::vector<std::string> members;
};

// -- expectations -------------------------------------------------------------

/// A bound on a number of the result; docs/simulator-model.md has the names.
struct metric_bound {
  std::string metric;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  /// Only the seconds in [from, to), for numbers that are kept per second; the
  /// whole load without its warm-up if neither is given.
  std::optional<duration> from = {};
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
  zone_config zones;
  std::vector<group_config> groups;
  std::vector<edge_rule> edges;
  std::vector<load_config> loads;
  std::vector<fault_config> faults;
  stack_map stacks;
  expectation expect;
};

struct scenario {
  std::string title;
  std::uint64_t seed = 1;
  /// Seconds per row of the results; `usual_step` if absent.
  std::optional<std::uint32_t> rows;
  /// In the order of the file; at least one.
  std::vector<arm_config> arms;
  /// What `caisson sweep` varies.
  sweep_config sweep;
  /// What `caisson tune` looks for.
  tune_config tune;
};

/// Reads a scenario file and the recordings that it names, which are looked for
/// relative to it. Throws `config_error` with everything that is wrong.
[[nodiscard]] scenario load_scenario(const std::filesystem::path& path);

/// As `load_scenario`, from settings that have been read, with the problems of
/// doing so. A path as `recordings` means files relative to it.
[[nodiscard]] scenario
scenario_from(const settings& root, std::string_view source_name,
              const recording_source& recordings, problems found = {});

/// As `load_scenario`, from a text; `source_name` stands for the file in
/// problems, and recordings are looked for relative to `base`.
[[nodiscard]] scenario parse_scenario(std::string_view text,
                                      std::string_view source_name,
                                      const std::filesystem::path& base = {});

} // namespace caisson::sim
