// Retry: sends failed calls again, after a backoff.
#pragma once

#include <caisson/policies/retrier/first_try_alarm.hpp>
#include <caisson/policies/retrier/retrier_config.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/policy/retry_budget.hpp>
#include <caisson/policy/schedule.hpp>
#include <caisson/policy/shared_retry_budget.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace caisson {

// -- counters -----------------------------------------------------------------

/// What a retrier counts; docs/retrier.md says what each means.
enum class retrier_counter : std::uint8_t {
  calls,
  succeeded,
  recovered,
  retried,
  resent,
  pushed_back,
  not_retryable,
  not_idempotent,
  gave_up_pushback,
  gave_up_attempts,
  gave_up_deadline,
  gave_up_schedule,
  gave_up_budget,
  gave_up_open,
  gave_up_half_open,
  rejections_charged,
  abandoned,
  abandoned_waiting,
  first_try_ok,
  first_try_failed,
  second_try_ok,
  second_try_failed,
  later_try_ok,
  later_try_failed,
  verifications,
  found_done,
  found_not_done,
  not_verified,
  alarms,
  count_
};

template <>
struct enum_names<retrier_counter> {
  static constexpr std::string_view value[] = {
    "calls",
    "succeeded",
    "recovered",
    "retried",
    "resent",
    "pushed_back",
    "not_retryable",
    "not_idempotent",
    "gave_up_pushback",
    "gave_up_attempts",
    "gave_up_deadline",
    "gave_up_schedule",
    "gave_up_budget",
    "gave_up_open",
    "gave_up_half_open",
    "rejections_charged",
    "abandoned",
    "abandoned_waiting",
    "first_try_ok",
    "first_try_failed",
    "second_try_ok",
    "second_try_failed",
    "later_try_ok",
    "later_try_failed",
    "verifications",
    "found_done",
    "found_not_done",
    "not_verified",
    "alarms",
  };
};

// -- policy -------------------------------------------------------------------

/// For a retrier with a verifier, what concerns content: the answers of the
/// verifier, and the replies that go up after a verification.
class reply_store {
public:
  virtual ~reply_store() = default;

  /// Keeps the reply in `o`, if it has one, under the call's number.
  virtual void keep(call_id call, const outcome& o) = 0;

  /// What the verifier's answer says; an error is `unknown`. With `done`, keeps
  /// the reply in it in place of what was kept.
  virtual effect read(call_id call, const outcome& answer) = 0;

  /// Whether a reply is kept.
  [[nodiscard]] virtual bool has(call_id call) const = 0;

  /// Drops what is kept, if anything is.
  virtual void drop(call_id call) = 0;
};

/// Holds a failed call for its backoff and sends it down again, as long as
/// attempts, schedule, deadline and budget allow it. Then the outcome of the
/// last attempt goes up unchanged, except that its `may_have_executed` says
/// whether *any* attempt may have executed.
///
/// With a verifier, a call that must not be carried out twice, but may have
/// been carried out once, is held while a child call to the layer's target 0
/// asks what became of it. Done: `env::answer` with the call's number gets the
/// kept reply. Not done: it goes on like any other failed call. Unknown: after
/// the last verification, its own outcome goes up.
class retrier final
  : public policy_base<retrier, retrier_config, retrier_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "retrier";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit retrier(retrier_config c);

  /// Verifies before it repeats. `replies` must outlive the calls.
  void verify_with(reply_store& replies) noexcept { replies_ = &replies; }

  /// Takes retries from this budget instead of its own; null: from its own
  /// again.
  void share(std::shared_ptr<shared_retry_budget> budget) noexcept;

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;
  [[nodiscard]] bool resends() const noexcept override { return true; }

  // -- time -------------------------------------------------------------------

  decision expire(call_info& call, slot& notes, env& e) override;
  [[nodiscard]] time_point wakeup() const override { return alarm_.wakeup(); }
  void wake(env& e) override { judge_alarm(e); }

protected:
  // -- operation --------------------------------------------------------------

  /// Calls in backoff keep their delay and follow the new settings from their
  /// next outcome on. The budget starts anew only if one of its settings
  /// changes.
  void prepare(retrier_config& next, env& e) override;
  void adapt(env& e) override { judge_alarm(e); }
  void list_gauges(std::vector<metric>& out) const override;
  /// Empties the budget, unless it is shared, and the alarm's window.
  void forget(env& e) override;

private:
  // Where a call is.
  enum class stage : std::uint8_t {
    attempt,
    backoff,
    verifying,
    before_verification,
    // Its reply is on the way; it has been counted.
    answering,
  };

  // What the slot of a call has.
  struct call_state {
    schedule::cursor place;
    // The epoch of the schedule to which `place` belongs.
    std::uint32_t epoch = 0;
    // How many attempts were sent down so far.
    std::uint32_t attempts = 1;
    // Verifications since the last attempt.
    std::uint8_t verifications = 0;
    stage at = stage::attempt;
    // Whether any of them may have executed.
    bool may_have_executed = false;
  };

  static void name_call(call_info& call, env& e);
  decision complete_slow_path(call_info& call, call_state& saved,
                              outcome& result, env& e);
  decision attempt_over(call_info& call, call_state& saved, outcome& result,
                        env& e);
  [[nodiscard]] bool may_repeat(const call_info& call) const noexcept;

  // The call goes up, counted as `why`.
  decision finish(counter why, bool good, env& e);

  // Holds the call until its next attempt, or nothing, which is counted.
  std::optional<decision> try_again(const call_info& call, call_state& saved,
                                    const outcome& result, env& e);

  // How long to wait before the next attempt; nothing, which is counted, if
  // there is none.
  std::optional<duration> next_delay(const call_info& call, call_state& saved,
                                     const outcome& result, env& e);
  [[nodiscard]] std::optional<counter>
  withheld(const call_info& call, const call_state& saved, const env& e) const;
  [[nodiscard]] bool attempts_left(const call_info& call,
                                   const call_state& saved,
                                   const outcome& result) const noexcept;
  std::optional<duration> pause_after(const outcome& result, duration scheduled,
                                      env& e) const;

  // -- verification -----------------------------------------------------------

  decision start_verification(const call_info& call, call_state& saved,
                              const outcome& result, env& e);
  decision verify(const call_info& call, call_state& saved, env& e);
  decision judge_verification(const call_info& call, call_state& saved,
                              outcome& result, env& e);
  decision reverify(const call_info& call, call_state& saved, outcome& result,
                    env& e);
  decision give_back(const call_info& call, call_state& saved, outcome& result,
                     env& e);
  decision answer_over(const call_info& call, call_state& saved,
                       outcome& result);

  // -- numbers ----------------------------------------------------------------

  void count_try(const call_state& saved, bool good, env& e);
  void judge_alarm(env& e);
  void deposit(time_point now);
  bool withdraw(const outcome& failed, time_point now);
  void charge(const outcome& failed, time_point now);
  [[nodiscard]] std::int64_t budget_left() const;

  retry_budget budget_;
  std::shared_ptr<shared_retry_budget> shared_;
  detail::first_try_alarm alarm_;
  reply_store* replies_ = nullptr;
  // The outcomes of attempts that are being verified.
  std::unordered_map<call_id, outcome> unverified_;
  std::uint32_t epoch_ = 0;
  std::int64_t waiting_ = 0;
};

} // namespace caisson
