#include <caisson/policy/policy.hpp>

#include <array>

namespace caisson {

std::string_view name_of(event_kind kind) noexcept {
  static constexpr std::array<std::string_view, last_event_kind + 1> names{
    "state_changed",  "rejected",     "retried",         "late_result",
    "worker_changed", "flushed",      "fell_back",       "expired",
    "lease_ended",    "reconfigured", "callback_failed", "injected",
    "differed",       "write_lost",   "granted",         "attempt_ended",
    "call_ended",     "waiting",      "limit_changed",   "gate_failed",
  };
  auto n = static_cast<std::size_t>(kind);
  return n < names.size() ? names[n] : "unknown";
}

std::string_view name_of(operator_command c) noexcept {
  static constexpr std::array<std::string_view, last_operator_command + 1>
    names{
      "force_open", "force_closed", "off", "enable", "observe", "reset",
    };
  auto n = static_cast<std::size_t>(c);
  return n < names.size() ? names[n] : "unknown";
}

std::optional<operator_command>
operator_command_named(std::string_view name) noexcept {
  for (std::uint8_t i = 0; i <= last_operator_command; ++i)
    if (auto c = static_cast<operator_command>(i); name_of(c) == name)
      return c;
  return std::nullopt;
}

std::string_view name_of(mode m) noexcept {
  switch (m) {
    case mode::enforce:
      return "enforce";
    case mode::observe:
      return "observe";
    case mode::off:
      return "off";
  }
  return "unknown";
}

} // namespace caisson
