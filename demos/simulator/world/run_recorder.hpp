// Records a run: counts, sums and the event log.
#pragma once

#include <simulator/world/connection_recorder.hpp>
#include <simulator/world/details_recorder.hpp>
#include <simulator/world/ending.hpp>
#include <simulator/world/event_log.hpp>
#include <simulator/world/fault_recorder.hpp>
#include <simulator/world/latency_histogram.hpp>
#include <simulator/world/replica_recorder.hpp>
#include <simulator/world/result.hpp>
#include <simulator/world/row_recorder.hpp>
#include <simulator/world/service_recorder.hpp>
#include <simulator/world/world_plan.hpp>

#include <caisson/messages.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::sim {

/// Counts what happens in one run, and logs it.
class run_recorder {
public:
  run_recorder(const world_plan& plan,
               std::function<void(std::string_view)> log);

  /// For instants of the actor system's clock.
  void set_start(time_point t) { start_ = t; }
  [[nodiscard]] duration since_start(time_point t) const { return t - start_; }

  /// From here on, records what `arm_result::details` has.
  void record_details(const std::optional<sample_settings>& samples,
                      const std::optional<trace_settings>& trace) {
    details_.emplace(plan_.routes.size(), samples, trace);
  }
  /// From here on, keeps rows of so many seconds, and sums up these ranges.
  void record_rows(std::uint32_t step,
                   const std::vector<second_range>& ranges) {
    rows_.set_step(step);
    rows_.watch(ranges);
  }
  /// From here on, reports each second that has ended, without latencies.
  void emit_seconds(std::function<void(const result_row&)> f) {
    on_second_ = std::move(f);
  }
  /// From `now` on, looks for `goal` at a service of the arm, or one of its
  /// replicas.
  void watch_level(std::size_t service, std::optional<std::uint32_t> replica,
                   level::kind what, const level_watch::goal& goal,
                   duration now);
  /// Nothing unless details are recorded.
  [[nodiscard]] details_recorder* details() noexcept {
    return details_ ? &*details_ : nullptr;
  }

  event_log& log() noexcept { return log_; }
  /// For the instance `i` of the plan.
  [[nodiscard]] replica_recorder instance(std::size_t i);

  // -- requests of clients ----------------------------------------------------

  /// A new request; returns its number, counted from 1.
  std::uint64_t offered(time_point now, std::size_t load);
  /// An attempt has arrived at its service; `n` of them, in a batch.
  void attempted(time_point now, std::uint64_t n);
  /// A request that is over, and how.
  struct answer {
    std::size_t load;
    std::uint64_t request;
    time_point begun;
    std::uint32_t operation;
    ending how;
    bool substituted;
    /// For how long the client waits, at most, for an attempt.
    duration waits;
  };
  void answered(time_point now, const answer& x);
  void answered_twice() { ++result_.answered_twice; }
  [[nodiscard]] std::uint64_t open_requests() const noexcept { return open_; }

  // -- services ---------------------------------------------------------------

  /// How many requests are inside the service `i` of the arm now.
  [[nodiscard]] std::uint64_t inside(std::size_t i) const {
    return services_[i].all.inside();
  }
  /// When the last piece of work ends there, as far as that is known by now.
  [[nodiscard]] duration work_until(std::size_t i) const {
    return services_[i].work_until;
  }

  [[nodiscard]] fault_recorder& faults() noexcept { return faults_; }

  // -- routes -----------------------------------------------------------------

  /// Counts a message of the route `i`.
  void edge(std::size_t i, time_point now, std::uint64_t edge_summary::*what) {
    edges_[i].*what += since_start(now) >= warmup_;
  }

  /// Those of the route `i`; nothing unless they are limited.
  [[nodiscard]] connection_recorder* connections(std::size_t i) {
    return connections_[i] ? &*connections_[i] : nullptr;
  }

  // -- gates ------------------------------------------------------------------

  void gate_event(const event& e);
  /// Makes a breaker known; it is closed.
  void add_breaker(std::string gate, std::string layer);

  // -- results ----------------------------------------------------------------

  /// Ends the present second at `now` and begins the next one.
  void end_second(duration now);
  /// How much of the run that makes so far.
  [[nodiscard]] duration ended_seconds() const {
    return std::chrono::seconds{rows_.seconds()};
  }
  /// Everything but names, gates, rows, details and wall-clock numbers.
  [[nodiscard]] arm_result result(time_point end);
  /// The rows and details, which are not here any more then. The present second
  /// has to be over.
  void move_rows_to(arm_result& r, time_point end);

private:
  struct tally {
    std::array<std::uint64_t, ending_count> by_ending{};
    std::uint64_t offered = 0;
    std::uint64_t attempts = 0;
    std::uint64_t substituted = 0;
    std::uint64_t prompt = 0;
    std::uint64_t prompt_in_drain = 0;
  };

  void end_row();
  void add_good(time_point now, const answer& x);
  void add_prompt(duration begun_at, bool in_drain);
  [[nodiscard]] bool asked_for(std::size_t operation) const;
  [[nodiscard]] load_summary load_result(std::size_t load) const;
  static request_counts counts_of(const tally& t);

  const world_plan& plan_;
  event_log log_;
  time_point start_{};
  duration warmup_;
  arm_result result_;
  tally total_;
  tally second_;
  latency_histogram latency_;
  latency_histogram row_latency_;
  fault_recorder faults_;
  row_recorder rows_;
  std::function<void(const result_row&)> on_second_;
  std::vector<latency_histogram> by_operation_;
  /// By load; no latencies if there is only one, whose are those of all.
  std::vector<tally> load_totals_;
  std::vector<load_row> load_second_;
  std::vector<latency_histogram> by_load_;
  std::vector<edge_summary> edges_;
  /// By route.
  std::vector<std::optional<connection_recorder>> connections_;
  std::vector<service_records> services_;
  /// By service; empty if it has one replica only.
  std::vector<std::vector<service_recorder>> replicas_;
  std::optional<details_recorder> details_;
  std::vector<std::string> breaker_states_;
  std::map<std::pair<std::string, std::string>, std::size_t> breaker_index_;
  std::uint64_t requests_ = 0;
  std::uint64_t open_ = 0;
};

} // namespace caisson::sim
