// Rejects calls, the least important first, while the program or the machine is
// overloaded.
#pragma once

#include <caisson/base/gcra.hpp>
#include <caisson/base/sip_hash.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policies/shedder/call_meter.hpp>
#include <caisson/policies/shedder/callee_threshold.hpp>
#include <caisson/policies/shedder/shed_levels.hpp>
#include <caisson/policies/shedder/shedder_config.hpp>
#include <caisson/policy/load_source.hpp>
#include <caisson/policy/policy_base.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace caisson {

// -- counters -----------------------------------------------------------------

/// What a shedder counts; docs/shedder.md says what each means.
enum class shedder_counter : std::uint8_t {
  passed,
  passed_by_minimum,
  shed_cpu,
  shed_memory,
  shed_mailbox,
  shed_delay,
  shed_in_flight,
  finished,
  abandoned,
  tightened,
  relaxed,
  unread,
  shed_early,
  asked,
  thresholds_received,
  count_
};

template <>
struct enum_names<shedder_counter> {
  static constexpr std::string_view value[] = {
    "passed",
    "passed_by_minimum",
    "shed_cpu",
    "shed_memory",
    "shed_mailbox",
    "shed_delay",
    "shed_in_flight",
    "finished",
    "abandoned",
    "tightened",
    "relaxed",
    "unread",
    "shed_early",
    "asked",
    "thresholds_received",
  };
};

// -- policy -------------------------------------------------------------------

/// Lets the calls from a threshold on pass, in the order of their priorities
/// and, among equal ones, of groups of users, and rejects the others with
/// `shed`. The threshold moves after each window: up in an overload, so that a
/// share fewer calls pass, otherwise down. `minimum` calls per second pass in
/// any case.
///
/// With its rejections it reports its threshold to the gates that call it. With
/// `follow_for` it rejects the calls that the shedder of its own callee would.
///
/// Draws from the gate's seeded source while calls are shed, one number for
/// most calls without a key. About 18 KiB, and constant time for each call, as
/// the end of a window is O(levels).
class shedder final
  : public policy_base<shedder, shedder_config, shedder_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "shedder";

  // -- construction -----------------------------------------------------------

  /// Without a source, CPU time and memory are unknown. Throws `config_error`
  /// if `c` is not valid.
  explicit shedder(shedder_config c, std::shared_ptr<load_source> load = {});

  /// Reads `load` from now on; null: none.
  void read_from(std::shared_ptr<load_source> load) noexcept {
    source_ = std::move(load);
  }

  /// Whether there is a source.
  [[nodiscard]] bool has_source() const noexcept { return source_ != nullptr; }

  /// Whether what it decides is carried out; by default whether the configured
  /// mode says so. If not, no call stays away from the callee, and none stands
  /// for others.
  void set_acting(bool x) noexcept;

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

  /// `shedding` while there are calls that do not pass, otherwise `passing`.
  [[nodiscard]] std::string_view state() const override;

protected:
  // The threshold stays. What was measured of calls stays unless `history` or
  // `baseline` changes.

  void prepare(shedder_config& next, env& e) override;
  void adapt(env& e) override;
  void list_gauges(std::vector<metric>& out) const override;

  /// Lets all calls pass, and forgets what was measured.
  void forget(env& e) override;

private:
  // What says that there is an overload, in the order of importance.
  enum class signal : std::uint8_t {
    none,
    memory,
    mailbox,
    delay,
    in_flight,
    cpu,
  };

  // What the slot of a call has.
  struct call_state {
    time_point begun;
  };

  decision let_in(slot& notes, counter how, env& e);
  decision admit_slow_path(call_info& call, slot& notes, env& e);
  void start(env& e);
  void follow(env& e, bool called);
  void plan_check(time_point now);
  [[nodiscard]] bool reads() const noexcept;
  [[nodiscard]] bool looks() const noexcept;
  [[nodiscard]] duration window_length() const noexcept;
  void look(bool has_calls, env& e);
  bool read_load(env& e);
  bool read_mailbox(env& e);
  void forget_mailbox() noexcept;
  void end_window(env& e);
  void measure(time_point now);
  [[nodiscard]] signal overload(time_point now);
  [[nodiscard]] std::string reason() const;
  void find_group(call_info& call, env& e);
  bool passes(call_info& call, env& e);
  [[nodiscard]] std::uint8_t user_priority(std::string_view key, env& e);
  decision shed(const call_info& call, env& e);
  detail::callee_threshold::verdict judge_for_callee(call_info& call, env& e);
  void send_sample(call_info& call, std::uint16_t stands_for, env& e);
  void on_threshold(const outcome& result, env& e);

  std::shared_ptr<load_source> source_;
  detail::shed_levels levels_;
  detail::call_meter meter_;
  gcra floor_;
  // Mixes the keys of users, together with the hour.
  std::optional<std::uint64_t> secret_;

  load_reading load_;
  // Until when the CPU time counts as too much.
  time_point hot_until_ = time_point::min();
  double mean_in_flight_ = 0;
  std::optional<double> capacity_;
  std::optional<duration> delay_;
  // What was read of the mailbox in this window, and the mean in the last one.
  duration mailbox_sum_ = duration::zero();
  std::int64_t mailbox_reads_ = 0;
  std::optional<duration> mailbox_delay_;
  // Since when it is read with each sample; `never`: it is not.
  time_point reads_mailbox_since_ = never;
  // What shed last.
  signal cause_ = signal::none;

  detail::callee_threshold callee_;
  duration callee_retry_after_ = duration::zero();
  // For the gauge.
  time_point shown_at_;
  bool acts_;

  // `never`: no call has come for a window, and none is shed.
  time_point check_at_ = never;
  time_point sample_at_ = never;
  time_point window_begin_;
  time_point window_end_ = never;
  // The calls of the window.
  std::uint64_t calls_ = 0;
};

} // namespace caisson
