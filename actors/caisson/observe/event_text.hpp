// Events as text.
#pragma once

#include <caisson/caf/messages.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

/// An instant of the calendar, in UTC.
using utc_time = std::chrono::sys_time<std::chrono::nanoseconds>;

/// A line of `to_json` has at most so many bytes.
inline constexpr std::size_t max_json_line = 8192;

/// The event as one JSON object on one line, without a line break at its end;
/// docs/logs.md lists its fields. `at` is when it happened. Valid JSON in UTF-8
/// whatever the texts contain: bytes that are not UTF-8 become U+FFFD, and a
/// text of more than 1024 bytes is cut and ends with `…`.
[[nodiscard]] std::string to_json(const event& x, utc_time at);

/// A text as JSON writes it, with its quotes; made valid and cut as above.
[[nodiscard]] std::string json_string(std::string_view text);

/// A line that says that `count` events are missing.
[[nodiscard]] std::string dropped_to_json(std::uint64_t count, utc_time at);

/// The event as one line for people: `payments/breaker: state_changed closed ->
/// open`. Control characters are escaped and long texts cut.
[[nodiscard]] std::string to_text(const event& x);

/// `2026-03-01T12:00:00.000000001Z`, as in RFC 3339; years 0 to 9999.
[[nodiscard]] std::string to_text(utc_time at);

} // namespace caisson
