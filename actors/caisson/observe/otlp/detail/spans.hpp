// Events of gates as spans of OpenTelemetry.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/observe/event_text.hpp>

#include <optional>
#include <string>

namespace caisson::detail {

/// The span of a call or an attempt that has ended at `at`, as OTLP writes it
/// in JSON; nothing for other events, or without valid ids.
[[nodiscard]] std::optional<std::string> otlp_span(const event& x, utc_time at);

} // namespace caisson::detail
