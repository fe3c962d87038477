// Ids of traces and spans, as files write them.
#pragma once

#include <simulator/import/span.hpp>

#include <optional>
#include <string_view>

namespace caisson::sim {

/// Reads hexadecimal digits, of which leading zeros may be missing, or base64
/// of 8 or 16 bytes; any other text stands for itself. Nothing for an empty
/// text and for zero, which mean that there is none.
[[nodiscard]] std::optional<trace_number> id_in(std::string_view text);

/// The same for a span, as 64 bits; 0 if there is none.
[[nodiscard]] std::uint64_t span_id_in(std::string_view text);

} // namespace caisson::sim
