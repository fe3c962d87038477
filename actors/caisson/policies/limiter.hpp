// Rate limiter: limits how many calls pass per unit of time.
#pragma once

#include <caisson/policies/limiter_config.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/policy/promised_turns.hpp>
#include <caisson/policy/rate_source.hpp>
#include <caisson/policy/wait_times.hpp>
#include <caisson/policy/waiting_queue.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- counters -----------------------------------------------------------------

/// What a limiter counts; docs/limiter.md says what each means.
enum class limiter_counter : std::uint8_t {
  passed,
  queued,
  reserved,
  granted,
  rate_limited,
  past_deadline,
  queue_full,
  too_heavy,
  outgrown,
  timed_out,
  gave_up,
  finished,
  abandoned,
  returned,
  drained,
  count_
};

template <>
struct enum_names<limiter_counter> {
  static constexpr std::string_view value[] = {
    "passed",        "queued",     "reserved",  "granted",  "rate_limited",
    "past_deadline", "queue_full", "too_heavy", "outgrown", "timed_out",
    "gave_up",       "finished",   "abandoned", "returned", "drained",
  };
};

// -- policy -------------------------------------------------------------------

/// Sells tokens to calls: each pays `call_info::permits` on its way down. A
/// call that finds too few waits for its turn if that comes soon enough, or is
/// refused with a `retry_after`. If calls are always available, a token bucket
/// has sold exactly `burst + floor(rate * T)` tokens by time T.
class limiter final
  : public policy_base<limiter, limiter_config, limiter_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "limiter";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit limiter(limiter_config c);

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  /// Promises a turn behind those who wait, if that is in time. The promise
  /// stands, whatever becomes of the rate meanwhile, and takes its tokens at
  /// its instant. A request that is over by then has taken none.
  decision reserve(call_info& call, slot& notes, const reservation& times,
                   env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;

  // -- time -------------------------------------------------------------------

  decision expire(call_info& call, slot& notes, env& e) override;
  [[nodiscard]] time_point wakeup() const override {
    return waiting_.empty() ? never : next_turn_;
  }
  void wake(env& e) override;

  /// Whether it is at `now` as if no call had ever arrived: its bucket is full,
  /// for instance.
  [[nodiscard]] bool is_idle(time_point now) const noexcept;

protected:
  // -- operation --------------------------------------------------------------

  void prepare(limiter_config& next, env& e) override;
  /// The tokens in the bucket stay, except those above the new `burst`. Waiting
  /// calls stay and keep their limit, except those heavier than the new
  /// `burst`: they could never pass and are rejected.
  void adapt(env& e) override;
  void list_gauges(std::vector<metric>& out) const override;
  /// Fills the bucket.
  void forget(env& e) override;

private:
  // What the slot of a call has.
  struct call_state : waiting_queue::stay {
    /// When it arrived: it has paid then, or later. If it was promised a turn:
    /// when that is.
    time_point earliest_turn = {};
  };

  [[nodiscard]] detail::rate_shape shape() const noexcept;

  [[nodiscard]] time_point pass_time(std::uint32_t permits);
  [[nodiscard]] time_point turn_of(std::uint32_t permits, time_point earliest);
  [[nodiscard]] time_point turn_of_first();
  [[nodiscard]] std::size_t waiting() const noexcept;

  void catch_up(time_point now);
  [[nodiscard]] detail::rate_source source_now() const;

  decision admit_slow_path(const call_info& call, call_state& s, env& e);
  decision admit_behind_waiters(const call_info& call, call_state& s, env& e);
  decision complete_slow_path(const call_info& call, const call_state& s,
                              const outcome& result, env& e);
  decision enqueue(const call_info& call, call_state& s, env& e);
  std::optional<decision> refusal(const call_info& call, time_point turn,
                                  time_point latest, env& e);
  decision pass_at_once();
  decision reject_call(counter why, errc code, call_id call,
                       duration retry_after, env& e,
                       std::string_view detail = {});
  void apply_result(const call_state& s, const outcome& result, env& e);
  bool withdraw(const call_state& s, call_id call, time_point now);
  void move_up(env& e);
  void put_back(const call_state& s, env& e);
  void drain_for(const outcome& result, env& e);
  bool serve(env& e, call_id self = 0);

  detail::rate_source source_;
  // If a call has come back since the source was brought up to date: when.
  time_point seen_ = time_point::min();
  waiting_queue waiting_;
  detail::promised_turns promised_;
  // Whether there may be some of either.
  bool has_waiters_ = false;
  // When the first of those who wait can go.
  time_point next_turn_ = never;
  detail::wait_times waits_;
  /// How many calls have paid and not come back.
  std::size_t running_ = 0;
};

} // namespace caisson
