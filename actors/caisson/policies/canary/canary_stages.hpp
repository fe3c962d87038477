// The stage that a canary is in, and what counts in it.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policies/canary/canary_comparison.hpp>
#include <caisson/policies/canary/canary_config.hpp>
#include <caisson/policies/canary/canary_stage.hpp>
#include <caisson/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace caisson::detail {

/// Knows the share and the rules in force, counts answers, and says what
/// follows from them: that the next stage may begin, or why the canary is to be
/// rolled back. Does neither by itself.
class canary_stages {
public:
  enum class phase : std::uint8_t { waiting, stage, promoted, rolled_back };

  explicit canary_stages(canary_config config)
    : config_(std::move(config)), rules_(rules_of(config_, ruling_stage())) {}

  // -- what is in force -------------------------------------------------------

  [[nodiscard]] phase where() const noexcept { return phase_; }

  /// The number of the present stage, from 0 on.
  [[nodiscard]] std::size_t number() const noexcept { return stage_; }

  /// `waiting`, `stage_1` and so on, `promoted` or `rolled_back`.
  [[nodiscard]] std::string_view state() const;

  /// The share of the calls that the canary gets.
  [[nodiscard]] double share() const noexcept;

  /// The limits of the present stage, or of the next one to begin.
  [[nodiscard]] const canary_rules& rules() const noexcept { return rules_; }

  /// Whether answers are judged.
  [[nodiscard]] bool judged() const noexcept {
    return phase_ == phase::stage || phase_ == phase::promoted;
  }

  /// Changes with each start, rollback and wait.
  [[nodiscard]] std::uint64_t run() const noexcept { return run_; }

  /// Whether an answer counts that was asked for in this run.
  [[nodiscard]] bool counts(std::uint64_t run) const noexcept {
    return run == run_ && judged();
  }

  // -- changes ----------------------------------------------------------------

  void begin_run() noexcept { ++run_; }

  /// Forgets all answers, also those of the baseline.
  void clear() { comparison_.clear(); }

  /// Goes to that phase and stage, sends an event if the state is another one
  /// now, and forgets the answers of the stage. Returns whether `max_p99` is
  /// another one now.
  bool enter(phase next, std::size_t stage, std::string_view why, env& e);

  /// Uses the rules of the settings. Returns whether `max_p99` is another one
  /// now.
  bool use_rules();

  /// Takes new settings, whose rules `use_rules` uses. Returns the stage to
  /// begin because of them: the last whose share is not larger than the one
  /// before, or the first. Nothing if the shares are the same, or not in force.
  [[nodiscard]] std::optional<std::size_t> set_config(canary_config config);

  // -- time -------------------------------------------------------------------

  /// When the stage has lasted for `dwell`, or the first one begins again.
  [[nodiscard]] time_point next() const;

  /// The stage has lasted for `dwell`.
  void end_dwell() noexcept { dwelt_ = true; }

  /// Looks anew whether it has.
  void update_dwell(time_point now) {
    dwelt_ = phase_ == phase::stage && now >= time_after(since_, rules_.dwell);
  }

  // -- answers ----------------------------------------------------------------

  /// `took`: how long an answer took, if that says how fast its sender is.
  void add_canary(bool failed, std::optional<duration> took, time_point now) {
    comparison_.add_canary(failed, took, rules_, now);
  }
  void add_baseline(bool failed, std::optional<duration> took, time_point now) {
    comparison_.add_baseline(failed, took, rules_, now);
  }

  /// A call to the canary that took longer than `max_p99` (`slow`), or did not.
  void add_timed(bool slow) { comparison_.add_timed(slow); }

  /// Counts an answer of the canary; `failed`: which is the canary's fault.
  void add_answer(bool failed) {
    ++answers_;
    failures_in_a_row_ = failed ? failures_in_a_row_ + 1 : 0;
  }

  /// A mirrored call was compared. Returns why the canary is to be rolled back;
  /// empty if it is not.
  [[nodiscard]] std::string add_mirrored(bool differs);

  // -- what follows -----------------------------------------------------------

  /// Why the canary is to be rolled back; empty if it is not.
  [[nodiscard]] std::string worse(time_point now);

  /// Whether the stage has had enough time and answers, and the canary has not
  /// looked worse by chance in the last `window`.
  [[nodiscard]] bool is_over(time_point now) const {
    return phase_ == phase::stage && dwelt_ && answers_ >= rules_.min_calls
           && !undecided(now);
  }

  /// The same as `worse` of a stage that is over.
  [[nodiscard]] std::string worse_at_end(time_point now) {
    return comparison_.worse_in(rules_, old_latency(), true, now);
  }

  /// Whether the canary has looked worse in the last `window`, but no more so
  /// than may be chance.
  [[nodiscard]] bool undecided(time_point now) const {
    return comparison_.undecided(rules_, now);
  }

  /// Whether there is another stage.
  [[nodiscard]] bool has_more() const noexcept {
    return stage_ + 1 < config_.stages.size();
  }

  // -- gauges -----------------------------------------------------------------

  void list_position(std::vector<metric>& out) const;
  void list_answers(std::vector<metric>& out) const;

private:
  [[nodiscard]] canary_comparison::old_latency old_latency() const noexcept;
  [[nodiscard]] const canary_stage& ruling_stage() const;

  canary_config config_;
  phase phase_ = phase::waiting;
  std::size_t stage_ = 0;
  time_point since_;
  // Whether the stage has lasted for `dwell`.
  bool dwelt_ = false;
  std::uint64_t run_ = 0;

  // The rules in force, and what they compare.
  canary_rules rules_;
  canary_comparison comparison_;
  // Answers and failures of the canary, in this stage.
  std::int64_t answers_ = 0;
  std::int64_t failures_in_a_row_ = 0;
  // Mirrored answers, in this stage.
  std::int64_t compared_ = 0;
  std::int64_t differing_ = 0;
};

} // namespace caisson::detail
