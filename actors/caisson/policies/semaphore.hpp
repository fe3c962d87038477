// Bulkhead: limits how many calls are below it at the same time.
#pragma once

#include <caisson/policies/semaphore_config.hpp>
#include <caisson/policy/lending_base.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- counters -----------------------------------------------------------------

/// What a semaphore counts; docs/semaphore.md says what each means.
enum class semaphore_counter : std::uint8_t {
  passed,
  queued,
  granted,
  queue_full,
  delayed,
  too_heavy,
  evicted,
  outgrown,
  timed_out,
  gave_up,
  shed,
  hopeless,
  out_of_time,
  finished,
  abandoned,
  count_
};

template <>
struct enum_names<semaphore_counter> {
  static constexpr std::string_view value[] = {
    "passed",    "queued",   "granted",     "queue_full", "delayed",
    "too_heavy", "evicted",  "outgrown",    "timed_out",  "gave_up",
    "shed",      "hopeless", "out_of_time", "finished",   "abandoned",
  };
};

// -- policy -------------------------------------------------------------------

/// Lends permits to calls. A call takes `call_info::permits` of them on its way
/// down and releases them when it comes back or is abandoned. A call that finds
/// too few waits or is refused. No call overtakes the one whose turn it is: in
/// the order `fifo`, light calls cannot starve a heavy one.
class semaphore final : public detail::lending_base<semaphore, semaphore_config,
                                                    semaphore_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "semaphore";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit semaphore(semaphore_config c);

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;

  // -- operation --------------------------------------------------------------

  /// Waiting calls stay and keep their limit, except those heavier than the new
  /// `permits`, or than what their partition may have: they could never run and
  /// are rejected.
  void adapt(env& e) override;
  void list_gauges(std::vector<metric>& out) const override;
  void forget(env& e) override;

private:
  friend lending_base;

  // What the slot of a call has.
  using call_state = stay;

  static stay& stay_of(slot& notes) { return notes.as<call_state>(); }
  [[nodiscard]] std::int64_t limit() const noexcept { return config_.permits; }
  [[nodiscard]] std::uint32_t most() const noexcept { return config_.permits; }
  [[nodiscard]] std::int64_t free() const noexcept {
    return limit() - in_use();
  }
  decision pass_down(slot& notes, env& e);
  static void must_wait() noexcept {}
  static std::uint32_t begin_wait(slot&) noexcept { return 0; }
  void lent_to(const waiter& w, env& e);
  static void end_wait(const waiter&) noexcept {}
  static void all_served() noexcept {}
};

} // namespace caisson
