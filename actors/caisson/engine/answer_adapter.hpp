// The type of functions that say what a worker's answers mean.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/policy/answer_class.hpp>

#include <functional>
#include <optional>

namespace caisson {

/// Says what an answer means: the content is a value, or a single `caf::error`
/// that is not Caisson's. Returns nothing if it has no opinion. Called once per
/// answer, by the gate's actor. If it throws, the gate counts that and sends an
/// event, and the rules for values and errors apply. Pass it to
/// `worker::classified_by`.
using answer_adapter = std::function<std::optional<answer_info>(
  const caf::message&)>;

/// Asks `second` if `first` has no opinion. Either may be empty.
[[nodiscard]] answer_adapter first_adapter_of(answer_adapter first,
                                              answer_adapter second);

} // namespace caisson
