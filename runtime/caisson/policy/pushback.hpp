// Reads from an answer when a server allows a retry.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/answer_class.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

namespace caisson {

/// An instant of the calendar, as in HTTP dates.
using wall_time = std::chrono::sys_seconds;

/// Returns the time of day. `wall_now` is the machine's clock; tests pass their
/// own.
using wall_clock = std::function<wall_time()>;

/// The machine's time of day, in whole seconds, rounded down. Not virtual.
[[nodiscard]] wall_time wall_now();

/// Longer waits count as `do_not_retry`: no call lasts that long, and a mistake
/// of a server must not keep a limiter closed for years.
inline constexpr duration longest_pushback = std::chrono::hours(24);

/// Reads the three forms of RFC 9110 section 5.6.7: `Sun, 06 Nov 1994 08:49:37
/// GMT`, the old `Sunday, 06-Nov-94 08:49:37 GMT`, and asctime's `Sun Nov  6
/// 08:49:37 1994`. A year of two digits is the one that lies at most 50 years
/// after `now`. Nothing for any other text, and for dates that do not exist; a
/// wrong day of the week is ignored.
[[nodiscard]] std::optional<wall_time> parse_http_date(std::string_view text,
                                                       wall_time now);

/// How long to wait according to the header `Retry-After` (RFC 9110 section
/// 10.2.3): a number of seconds, or a date, which is compared with `now`; zero
/// if that is in the past. `do_not_retry` for any other text, including a
/// negative number, and for waits above `longest_pushback`.
[[nodiscard]] duration parse_retry_after(std::string_view text, wall_time now);

/// How long to wait according to gRPC's `grpc-retry-pushback-ms` (proposal A6):
/// a number of milliseconds. `do_not_retry` as above.
[[nodiscard]] duration parse_grpc_pushback(std::string_view text);

} // namespace caisson
