// Reads spans from files in JSON.
#pragma once

#include <simulator/import/span.hpp>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string_view>

namespace caisson::sim {

enum class span_format {
  /// Whichever it turns out to be.
  any,
  /// OTLP's JSON form: one document, or one on each line.
  otlp,
  /// What Jaeger's page and API give out.
  jaeger,
};

/// How long the name of an operation may be; longer ones are cut.
inline constexpr std::size_t longest_span_name = 200;

/// Adds the spans of `in`, which has any number of JSON documents one after the
/// other. `each_block` is called now and then with the number of bytes read;
/// reading ends when it returns false, which this returns, too. Throws
/// `config_error` with `FILE:LINE:COLUMN: ...` if it is no JSON, and if it has
/// none of what the format begins with. Memory: that of the spans.
bool read_spans(std::istream& in, std::string_view file, span_format format,
                span_set& into,
                const std::function<bool(std::uint64_t)>& each_block = {});

} // namespace caisson::sim
