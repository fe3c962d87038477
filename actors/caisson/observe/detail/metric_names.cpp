#include <caisson/observe/detail/metric_names.hpp>

#include <caisson/observe/detail/labels.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include <algorithm>

namespace caisson::detail {

namespace {

constexpr auto counted = metric_type::counter;
constexpr auto measured_now = metric_type::gauge;

// clang-format off: a table.
constexpr gate_metric all_gate_metrics[] = {
  {"calls", "caisson_calls_total", counted,
   "Messages for the worker that have arrived, with those refused at once."},
  {"plain_sends", "caisson_plain_sends_total", counted,
   "Of the calls: those whose sender waits for no answer."},
  {"acquires", "caisson_acquires_total", counted,
   "Requests for permits that have arrived."},
  {"attempts", "caisson_attempts_total", counted,
   "Messages sent to the worker or an alternative; a batch is one."},
  {"late_results", "caisson_late_results_total", counted,
   "Answers to attempts that were over."},
  {"expired", "caisson_expired_calls_total", counted,
   "Calls, leases and batches that passed the caller's or default deadline."},
  {"expired_on_arrival", "caisson_expired_on_arrival_calls_total", counted,
   "Calls refused because their deadline had come."},
  {"cancelled", "caisson_cancelled_calls_total", counted,
   "Calls and leases whose caller died or cancelled them."},
  {"no_such_permit", "caisson_unknown_permits_total", counted,
   "Messages that release or renew a permit that their sender does not hold."},
  {"renewals", "caisson_lease_renewals_total", counted,
   "Permits that were renewed."},
  {"callbacks_failed", "caisson_callback_failures_total", counted,
   "Functions of the user's that threw."},
  {"dead_letters", "caisson_dead_letters_total", counted,
   "Calls that failed for good and were sent to the gate's dead letters."},
  {"worker_losses", "caisson_worker_losses_total", counted,
   "Times the worker was lost."},
  {"worker_restarts", "caisson_worker_restarts_total", counted,
   "Restarts of the worker."},
  {"worker_group_stops", "caisson_worker_group_stops_total", counted,
   "Times its supervision group stopped the worker."},
  {"worker_gave_up", "caisson_worker_give_ups_total", counted,
   "Workers given up after too many restarts within their period."},
  {"worker_gave_up_schedule", "caisson_worker_schedule_ends_total", counted,
   "Workers given up at the end of their restart schedule."},
  {"worker_ended", "caisson_worker_ends_total", counted,
   "Workers that have ended and were not to be started again."},
  {"in_progress", "caisson_calls_in_progress", measured_now,
   "Calls, leases and batches that the gate holds."},
  {"held", "caisson_calls_held", measured_now,
   "Calls that a layer holds: in a queue, a backoff or a batch."},
  {"waiting_for_worker", "caisson_calls_waiting_for_worker", measured_now,
   "Calls that wait for the worker to start."},
  {"in_flight", "caisson_messages_in_flight", measured_now,
   "Messages with the worker or an alternative."},
  {"leases", "caisson_leases", measured_now, "Permits with a holder."},
  {"timers", "caisson_timers", measured_now, "Timers of calls."},
};

struct known_gauge {
  std::string_view name;
  const char* help;
};

constexpr known_gauge known_gauges[] = {
  {"permits", "Permits of a semaphore, those in use included."},
  {"in_use", "Permits of a semaphore or an adaptive limit in use."},
  {"waiting", "Calls that wait: for a permit, a token, a batch or a retry."},
  {"partition_in_use", "Permits that the calls of a partition have."},
  {"partition_waiting", "Calls of a partition that wait for a permit."},
  {"partition_guaranteed", "Permits that are guaranteed to a partition."},
  {"tokens", "Tokens that a limiter had left after the last call."},
  {"budget_left", "Retries that the budget of a retrier still pays for."},
  {"alarm", "1 while a retrier hides failing first attempts."},
  {"verifying", "Calls that a retrier verifies."},
  {"outstanding", "Batches that were sent and not answered."},
  {"entries", "Values that a cache holds."},
  {"loading", "Values that a cache waits for."},
  {"keys", "Keys that a layer knows at present."},
  {"failure_streak", "Failures in a row that a breaker has counted."},
  {"window_results", "Results in the window of a breaker."},
  {"failure_rate_ratio", "Share of failures in the window of a breaker."},
  {"slow_rate_ratio", "Share of slow calls in the window of a breaker."},
  {"score_ratio", "Composite score of a breaker; 1 is normal."},
  {"ramp_ratio", "Share of calls that a breaker that has closed lets pass."},
  {"probes_in_flight", "Probes that a half-open breaker waits for."},
  {"openings_in_a_row", "Times a breaker has opened since it was last closed."},
  {"share_ratio", "Share of calls that a canary gets."},
  {"canary_slow_ratio", "Share of a canary's calls above its limit."},
  {"levels_off", "Levels that are switched off."},
  {"level", "1 while this level is switched on, 0 while it is off."},
  {"limit_seconds", "The time limit of a deadline that learns it, at present."},
  {"samples", "Durations that a deadline learns its time limit from."},
  {"on", "1 while the feature of a layer is on."},
  {"requests", "Calls in the window of a throttle."},
  {"accepts", "Calls in the window of a throttle that were accepted."},
  {"limit", "The present limit of an adaptive limit."},
  {"latency_seconds", "Latency of an adaptive limit's last window."},
  {"baseline_seconds", "Latency without load, to an adaptive limit."},
  {"gradient_ratio", "What an adaptive limit multiplied its limit by."},
  {"threshold", "Level from which calls pass a shedder, of 4096; 0: all do."},
  {"cpu_ratio", "Share of the CPU time in use, to a shedder; 0 if unknown."},
  {"memory_ratio", "Share of the memory in use, to a shedder; 0 if unknown."},
  {"delay_seconds", "How much longer than usual a shedder's calls take."},
  {"in_flight", "Calls below a shedder."},
  {"in_flight_limit", "Calls below a shedder that are no sign of overload."},
  {"rejection_ratio", "Probability with which a throttle rejects a call."},
};
// clang-format on

struct unit {
  std::string_view suffix;
  std::string_view base;
  double scale;
};

constexpr unit units[] = {
  {"_permille", "_ratio", 1e-3}, {"_ppm", "_ratio", 1e-6},
  {"_ns", "_seconds", 1e-9},     {"_us", "_seconds", 1e-6},
  {"_ms", "_seconds", 1e-3},
};

// Gauges whose names end with what they are about.
struct family {
  std::string_view kind;
  std::string_view other;
  std::string_view prefix;
  std::string_view metric;
  const char* label;
};

constexpr family families[] = {
  {"degradation", "", "level_", "level", "level"},
  {"semaphore", "adaptive_limit", "in_use_", "partition_in_use", "partition"},
  {"semaphore", "adaptive_limit", "waiting_", "partition_waiting", "partition"},
  {"semaphore", "adaptive_limit", "guaranteed_", "partition_guaranteed",
   "partition"},
};

// These are about all layers, or have endings that mean something else.
bool is_taken(std::string_view name) {
  constexpr std::string_view taken[] = {"state", "mode", "position"};
  constexpr std::string_view endings[] = {"_total", "_count", "_sum", "_bucket",
                                          "_info"};
  return std::find(std::begin(taken), std::end(taken), name) != std::end(taken)
         || std::any_of(std::begin(endings), std::end(endings),
                        [&](auto x) { return name.ends_with(x); });
}

const char* help_of(std::string_view name) {
  for (const auto& x : known_gauges)
    if (x.name == name)
      return x.help;
  return "A gauge of a policy; the page of its kind describes it.";
}

} // namespace

std::span<const gate_metric> gate_metrics() {
  return all_gate_metrics;
}

gauge_form form_of_gauge(std::string_view kind, std::string_view name) {
  gauge_form form;
  std::string own{name};
  if (name == "window_total")
    own = "window_results";
  for (const auto& x : families)
    if (name.starts_with(x.prefix)
        && (kind == x.kind || (!x.other.empty() && kind == x.other))) {
      own = x.metric;
      form.label = x.label;
      form.about = label_text(name.substr(x.prefix.size()));
    }
  for (const auto& x : units)
    if (form.about.empty() && own.ends_with(x.suffix)) {
      own.replace(own.size() - x.suffix.size(), x.suffix.size(), x.base);
      form.scale = x.scale;
      form.negative_is_none = true;
    }
  own = metric_name(own);
  form.help = help_of(own);
  form.name = "caisson_layer_" + own + (is_taken(own) ? "_value" : "");
  return form;
}

std::span<const std::string_view> states_of_kind(std::string_view kind) {
  const auto* known = find_policy_kind(kind);
  return known ? std::span<const std::string_view>{known->states}
               : std::span<const std::string_view>{};
}

} // namespace caisson::detail
