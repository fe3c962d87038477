// Circuit breaker: stops calls to a failing worker, and probes until it works
// again.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/policies/breaker/breaker_config.hpp>
#include <caisson/policies/breaker/breaker_limit.hpp>
#include <caisson/policies/breaker/breaker_probes.hpp>
#include <caisson/policies/breaker/breaker_ramp.hpp>
#include <caisson/policies/breaker/breaker_slow.hpp>
#include <caisson/policies/breaker/trip_history.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/policy/schedule.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace caisson {

// -- counters -----------------------------------------------------------------

/// What a breaker counts; docs/breaker.md says what each means.
enum class breaker_counter : std::uint8_t {
  admitted,
  probes,
  forced_through,
  rejected_open,
  rejected_half_open,
  rejected_forced,
  rejected_ramp,
  rejected_limit,
  successes,
  failures,
  neutral,
  refused,
  slow_calls,
  late_results,
  unjudged_results,
  probes_returned,
  leases_expired,
  opened,
  half_opened,
  reopened,
  closed,
  half_open_timeouts,
  attempt_timeouts,
  count_
};

template <>
struct enum_names<breaker_counter> {
  static constexpr std::string_view value[] = {
    "admitted",
    "probes",
    "forced_through",
    "rejected_open",
    "rejected_half_open",
    "rejected_forced",
    "rejected_ramp",
    "rejected_limit",
    "successes",
    "failures",
    "neutral",
    "refused",
    "slow_calls",
    "late_results",
    "unjudged_results",
    "probes_returned",
    "leases_expired",
    "opened",
    "half_opened",
    "reopened",
    "closed",
    "half_open_timeouts",
    "attempt_timeouts",
  };
};

// -- policy -------------------------------------------------------------------

/// A circuit breaker.
///
/// An automatic state machine (closed, open, half-open) always runs. An
/// operator's override (forced open, forced closed), which may be for a limited
/// time, takes precedence over it.
/// Each automatic state is an epoch with its own number. A call belongs to the
/// epoch in which it was admitted, and its result counts only in that epoch.
///
/// Guarantees: it never holds a call and never changes an outcome. Neither
/// callers nor workers can keep it half-open, because each probe is a lease
/// that ends, and the state ends too.
class breaker final
  : public policy_base<breaker, breaker_config, breaker_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "breaker";

  // -- construction -----------------------------------------------------------

  /// In the state `c.initial`, with an empty history. Throws `config_error`.
  explicit breaker(breaker_config c);

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;

  // -- time -------------------------------------------------------------------

  [[nodiscard]] time_point wakeup() const override { return check_at_; }
  void wake(env& e) override { catch_up(e); }
  void attempt_timed_out(std::string_view key, env& e) override;

  /// Whether no open interval runs at `now`. An override does not count.
  [[nodiscard]] bool is_idle(time_point now) const noexcept {
    auto* s = std::get_if<open>(&state_);
    return !s || now >= s->until;
  }

  // -- operation --------------------------------------------------------------

  [[nodiscard]] std::string_view state() const override;
  [[nodiscard]] caisson::circuit
  circuit(std::string_view key) const noexcept override;
  bool command(policy_command c, env& e) override;

protected:
  void prepare(breaker_config& next, env& e) override;
  /// State, epoch and open interval stay, histories keep what fits. While
  /// half-open, the new numbers apply to the probes so far at once, because no
  /// other event may follow.
  void adapt(env& e) override;
  void list_gauges(std::vector<metric>& out) const override;
  /// Goes to the initial state.
  void forget(env& e) override;

private:
  // -- states -----------------------------------------------------------------

  /// Lasts from one closed state to the next: how often in a row it opened.
  struct outage {
    schedule::cursor at;
    /// The current or last open interval; this value is used only if the
    /// schedule has no delay at all.
    duration interval = std::chrono::seconds(5);
    std::int64_t openings = 0;
  };

  struct closed {
    detail::slow_watch watched_calls;
    detail::breaker_ramp ramp;
    detail::breaker_limit limit;
    /// Whether either may reject a call.
    bool rejects = false;
    /// What it has rejected the last call for.
    counter why = counter::rejected_ramp;
  };

  struct open {
    outage episode;
    time_point until;
  };

  struct half_open {
    outage episode;
    detail::breaker_probes probes;
  };

  using automatic_state = std::variant<closed, open, half_open>;
  enum class state_index : std::uint8_t { closed, open, half_open };

  /// The operator's override, which takes precedence over the automatic state.
  enum class override_state : std::uint8_t { none, forced_open, forced_closed };

  /// What a call was admitted as.
  enum class call_role : std::uint8_t {
    /// Closed: its result goes into the history.
    counted,
    /// Closed, and with a limit: its result goes into the history, and it
    /// counts among the calls in flight.
    limited,
    /// Half-open: its result decides.
    probe,
    /// Passed only because the breaker is forced closed: its result does not
    /// count, because the automatic state would not have admitted it.
    bystander,
  };

  /// What the slot of a call has.
  struct call_state {
    std::uint64_t epoch;
    time_point admitted;
    call_role role;
    /// The number of the probe's lease, or of the call that is watched;
    /// otherwise 0.
    std::uint64_t number = 0;
    detail::slow_watch::handle watched = detail::slow_watch::none;
  };

  // -- calls: inlined ---------------------------------------------------------
  //
  // An undisturbed call does little else.

  // Does what is due at `e.now`.
  void catch_up(env& e) {
    auto last = std::exchange(clock_, std::max(clock_, e.now));
    if (clock_ >= check_at_) [[unlikely]]
      follow(last, e);
  }

  void take_counted(closed& s, slot& notes, call_role role) {
    count(counter::admitted);
    history_.arrive(clock_);
    auto& saved = notes.start(call_state{epoch_, clock_, role});
    if (timed_) [[unlikely]]
      saved.watched = s.watched_calls.add(saved.number = ++last_number_,
                                          clock_);
  }

  void count_verdict(verdict v) {
    constexpr counter names[] = {counter::successes, counter::failures,
                                 counter::failures, counter::neutral,
                                 counter::refused};
    count(names[static_cast<std::size_t>(v)]);
  }

  // Opens if the trip rules say so. Returns whether it did.
  bool weigh_results(env& e) {
    return !history_.is_quiet() && weigh_history(e);
  }

  // A call was admitted, or has succeeded, while closed. That can only bring
  // the next check forward, unless calls are timed.
  void note_check() {
    if (timed_ || history_.next_change() < check_at_) [[unlikely]]
      plan_check();
  }

  // The same if it was admitted.
  void note_arrival() {
    if (history_.watches_load() || timed_) [[unlikely]]
      note_check();
  }

  // -- calls: admission -------------------------------------------------------

  decision admit_slow_path(const call_info& call, slot& notes, env& e);
  bool take(const call_info& call, slot& notes, env& e);
  bool take_if_closed(closed& s, slot& notes, env& e);
  bool take_probe(half_open& s, const call_info& call, slot& notes);
  decision reject_call(const call_info& call, env& e);

  // -- calls: results ---------------------------------------------------------

  void judge(const call_info& call, const call_state& saved, verdict v, env& e);
  void judge_now(const call_info& call, const call_state& saved, verdict v,
                 env& e);
  void judge_counted(const call_state& saved, verdict v, env& e);
  void judge_limited(const call_state& saved, verdict v, env& e);
  void judge_probe(const call_info& call, const call_state& saved, verdict v,
                   env& e);
  void emit_late(const call_info& call, std::string_view why, env& e);

  // -- time -------------------------------------------------------------------

  void follow(time_point last, env& e);
  void plan_check();
  void watch_calls(time_point last, env& e);
  void expire_probes(env& e);
  [[nodiscard]] time_point automatic_check() const;

  // -- transitions ------------------------------------------------------------

  bool weigh_history(env& e);
  bool weigh_probes(std::string_view why_open, env& e);
  void go_open(outage episode, std::string_view why, env& e);
  void go_half_open(const open& s, env& e);
  void go_closed(std::string_view why, env& e);
  void move_to(automatic_state next, std::string_view why, env& e);
  bool carry_out(policy_command c, env& e);
  bool force(override_state next, duration time, std::string_view why, env& e);
  [[nodiscard]] automatic_state initial_state() const;
  [[nodiscard]] closed closed_with(detail::breaker_ramp ramp) const;
  [[nodiscard]] bool may_reject(const closed& s) const {
    return s.ramp.runs() || config_.limit_at < 1;
  }

  /// Without an operator, each state is left only for certain others, and a
  /// closed one begins without a past.
  void ensure_left_for(state_index next) const {
    auto now = static_cast<state_index>(state_.index());
    CAISSON_ENSURE(now == state_index::half_open
                     ? next != now
                     : static_cast<int>(next) == static_cast<int>(now) + 1,
                   "state {} follows state {}", next, now);
    CAISSON_ENSURE(history_.streak() == 0 && history_.failures().total == 0,
                   "state {} begins with {} results", next,
                   history_.failures().total);
  }

  automatic_state state_;
  /// Empty unless closed, except for the normal load.
  detail::trip_history history_;
  override_state override_ = override_state::none;
  /// When the override ends by itself.
  time_point override_end_ = never;
  /// Increases with each change of the automatic state; unique per epoch.
  std::uint64_t epoch_ = 1;
  std::uint64_t last_number_ = 0;
  /// The latest instant seen: a clock that steps back has no effect until it
  /// has caught up.
  time_point clock_ = time_point::min();
  /// When `follow` has something to do. Follows from the rest, as of the last
  /// `plan_check`.
  time_point check_at_ = never;
  /// Likewise: whether calls are watched for how long they take.
  bool timed_ = false;
};

} // namespace caisson
