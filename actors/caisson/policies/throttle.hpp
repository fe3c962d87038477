// Client-side throttle: rejects a share of the calls itself while the worker
// does not accept what it gets.
#pragma once

#include <caisson/base/gcra.hpp>
#include <caisson/base/time.hpp>
#include <caisson/base/window.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/settings/settings.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- configuration ------------------------------------------------------------

/// The settings of a throttle.
struct throttle_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};

  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// How far back calls count: 1s to 24h, default 2min. In 24 steps.
  duration window = std::chrono::minutes(2);

  /// How many calls may come for each one that is accepted (the K of Google's
  /// SRE book): 1 to 100, default 2. Less lets fewer of the calls through that
  /// the worker would reject, and finds out later that it accepts more.
  double multiplier = 2;

  /// The largest probability with which a call is rejected: 0 to 1, default
  /// 0.8. With 0 none is; 1 needs a `min_rate` or a `pass_after` that ends.
  double max_rejection = 0.8;

  /// How many calls per second are always let through, if so many come: 0 to
  /// 1000000, default 5. A bucket of tokens holds those of one second; calls
  /// that the draw lets through take from it, too. A client with less traffic
  /// never throttles itself.
  std::uint32_t min_rate = 5;

  /// If none was let through for so long, the next call is: 1ms to unlimited,
  /// default 1s. So it is noticed when the worker accepts calls again, also
  /// with a `min_rate` of 0.
  duration pass_after = std::chrono::seconds(1);

  /// Which outcomes count as not accepted: errors named by `allow` and no
  /// others; those named by `deny` count neither way; or as the function says
  /// (`transient` and `refused`: not accepted). In configurations, `count_only`
  /// and `ignore`. If `by_value` throws, the call counts neither way, and the
  /// gate ends it with `callback_failed`.
  classifier classify = {};
};

/// Lists the fields of `c`.
void describe(field_visitor& v, throttle_config& c);

/// Checks that some calls always pass, and the lists.
void check(const throttle_config& c, const setting_path& path, problems& out);

// -- counters -----------------------------------------------------------------

/// What a throttle counts; docs/throttle.md says what each means.
enum class throttle_counter : std::uint8_t {
  passed,
  passed_by_rate,
  forced,
  rejected,
  accepted,
  not_accepted,
  ignored,
  abandoned,
  count_
};

template <>
struct enum_names<throttle_counter> {
  static constexpr std::string_view value[] = {
    "passed",   "passed_by_rate", "forced",  "rejected",
    "accepted", "not_accepted",   "ignored", "abandoned",
  };
};

// -- policy -------------------------------------------------------------------

/// Rejects calls with `throttled`, with the probability
/// `(requests - multiplier * accepts) / (requests + 1)`: `requests` are the
/// calls of the window, those that it has rejected itself among them, and
/// `accepts` those that the worker accepted. Both count when a call ends, so
/// calls in flight weigh neither for nor against the worker.
///
/// Draws one number from the gate's seeded source for each call that comes
/// while the probability is above 0. Constant memory, and constant time for
/// each call, averaged over the calls of a step of the window.
class throttle final
  : public policy_base<throttle, throttle_config, throttle_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "throttle";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit throttle(throttle_config c);

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;

  /// The probability with which the next call is rejected, unless `min_rate`
  /// or `pass_after` lets it pass; as of the last call.
  [[nodiscard]] double rejection() const noexcept;

  // -- time -------------------------------------------------------------------

  [[nodiscard]] time_point wakeup() const override { return check_at_; }
  void wake(env& e) override;

  /// Whether no call that was not accepted, or rejected here, is in the window
  /// at `now`.
  [[nodiscard]] bool is_idle(time_point now) const noexcept;

  // -- operation --------------------------------------------------------------

  /// `throttling` from a rejection until none has followed for a step of the
  /// window, otherwise `passing`.
  [[nodiscard]] std::string_view state() const override;

protected:
  // The counts stay, as far as the new window reaches back.

  void prepare(throttle_config& next, env& e) override;
  void adapt(env& e) override;
  void list_gauges(std::vector<metric>& out) const override;

  /// Clears the window.
  void forget(env& e) override;

private:
  static constexpr std::size_t steps = 24;

  // What an outcome says about the worker.
  enum class sign : std::uint8_t { accepted, not_accepted, none };

  decision let_pass(counter why, env& e);
  decision reject_call(const call_info& call, env& e);
  [[nodiscard]] sign judge(const outcome& o, env& e) const;
  void credit(const outcome& o, env& e);
  void move_to(bool throttling, std::string_view why, env& e);
  [[nodiscard]] std::int64_t accepts() const noexcept;

  // Calls that have ended; those that were not accepted are its failures.
  time_window window_;
  // What `min_rate` still lets through; not used while the probability is 0.
  gcra floor_;
  time_point last_pass_ = time_point::min();
  time_point last_rejection_ = time_point::min();
  time_point last_failure_ = time_point::min();
  bool throttling_ = false;
  // When to look whether calls are still rejected.
  time_point check_at_ = never;
};

} // namespace caisson
