// Routes calls down through the layers and outcomes up.
#pragma once

#include <caisson/engine/engine_core.hpp>

namespace caisson::detail {

/// What a policy may change of a call as it admits it.
struct admission_before {
  time_point deadline;
  bool by_default;
};

/// Moves calls between layers. `descend` takes one down until a layer rejects
/// or holds it or it is sent, `ascend` takes an outcome up until a layer holds
/// the call or it is answered by `finish`.
class router {
public:
  explicit router(engine_core& core);

  // -- down -------------------------------------------------------------------

  /// Goes on at layer `first`.
  void descend(call_record& r, std::size_t first);

  /// Past all layers: to the worker, or to the holder of a permit.
  void dispatch(call_record& r);

  /// To a target, as an attempt of its own.
  void send_to(call_record& r, target_id to);

  /// Layer k keeps the call until `until`.
  void hold(call_record& r, std::size_t k, time_point until);

  // -- up ---------------------------------------------------------------------

  /// The attempt under this key has its answer.
  void on_answer(std::uint64_t key, caf::message&& content);

  /// What is known of the call of that attempt.
  [[nodiscard]] call_options options_of(std::uint64_t key) const;

  /// Asks the user's adapter about an answer, to which `o.reply` points, and
  /// notes in `o` what it says.
  void classify(outcome& o);

  /// The attempt is over; the call is not with a target any more.
  void end_attempt(call_record& r);

  /// An attempt begins.
  void note_sent(call_record& r);

  /// Notes how the attempt in flight, which ends now, went and how long it has
  /// taken.
  void measure_attempt(const call_record& r, const outcome& o);

  /// Goes up from layer `last` on.
  void ascend(call_record& r, int last, outcome o);

  /// The call has its outcome, which its caller or its parents get.
  void finish(call_record& r, const outcome& o);

  void answer(call_record& r, caf::message&& content);

  // -- one layer's view of a call ---------------------------------------------

  void abandon(call_record& r, std::size_t k, const outcome& why,
               bool in_flight);

  /// The call is not with layer k any more, nor under its deadline.
  void leave(call_record& r, std::size_t k);

private:
  void let_go(call_record& r, std::size_t k);
  bool prefiltered(call_record& r, std::size_t k);
  bool admit(call_record& r, std::size_t k, layer_entry& x, mode act);
  template <class F>
  bool admit_by(call_record& r, std::size_t k, layer_entry& x, mode act, F f);
  decision admit_content(call_record& r, std::size_t k, policy& p, env& e);
  bool admit_lease(call_record& r, std::size_t k, layer_entry& x, mode act);
  bool admitted(call_record& r, std::size_t k, mode act, const decision& d,
                const admission_before& before);
  [[nodiscard]] bool limits_whole_call(const call_record& r,
                                       std::size_t k) const;
  void tally(const call_record& r, bool ok);
  [[nodiscard]] call_options options_of(const call_record& r,
                                        const target_info& to) const;
  decision complete(call_record& r, std::size_t k, layer_entry& x, outcome& o);
  bool completed(call_record& r, std::size_t k, const decision& d, outcome& o);
  void lose_attempt(call_record& r, target_id from);

  engine_core& core_;
  std::uint64_t attempts_ = 0;
  /// Attempts are numbered in an unguessable order.
  std::uint64_t attempt_factor_;
  std::uint64_t attempt_mask_;
};

} // namespace caisson::detail
