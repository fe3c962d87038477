// Kinds of verdicts on a run.
#pragma once

#include <array>
#include <string_view>

namespace caisson::sim {

/// What became of an arm after its last fault.
enum class verdict_kind {
  recovered,
  degraded,
  stuck,
  /// The run was healthy from the start, and there was nothing to recover from.
  no_fault,
};

inline constexpr std::array all_verdicts{
  verdict_kind::recovered,
  verdict_kind::degraded,
  verdict_kind::stuck,
  verdict_kind::no_fault,
};

/// As in a scenario file: `recovered`, `degraded`, `stuck` or `no fault`.
[[nodiscard]] constexpr std::string_view verdict_name(verdict_kind v) noexcept {
  switch (v) {
    case verdict_kind::recovered:
      return "recovered";
    case verdict_kind::degraded:
      return "degraded";
    case verdict_kind::stuck:
      return "stuck";
    case verdict_kind::no_fault:
      return "no fault";
  }
  return "unknown";
}

} // namespace caisson::sim
