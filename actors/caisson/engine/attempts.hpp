// Attempts of calls: what is sent, and what comes back.
#pragma once

#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/target_table.hpp>

#include <cstdint>

namespace caisson::detail {

/// Sends calls to targets, knows their attempts by keys, and says what their
/// answers mean.
class attempts {
public:
  attempts(engine_core& core, target_table& targets);

  attempts(const attempts&) = delete;
  attempts& operator=(const attempts&) = delete;

  // -- the way out ------------------------------------------------------------

  /// To a target, as an attempt of its own.
  void send(call_record& r, target_id to);

  /// An attempt begins, or the use of a permit.
  void note_sent(call_record& r);

  /// What is known of the call of that attempt, which is in flight.
  [[nodiscard]] call_options options_of(std::uint64_t key) const;

  // -- the way back -----------------------------------------------------------

  /// The call whose attempt in flight has this key; null, and counted, if the
  /// answer comes too late.
  [[nodiscard]] call_record* answered(std::uint64_t key);

  /// What `content` means, which target `from` has answered. The attempt is
  /// over already.
  [[nodiscard]] outcome take_answer(call_record& r, target_id from,
                                    caf::message&& content);

  /// Asks the user's adapter about an answer, to which `o.reply` points, and
  /// notes in `o` what it says.
  void classify(outcome& o);

  /// The attempt is over; the call is not with a target any more.
  void end(call_record& r) {
    core_.calls.move_to(r, phase::moving);
    r.link<by_target>::unlink();
    r.attempt_key = 0;
    r.target = worker_target;
  }

  /// Notes how the attempt in flight, which ends now, went and how long it has
  /// taken.
  void measure(const call_record& r, const outcome& o);

private:
  [[nodiscard]] call_options options_of(const call_record& r,
                                        const target_info& to) const;

  engine_core& core_;
  target_table& targets_;
  std::uint64_t count_ = 0;
  /// Attempts are numbered in an unguessable order.
  std::uint64_t factor_;
  std::uint64_t mask_;
};

} // namespace caisson::detail
