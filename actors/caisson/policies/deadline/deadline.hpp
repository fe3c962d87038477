// Timeout: limits how long a call may take.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policies/deadline/deadline_config.hpp>
#include <caisson/policies/deadline/learned_limit.hpp>
#include <caisson/policies/deadline/limit_learner.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/policy/stage_budget.hpp>
#include <caisson/settings/settings.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- counters -----------------------------------------------------------------

/// What a deadline counts; docs/deadline.md says what each means.
enum class deadline_counter : std::uint8_t {
  admitted,
  expired_on_arrival,
  too_little_left,
  answered,
  expired,
  overran,
  abandoned,
  count_
};

template <>
struct enum_names<deadline_counter> {
  static constexpr std::string_view value[] = {
    "admitted", "expired_on_arrival", "too_little_left", "answered", "expired",
    "overran",  "abandoned",
  };
};

// -- policy -------------------------------------------------------------------

/// Sets a deadline on each call: `timeout` from now, or earlier if `share` and
/// `reserve` say so, unless the call already has an earlier one. It replaces
/// the host's default deadline, whether earlier or later. It refuses calls with
/// too little or no time left before any work is done for them. The layers
/// below see the new deadline. Above this layer, the call has the deadline that
/// it arrived with. It only sets and judges limits: the engine's `call_expiry`
/// ends calls when they pass.
class deadline final
  : public policy_base<deadline, deadline_config, deadline_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "deadline";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit deadline(deadline_config c);

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;

  // -- time -------------------------------------------------------------------

  decision deadline_passed(call_info& call, slot& notes, env& e) override;
  [[nodiscard]] time_point latest_end(const call_info& call,
                                      slot& notes) const override;

  // -- operation --------------------------------------------------------------

  // New settings apply to new calls. Those below keep their deadlines.

  /// What applies in place of `timeout` at present.
  [[nodiscard]] duration present_timeout() const noexcept;

protected:
  /// What was learned stays, unless the window changes.
  void adapt(env& e) override;
  void list_gauges(std::vector<metric>& out) const override;
  /// Learns anew.
  void forget(env& e) override;

private:
  // What the slot of a call below has.
  struct call_state {
    // The deadline that the layers below see.
    time_point limit;
    // When `timeout` is over.
    time_point latest;
    // Whether this layer set it.
    bool own;
    bool expired;
    // Its end has been measured.
    bool measured = false;
    // When it arrived here.
    time_point since = {};
  };

  // What this layer's settings allow the call, whether or not its own deadline
  // is earlier. A default has no share.
  [[nodiscard]] time_point limit_of(const call_info& call, time_point now,
                                    duration timeout) const noexcept {
    auto limit = time_after(now, timeout);
    return call.default_deadline || call.deadline == never
             ? limit
             : std::min(limit, share_of(call, now));
  }
  [[nodiscard]] time_point share_of(const call_info& call,
                                    time_point now) const noexcept;
  void note_expiry(call_state& saved, call_id call, env& e);
  void measure(call_state& saved, bool ok, time_point now);
  duration learn_timeout(env& e);
  void emit_change(duration timeout, env& e);

  // Null if nothing is to be learned.
  std::unique_ptr<detail::limit_learner> learner_;
  // The limit that was reported last, and the earliest next report.
  duration reported_ = duration::zero();
  time_point next_report_at_ = time_point::min();
};

} // namespace caisson
