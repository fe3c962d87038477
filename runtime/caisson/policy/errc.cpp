#include <caisson/policy/errc.hpp>

#include <array>

namespace caisson {

namespace {

constexpr std::array<std::string_view, last_errc> names{
  "breaker_open", "queue_full",        "wait_timeout",
  "rate_limited", "deadline_exceeded", "cancelled",
  "worker_down",  "budget_exhausted",  "shed",
  "batch_failed", "no_such_permit",    "invalid_config",
  "draining",     "callback_failed",   "call_loop",
  "injected",     "feature_off",       "internal_error",
  "throttled",
};

} // namespace

std::string_view name_of(errc code) noexcept {
  auto n = static_cast<std::size_t>(code);
  return n >= 1 && n <= names.size() ? names[n - 1] : "unknown";
}

std::optional<errc> errc_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return static_cast<errc>(i + 1);
  return std::nullopt;
}

bool is_rejection(errc code) noexcept {
  switch (code) {
    case errc::breaker_open:
    case errc::queue_full:
    case errc::wait_timeout:
    case errc::rate_limited:
    case errc::shed:
    case errc::draining:
    case errc::invalid_config:
    case errc::no_such_permit:
    case errc::call_loop:
    case errc::feature_off:
    case errc::throttled:
      return true;
    case errc::deadline_exceeded:
    case errc::cancelled:
    case errc::worker_down:
    case errc::internal_error:
    case errc::budget_exhausted:
    case errc::batch_failed:
    case errc::callback_failed:
    case errc::injected:
      // May happen with the work done or half done.
      return false;
  }
  return false;
}

std::string to_string(errc code) {
  return std::string{name_of(code)};
}

} // namespace caisson
