// Rate limiter: limits how many calls pass per unit of time.
#pragma once

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

// -- configuration ------------------------------------------------------------

/// Configures a `limiter`.
struct limiter_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};
  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// How many tokens arrive in each `per`; 1 to 1000000000, default 100. At
  /// most one per nanosecond of `per`.
  std::int64_t rate = 100;

  /// The time in which `rate` tokens arrive; 1us to 365d, default 1s.
  duration per = std::chrono::seconds(1);

  /// How many tokens the bucket holds; 1 to 1000000000, default 10. For
  /// `token_bucket` only.
  std::uint32_t burst = 10;

  /// How it counts, default `token_bucket`.
  rate_algorithm algorithm = rate_algorithm::token_bucket;

  /// How long it takes until calls go at the full rate; 1ms to 1d, default 10s.
  /// For `warm_up` only.
  duration warm_up_time = std::chrono::seconds(10);

  /// How many times as long the interval between calls is at first; 1.1 to
  /// 1000, default 3. For `warm_up` only.
  double cold_factor = 3;

  /// How long a call may wait for its turn, also if that is promised; 0 to
  /// unlimited, default 0: a call that finds too few tokens is refused at once.
  duration max_wait = duration::zero();

  /// How many calls may wait, those included to which a turn is promised; 0 to
  /// 1000000, default 1000. 0 only if `max_wait` is.
  std::uint32_t max_waiters = 1000;

  /// Whether an answer of the worker such as "too many requests" empties the
  /// bucket; default true. Decisions of layers and gates never do.
  bool drain_on_rejection = true;

  /// How long one answer can keep the bucket empty; 0 to unlimited, default
  /// 1min. A longer `retry_after` is capped at this.
  duration retry_after_cap = std::chrono::minutes(1);
};

/// Lists the fields of `c`.
void describe(field_visitor& v, limiter_config& c);

/// Checks that `rate` is at most one token per nanosecond, that calls that may
/// wait have places to wait in, and that no setting of another algorithm was
/// changed.
void check(const limiter_config& c, const setting_path& path, problems& out);

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
  decision reserve(call_info& call, slot& notes, const reservation& wish,
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
  struct stay : waiting_queue::stay {
    /// When it came: it has paid then, or later. If it was promised a turn:
    /// when that is.
    time_point came = {};
  };

  [[nodiscard]] detail::rate_shape shape() const noexcept;

  [[nodiscard]] time_point pass_time(std::uint32_t permits);
  [[nodiscard]] time_point turn_of(std::uint32_t permits, time_point earliest);
  [[nodiscard]] time_point turn_of_first();
  [[nodiscard]] std::size_t waiting() const noexcept;

  void catch_up(time_point now);
  [[nodiscard]] detail::rate_source source_now() const;

  decision admit_with_care(const call_info& call, stay& s, env& e);
  decision admit_among_others(const call_info& call, stay& s, env& e);
  decision complete_with_care(const call_info& call, const stay& s,
                              const outcome& result, env& e);
  decision enqueue(const call_info& call, stay& s, env& e);
  std::optional<decision> refusal(const call_info& call, time_point turn,
                                  time_point latest, env& e);
  decision pass_at_once();
  decision turn_away(counter why, errc code, call_id call, duration retry_after,
                     env& e, std::string_view detail = {});
  void settle(const stay& s, const outcome& result, env& e);
  bool withdraw(const stay& s, call_id call);
  void move_up(env& e);
  void put_back(const stay& s, env& e);
  void drain_for(const outcome& result, env& e);
  bool serve(env& e, call_id self = 0);

  detail::rate_source source_;
  // If a call has come back since the source was brought up to date: when.
  time_point seen_ = time_point::min();
  waiting_queue waiting_;
  detail::promised_turns promised_;
  // Whether there may be some of either.
  bool others_ = false;
  // When the first of those who wait can go.
  time_point next_turn_ = never;
  detail::wait_times waits_;
  /// How many calls have paid and not come back.
  std::size_t running_ = 0;
};

} // namespace caisson
