// Switches features off, level by level, while a service is overloaded or
// failing.
#pragma once

#include <caisson/base/percentile_window.hpp>
#include <caisson/base/time.hpp>
#include <caisson/base/window.hpp>
#include <caisson/policies/degradation/degradation_config.hpp>
#include <caisson/policy/policy_base.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- counters -----------------------------------------------------------------

/// What a degradation layer counts; docs/degradation.md says what each means.
enum class degradation_counter : std::uint8_t {
  admitted,
  succeeded,
  failed,
  ignored,
  outdated,
  switched_off,
  switched_on,
  abandoned,
  count_
};

template <>
struct enum_names<degradation_counter> {
  static constexpr std::string_view value[] = {
    "admitted", "succeeded",    "failed",      "ignored",
    "outdated", "switched_off", "switched_on", "abandoned",
  };
};

// -- policy -------------------------------------------------------------------

/// Measures how many calls succeed and how long they take, and switches levels
/// of features off and on again. Lets every call pass.
///
/// The rules are checked every `check_every`. If that of a level is broken, the
/// level is switched off: one at a time, and the children before their parents.
/// The measurements then start anew, because the old ones say nothing about the
/// effect of the switch: only calls that arrive after it count, and the next
/// level is not switched off before `patience` is over.
///
/// When the numbers have been healthy for `recover_after`, a level is switched
/// on again: one at a time, the parents before their children. Too few calls to
/// judge also count as healthy, so that no level stays off because there is no
/// traffic. If a level must soon be switched off again, the next attempt waits
/// longer.
class degradation final
  : public policy_base<degradation, degradation_config, degradation_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "degradation";

  /// Is notified of each change of the levels.
  class listener {
  public:
    virtual ~listener() = default;
    /// A level was switched, or all may have been: by a command, a reset or new
    /// settings. Called by the policy, in the gate's actor.
    virtual void levels_changed() = 0;
  };

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit degradation(degradation_config c);

  /// Notifies `x`, which may be null, of changes from now on.
  void send_changes_to(listener* x) noexcept { listener_ = x; }

  // -- levels -----------------------------------------------------------------

  /// Whether the level number `i` is on: itself and all above it.
  [[nodiscard]] bool is_on(std::size_t i) const noexcept;

  /// The features that are off: names of levels among them, each once.
  [[nodiscard]] std::vector<std::string> features_off() const;

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;

  // -- time -------------------------------------------------------------------

  [[nodiscard]] time_point wakeup() const override { return check_at_; }
  void wake(env& e) override;

  // -- operation --------------------------------------------------------------

  /// `normal` if all levels are on, otherwise `degraded`.
  [[nodiscard]] std::string_view state() const override;

protected:
  // A level keeps its state if one of the same name was there before. The
  // measurements stay, unless the window changes.

  void adapt(env& e) override;
  void list_gauges(std::vector<metric>& out) const override;

  /// Switches all levels on that no operator holds off.
  void forget(env& e) override;

private:
  static constexpr std::size_t no_parent = static_cast<std::size_t>(-1);
  static constexpr std::size_t no_level = no_parent;
  static constexpr std::size_t steps = 12;

  // What an operator has decided.
  enum class operator_hold : std::uint8_t { none, on, off };

  struct level_state {
    // Whether the rule leaves it on.
    bool on = true;
    operator_hold held = operator_hold::none;
    std::size_t parent = no_parent;
    std::size_t depth = 0;
    // Its gauge: `level_` and its name.
    std::string gauge;
  };

  // The numbers of the window.
  struct figures {
    bool known = false;
    // Shares of the calls.
    double successes = 1;
    double failures = 0;
    duration latency = duration::zero();
  };

  void build_levels();
  void judge(const outcome& o, time_point begun, env& e);
  void start_checks(env& e);
  [[nodiscard]] figures measure(time_point now);
  [[nodiscard]] bool is_broken(const degradation_level& x,
                               const figures& f) const;
  [[nodiscard]] bool is_well(const degradation_level& x,
                             const figures& f) const;
  [[nodiscard]] std::size_t to_switch_off(const figures& f) const;
  [[nodiscard]] std::size_t to_switch_on() const;
  void switch_off(std::size_t i, const figures& f, env& e);
  void switch_on(std::size_t i, env& e);
  void flip(std::size_t i, bool on, std::string_view why, env& e);
  void forget_calls(time_point now);
  [[nodiscard]] bool any_off_by_rule() const noexcept;
  [[nodiscard]] duration wait() const noexcept;

  std::vector<level_state> levels_;
  listener* listener_ = nullptr;
  time_window results_;
  percentile_window latencies_;
  // Calls that began before this do not count.
  time_point counts_from_ = time_point::min();
  // When a level was switched off, if none has come back since.
  time_point switched_off_at_ = time_point::min();
  // Since when the numbers have been healthy.
  time_point well_since_ = time_point::min();
  // How often the time has doubled for which that must last before a level is
  // switched on.
  std::uint32_t doublings_ = 0;
  // When a level was switched on, if none has gone off since.
  time_point came_back_ = time_point::min();
  time_point check_at_ = never;
};

} // namespace caisson
