// Retries failed calls.
#pragma once

#include <caisson/outcome.hpp>
#include <caisson/policy_base.hpp>
#include <caisson/retry_budget.hpp>
#include <caisson/schedule.hpp>
#include <caisson/settings.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- configuration ------------------------------------------------------------

/// The settings of a retrier.
struct retrier_config {
  std::string name = {};
  caisson::mode mode = caisson::mode::enforce;

  /// How often a call is attempted at most, including the first time: 1 to
  /// 1000, default 3.
  std::uint32_t max_attempts = 3;

  /// How long to wait before each further attempt. When it is exhausted, or its
  /// function throws, there are no further retries. Default: exponential, 50ms
  /// ×2 up to 2s, full jitter.
  schedule backoff = schedule::exponential(std::chrono::milliseconds(50))
                       .limit(std::chrono::seconds(2))
                       .jittered(jitter::full);

  /// Whether an unmarked call may be carried out twice, default no. A call's
  /// own mark takes precedence.
  bool idempotent = false;

  /// Which outcomes to retry: `transient` and `refused`. The lists are called
  /// `retry_on` (allow) and `fail_on` (deny), both empty by default. If
  /// `by_value` throws, the outcome is final.
  classifier classify = {};

  /// Whether retries are limited to a share of the traffic, default yes.
  bool budget = true;

  /// How many retries each first attempt pays for: 0 to 1 in steps of a
  /// millionth, default 0.2. With 0 there is only the reserve.
  double budget_ratio = 0.2;

  /// How many retries per second are always allowed: 0 to 1000000, default 10.
  std::uint32_t budget_reserve = 10;

  /// How long attempts and retries count in the budget: 1s to 60s, default
  /// 10s.
  duration budget_ttl = std::chrono::seconds(10);
};

void describe(field_visitor& v, retrier_config& c);

void check(const retrier_config& c, const setting_path& path, problems& out);

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
  abandoned,
  abandoned_waiting,
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
    "abandoned",
    "abandoned_waiting",
  };
};

// -- policy -------------------------------------------------------------------

/// Holds a failed call for its backoff and sends it down again, as long as
/// attempts, schedule, deadline and budget allow it. Then the outcome of the
/// last attempt goes up unchanged, except that its `reached` tells whether
/// *any* attempt may have reached the worker.
class retrier final
  : public policy_base<retrier, retrier_config, retrier_counter> {
public:
  static constexpr std::string_view kind_name = "retrier";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit retrier(retrier_config c);

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision settle(call_info& call, slot& notes, outcome& result,
                  env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;
  [[nodiscard]] bool resends() const noexcept override { return true; }

  // -- time -------------------------------------------------------------------

  decision expire(call_info& call, slot& notes, env& e) override;

protected:
  // -- operation --------------------------------------------------------------

  /// Calls in backoff keep their delay and follow the new settings from their
  /// next outcome on. The budget starts anew only if one of its settings
  /// changes.
  void prepare(retrier_config& next, env& e) override;
  void list_gauges(std::vector<metric>& out) const override;
  /// Empties the budget.
  void forget(env& e) override;

private:
  // What is known of a call.
  struct progress {
    schedule::cursor place;
    // Of the schedule to which `place` belongs.
    std::uint32_t era = 0;
    // Sent down so far.
    std::uint32_t attempts = 1;
    // Whether any of them may have reached the worker.
    bool reached = false;
  };

  [[nodiscard]] bool may_repeat(const call_info& call) const noexcept;

  // How long to wait before the next attempt; nothing, which is counted, if
  // there is none.
  std::optional<duration> next_delay(const call_info& call, progress& my,
                                     const outcome& result, verdict v, env& e);

  retry_budget budget_;
  std::uint32_t era_ = 0;
  std::int64_t waiting_ = 0;
};

} // namespace caisson
