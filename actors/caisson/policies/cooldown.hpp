// Cool-down: rejects calls for as long as the worker has asked callers to stay
// away.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/settings/settings.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- configuration ------------------------------------------------------------

/// The settings of a cool-down.
struct cooldown_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};

  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// How long one answer can keep calls away: 1ms to 24h, default 1min. A
  /// longer `retry_after` is capped at this.
  duration max_time = std::chrono::minutes(1);

  /// How long an answer keeps calls away with which the worker refuses a call
  /// (the class `shed`; its own `rate_limited`, `queue_full` or `shed`) without
  /// a time: 0 to `max_time`, at most 24h, default 0: not at all.
  duration default_time = duration::zero();
};

/// Lists the fields of `c`.
void describe(field_visitor& v, cooldown_config& c);

/// Checks that `default_time` is at most `max_time`.
void check(const cooldown_config& c, const setting_path& path, problems& out);

// -- counters -----------------------------------------------------------------

/// What a cool-down counts; docs/cooldown.md says what each means.
enum class cooldown_counter : std::uint8_t {
  passed,
  rejected,
  started,
  extended,
  abandoned,
  count_
};

template <>
struct enum_names<cooldown_counter> {
  static constexpr std::string_view value[] = {
    "passed", "rejected", "started", "extended", "abandoned",
  };
};

// -- policy -------------------------------------------------------------------

/// Rejects calls with `rate_limited`, from an answer of the worker that says
/// when to come back until that time is over. The `retry_after` of the
/// rejections is what is left of it. Calls in flight go on; if their answers
/// name other times, the latest end applies. A success does not end it earlier.
///
/// Constant memory, and constant time for each call.
class cooldown final
  : public policy_base<cooldown, cooldown_config, cooldown_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "cooldown";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit cooldown(cooldown_config c);

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;

  // -- time -------------------------------------------------------------------

  /// When calls pass again; `never` while they pass.
  [[nodiscard]] time_point wakeup() const override {
    return cooling_ ? until_ : never;
  }
  void wake(env& e) override;

  /// Whether calls that come at `now` pass.
  [[nodiscard]] bool is_idle(time_point now) const noexcept;

  // -- operation --------------------------------------------------------------

  /// `cooling` while calls are rejected, otherwise `passing`.
  [[nodiscard]] std::string_view state() const override;

protected:
  /// A shorter `max_time` applies to a cool-down in progress, too, counted from
  /// the answer to which it is due.
  void adapt(env& e) override;

  /// Lets calls pass again.
  void forget(env& e) override;

private:
  [[nodiscard]] duration time_asked_by(const outcome& o) const noexcept;
  void stay_away_for(duration d, env& e);
  void catch_up(env& e);
  void move_to(bool cooling, std::string_view why, env& e);

  bool cooling_ = false;
  // The answer to which the end is due, and that end.
  time_point asked_at_ = time_point::min();
  time_point until_ = time_point::min();
};

} // namespace caisson
