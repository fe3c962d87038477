// Place of a call in a distributed trace: W3C Trace Context.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {

/// The ids that a `traceparent` consists of, as in W3C Trace Context
/// (https://www.w3.org/TR/trace-context/#traceparent-header).
struct trace_context {
  /// The upper 64 bits of the trace's id. Of all 128, at least one is set.
  std::uint64_t trace_high = 0;
  /// The lower 64 bits of the trace's id.
  std::uint64_t trace_low = 0;
  /// The span that the call belongs to; not 0.
  std::uint64_t span = 0;
  /// Whether the caller may have recorded the trace.
  bool sampled = false;

  /// Reads a `traceparent`. Nothing if it is not valid: if it does not consist
  /// of 55 characters with hexadecimal digits in lower case, if an id is zero,
  /// or if its version is ff. Of versions after 00 it reads the part that they
  /// have in common with 00, and of the flags only `sampled`, as the standard
  /// says. Takes constant time, however long the text is.
  [[nodiscard]] static std::optional<trace_context>
  parse(std::string_view traceparent) noexcept;

  /// As a `traceparent` of version 00.
  [[nodiscard]] std::string traceparent() const;

  /// The trace's id: 32 hexadecimal digits.
  [[nodiscard]] std::string trace_id() const;

  friend bool operator==(const trace_context&, const trace_context&) = default;
};

/// The id of a span as text: 16 hexadecimal digits.
[[nodiscard]] std::string span_text(std::uint64_t span);

} // namespace caisson
