// Adaptive concurrency limit: how many calls are below it at the same time
// follows from how long they take and whether they fail.
#pragma once

#include <caisson/base/pooled_list.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policies/adaptive_limit/adaptive_limit_config.hpp>
#include <caisson/policies/adaptive_limit/limit_window.hpp>
#include <caisson/policies/adaptive_limit/worker_model.hpp>
#include <caisson/policy/lending_base.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace caisson {

// -- counters -----------------------------------------------------------------

/// What an adaptive limit counts; docs/adaptive-limit.md says what each means.
enum class adaptive_limit_counter : std::uint8_t {
  passed,
  queued,
  granted,
  queue_full,
  delayed,
  too_heavy,
  evicted,
  outgrown,
  timed_out,
  gave_up,
  shed,
  hopeless,
  out_of_time,
  finished,
  abandoned,
  sampled,
  slow,
  dropped,
  ignored,
  stale,
  raised,
  lowered,
  backed_off,
  unused,
  kept,
  measured,
  unmeasured,
  early,
  probed,
  capped,
  count_
};

template <>
struct enum_names<adaptive_limit_counter> {
  static constexpr std::string_view value[] = {
    "passed",    "queued",     "granted",     "queue_full", "delayed",
    "too_heavy", "evicted",    "outgrown",    "timed_out",  "gave_up",
    "shed",      "hopeless",   "out_of_time", "finished",   "abandoned",
    "sampled",   "slow",       "dropped",     "ignored",    "stale",
    "raised",    "lowered",    "backed_off",  "unused",     "kept",
    "measured",  "unmeasured", "early",       "probed",     "capped",
  };
};

// -- policy -------------------------------------------------------------------

/// Lends permits to calls, as a semaphore does; an algorithm sets how many
/// there are. Calls take their weight (`call_info::permits`). A call heavier
/// than the present limit, but not than `max_limit`, runs when no other does.
///
/// Outcomes are collected in windows, and each window may change the limit. The
/// latency of a call is the time from when it has its permits until it comes
/// back. Constant memory (about 1.5 KiB) apart from calls that wait or have
/// waited. Constant time for each call, but for its queue, plus 256 steps for
/// each window.
class adaptive_limit final
  : public detail::lending_base<adaptive_limit, adaptive_limit_config,
                                adaptive_limit_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "adaptive_limit";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit adaptive_limit(adaptive_limit_config c);

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;

  /// The limit that applies at present: while the baseline is measured, a lower
  /// one.
  [[nodiscard]] std::int64_t limit() const noexcept;

  // -- time -------------------------------------------------------------------

  /// The latest end of the measurement that has begun.
  [[nodiscard]] time_point wakeup() const override {
    return measuring_ ? measure_until_ : never;
  }
  void wake(env& e) override;

  // -- operation --------------------------------------------------------------

  /// A measurement ends, so that waiting calls do not wait for it.
  void drain(env& e) override;

  /// `measuring` while the limit is pinned to measure the baseline, otherwise
  /// `adjusting`.
  [[nodiscard]] std::string_view state() const override;

protected:
  // The limit stays, within its new bounds. With another algorithm, what the
  // old one has learned is forgotten. Waiting calls stay and keep their limit,
  // except those heavier than the new `max_limit`, or than what their partition
  // may have.

  void prepare(adaptive_limit_config& next, env& e) override;
  void adapt(env& e) override;
  void list_gauges(std::vector<metric>& out) const override;

  /// Back to `initial_limit`; what the algorithm has learned is forgotten.
  void forget(env& e) override;

private:
  friend lending_base;

  // When a call went down, and in which epoch.
  struct departure {
    time_point at = {};
    std::uint32_t epoch = 0;
  };

  // What the slot of a call has. One that waited has its departure in
  // `departures_`: nobody has its slot at hand when it goes down.
  struct call_state {
    detail::partitioned_limit::stay stay;
    pooled_list<departure>::handle waited = pooled_list<departure>::none;
    departure left;
  };

  // -- permits ----------------------------------------------------------------

  static stay& stay_of(slot& notes) { return notes.as<call_state>().stay; }
  [[nodiscard]] std::uint32_t most() const noexcept {
    return config_.max_limit;
  }
  [[nodiscard]] std::int64_t pinned_limit() const noexcept;
  [[nodiscard]] std::int64_t free() const noexcept;
  [[nodiscard]] bool is_reached() const noexcept;
  departure depart(std::uint32_t permits, env& e);
  departure end_call(const call_info& call, call_state& saved, env& e);
  decision pass_down(slot& notes, env& e);
  void must_wait() noexcept;
  std::uint32_t begin_wait(slot& notes);
  void lent_to(const waiter& w, env& e);
  void end_wait(const waiter& w);
  void all_served() noexcept;

  // -- windows ----------------------------------------------------------------

  void learn(const departure& left, const outcome& o, env& e);
  void close_window(env& e);
  std::int64_t next_limit(const detail::limit_window::results& w, env& e);
  void move_limit(std::int64_t next, env& e);
  void clear_window() noexcept { window_.clear(in_use(), limit_); }

  // -- measurements -----------------------------------------------------------

  void begin_due_measurement(env& e) {
    if (measuring_ ? measure_until_ == never : e.now >= measure_at_)
      begin_measurement(e);
  }
  void begin_measurement(env& e);
  void measure(std::string_view why, env& e);
  void end_measurement(env& e);
  void adjust(std::string_view why, env& e);
  void set_due_time() noexcept;
  void adapt_measurement(env& e);
  void restart_algorithm(std::string_view why, env& e);
  void move_to(bool measuring, std::string_view why, env& e);

  pooled_list<departure> departures_;

  // Set by the windows; `limit()` says what applies.
  std::int64_t limit_;
  // The limit that was reported last.
  std::int64_t reported_;

  detail::limit_window window_;
  detail::worker_model model_;

  bool measuring_ = false;
  // Changes when a measurement begins.
  std::uint32_t epoch_ = 0;
  // `never` until a call comes, so that a gate without calls is not woken.
  time_point measure_until_ = never;
  time_point measured_at_ = {};
  time_point measure_at_ = never;
  bool other_algorithm_ = false;
  bool draining_ = false;
};

} // namespace caisson
