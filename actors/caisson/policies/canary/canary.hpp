// Gives a share of the calls to a new version, in stages.
#pragma once

#include <caisson/policies/canary/canary_calls.hpp>
#include <caisson/policies/canary/canary_config.hpp>
#include <caisson/policies/canary/canary_mirrors.hpp>
#include <caisson/policies/canary/canary_stages.hpp>
#include <caisson/policy/policy_base.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- counters -----------------------------------------------------------------

/// What a canary counts; docs/canary.md says what each means.
enum class canary_counter : std::uint8_t {
  to_baseline,
  to_canary,
  observed,
  baseline_succeeded,
  baseline_failed,
  baseline_neutral,
  canary_succeeded,
  canary_failed,
  canary_neutral,
  given_to_baseline,
  handed_over,
  late_results,
  mirrored,
  mirrors_skipped,
  mirrors_equal,
  mirrors_differing,
  mirrors_unjudged,
  went_on,
  promotions,
  rollbacks,
  count_
};

template <>
struct enum_names<canary_counter> {
  static constexpr std::string_view value[] = {
    "to_baseline",        "to_canary",        "observed",
    "baseline_succeeded", "baseline_failed",  "baseline_neutral",
    "canary_succeeded",   "canary_failed",    "canary_neutral",
    "given_to_baseline",  "handed_over",      "late_results",
    "mirrored",           "mirrors_skipped",  "mirrors_equal",
    "mirrors_differing",  "mirrors_unjudged", "went_on",
    "promotions",         "rollbacks",
  };
};

// -- policy -------------------------------------------------------------------

/// Sends a share of the calls to the canary, each as a child call of one held
/// parent, and the others down to the baseline. Compares the results of the
/// two, and goes on to larger shares or rolls back.
///
/// Answers count in the stage in which they arrive; those to calls from before
/// the last start or rollback count in none.
class canary final : public policy_base<canary, canary_config, canary_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "canary";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit canary(canary_config c, canary_host host = {});

  // -- calls ------------------------------------------------------------------

  /// The content of the next call to be admitted, valid until then.
  void set_next(const void* content) noexcept { next_ = content; }

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;
  decision child_done(call_id child, outcome& result, env& e) override;
  [[nodiscard]] bool resends() const noexcept override { return true; }

  /// The content of a mirrored call that starts; null if nothing is kept of it.
  /// Moves it out.
  [[nodiscard]] canary_host::content take_content(call_id child) {
    return mirrors_.take_asked(child);
  }

  // -- time -------------------------------------------------------------------

  [[nodiscard]] time_point wakeup() const override;
  void wake(env& e) override;

  // -- operation --------------------------------------------------------------

  /// Cancels mirrored calls: no caller waits for them.
  void drain(env& e) override;

  /// `waiting`, `stage_1` and so on, `promoted` or `rolled_back`.
  [[nodiscard]] std::string_view state() const override {
    return stages_.state();
  }

  /// The share of the calls that the canary gets now.
  [[nodiscard]] double share() const noexcept { return stages_.share(); }

  /// `limits`: those in force, of the present stage or of the next one to
  /// begin. `difference_1` and so on: the last differences that were described,
  /// at most ten, since the first stage began.
  [[nodiscard]] std::map<std::string, std::string> notes() const;

  /// `enable` ends `rolled_back`; the first stage begins with the next call.
  bool command(policy_command c, env& e) override;

protected:
  void prepare(canary_config& next, env& e) override;

  /// With other shares, a stage begins anew: the last whose share is not larger
  /// than the current one, or the first. With other limits the stage goes on
  /// under these. Without `enabled` the canary waits. Calls in progress stay
  /// where they are, until they are handed over.
  void adapt(env& e) override;
  void list_gauges(std::vector<metric>& out) const override;

  /// The first stage begins with the next call.
  void forget(env& e) override;

private:
  using phase = detail::canary_stages::phase;

  enum class place : std::uint8_t {
    // With the baseline, for which it counts.
    baseline,
    canary,
    // With the baseline after the canary: less time is left, and the call may
    // be an unusual one.
    second,
  };

  // What the slot of a call has.
  struct call_state {
    time_point sent;
    std::uint64_t run = 0;
    place where = place::baseline;
    bool may_have_executed = false;
    bool mirrored = false;
    // While it is to be mirrored.
    canary_mirrors::handle kept = canary_mirrors::none;
    // While it is with the canary.
    detail::canary_calls::handle at = detail::canary_calls::none;
  };

  // -- choice -----------------------------------------------------------------

  [[nodiscard]] bool sends() const;
  [[nodiscard]] bool is_for_canary(const call_info& call, env& e) const;
  [[nodiscard]] bool is_mirrored(const call_info& call, env& e) const;

  // -- results ----------------------------------------------------------------

  // Takes the call from the canary. Returns whether it counted as too slow.
  bool take_from_canary(call_id id, call_state& saved);
  void send_to_baseline(call_id call, std::string_view why, env& e);
  bool time_call(const call_state& saved, const outcome& o, canary_verdict v,
                 env& e);
  void note_canary(const call_state& saved, const outcome& o, canary_verdict v,
                   bool was_overdue, env& e);
  void note_baseline(const call_state& saved, const outcome& o,
                     canary_verdict v, env& e);
  [[nodiscard]] bool may_repeat(const call_info& call, const call_state& saved,
                                env& e) const;

  // -- mirrors ----------------------------------------------------------------

  void start_mirror(const call_info& call, call_state& saved,
                    const outcome& answer, env& e);
  void note_mirror(const canary_mirrors::mirror& m, std::string_view difference,
                   const outcome& o, env& e);
  void emit_difference(const canary_mirrors::mirror& m,
                       std::string_view difference, const outcome& o, env& e);

  // -- stages -----------------------------------------------------------------

  [[nodiscard]] time_point next_overdue() const;
  [[nodiscard]] time_point next_hand_over() const;
  void catch_up(env& e);
  void note_overdue(env& e);
  void hand_over(env& e);
  void give_up(env& e);
  void use_rules();
  void begin(std::string_view why, env& e);
  void enter(phase next, std::size_t stage, std::string_view why, env& e);
  void weigh(env& e);
  void go_on_if_due(env& e);
  void roll_back(std::string_view why, env& e);

  canary_host host_;
  const void* next_ = nullptr;

  detail::canary_stages stages_{config_};
  std::int64_t with_canary_ = 0;
  detail::canary_calls calls_;
  canary_mirrors mirrors_;
  // How many differences of this stage were described, and the last of them.
  std::uint32_t described_ = 0;
  std::deque<std::string> differences_;
  bool draining_ = false;
};

} // namespace caisson
