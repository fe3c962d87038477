// Ready stacks for common cases.
#pragma once

#include <caisson/stack/stack.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::presets {

// docs/presets.md gives the reason for each number. All layers have names, so
// that their settings can be changed while the gate runs.

/// For calls that you know little about. No call that may have been executed is
/// repeated, unless the caller marks the call as idempotent.
[[nodiscard]] stack standard(std::string name = "gate");

/// For reads: short, cheap and idempotent.
[[nodiscard]] stack reads(std::string name = "gate");

/// For writes: slower, not idempotent, and not cut off once they are sent.
[[nodiscard]] stack writes(std::string name = "gate");

/// For work in the background: idempotent, patient, and modest.
[[nodiscard]] stack background(std::string name = "gate");

/// For the callee's side: in front of a worker that many callers share. Sheds
/// calls, the least important first, rather than answering all too late.
[[nodiscard]] stack server(std::string name = "gate");

/// The preset called `preset` (`standard`, `reads`, ...), if there is one.
[[nodiscard]] std::optional<stack> named(std::string_view preset,
                                         std::string name = "gate");

/// The names of the presets.
[[nodiscard]] const std::vector<std::string_view>& names();

} // namespace caisson::presets
