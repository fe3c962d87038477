#include <caisson/policy.hpp>

#include <array>

namespace caisson {

std::string_view name_of(event_kind kind) noexcept {
  static constexpr std::array<std::string_view, last_event_kind + 1> names{
    "state_changed",  "rejected",     "retried",         "late_result",
    "worker_changed", "flushed",      "fell_back",       "expired",
    "lease_ended",    "reconfigured", "callback_failed",
  };
  auto n = static_cast<std::size_t>(kind);
  return n < names.size() ? names[n] : "unknown";
}

std::string_view name_of(operator_command c) noexcept {
  static constexpr std::array<std::string_view, last_operator_command + 1>
    names{
      "force_open", "force_closed", "disable",
      "enable",     "metrics_only", "reset",
    };
  auto n = static_cast<std::size_t>(c);
  return n < names.size() ? names[n] : "unknown";
}

} // namespace caisson
