// Outcomes of the calls that policies start.
#pragma once

#include <caisson/engine/attempts.hpp>
#include <caisson/engine/engine_core.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace caisson::detail {

/// A child that is over, while its parents get what came of it.
struct ended_child {
  std::unique_ptr<child_state> state;
  call_id id = 0;
  /// Refers to no answer.
  outcome result = {};
  bool has_reply = false;
  /// The answer, if it has one.
  caf::message whole = {};
  /// The layer whose error it ended with.
  std::int8_t rejected_by = -1;
  /// Whether it may have executed.
  bool executed = false;
  /// What the policy that started it has said.
  decision verdict = decision::hold();
  /// Which function of the user's threw, and what.
  std::optional<std::string> failure = {};
  /// A part of the answer for each parent, if there is one to split.
  std::optional<std::vector<caf::message>> parts = {};
};

/// Hands the outcome of a child to the policy that asked for it, and says what
/// goes up for each of the parents.
class child_results {
public:
  child_results(engine_core& core, attempts& attempts_part)
    : core_(core), attempts_(attempts_part) {}

  child_results(const child_results&) = delete;
  child_results& operator=(const child_results&) = delete;

  /// The child has its outcome. Its record is given back.
  [[nodiscard]] ended_child finish(call_record& child, const outcome& o);

  /// The i-th parent of the child, if that goes on now; null if it has left, or
  /// is to stay held.
  [[nodiscard]] call_record* released_parent(const ended_child& x,
                                             std::size_t i);

  /// What goes up for that parent, which has left its other children.
  [[nodiscard]] outcome outcome_for(ended_child& x, std::size_t i,
                                    call_record& parent);

  /// Nobody wants the outcome, and all layers below have lost the child. Its
  /// record is given back, and its parents stay held.
  void drop(call_record& child);

private:
  void judge(ended_child& x);
  void mark_parents(const ended_child& x);
  void detach(call_record& parent, call_id child);

  engine_core& core_;
  attempts& attempts_;
};

} // namespace caisson::detail
