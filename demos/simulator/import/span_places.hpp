// Objects with a meaning in a JSON document of spans.
#pragma once

#include <simulator/import/span_reader.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace caisson::sim {

/// Objects that mean something. An item of a list is where the list is.
enum class json_place : std::uint8_t {
  elsewhere,
  /// A document, which can be a trace of Jaeger, too.
  root,
  // OTLP.
  resource_spans,
  resource,
  resource_attribute,
  resource_value,
  scope_spans,
  otlp_span,
  status,
  attribute,
  attribute_value,
  // Jaeger.
  jaeger_trace,
  jaeger_span,
  reference,
  tag,
  own_process,
  processes,
  process,
};

/// In lower case, without `_`: writers do not agree on these.
[[nodiscard]] std::string plain_key(std::string_view key);

/// What the value of a key is, if it is an object or a list. `key` is plain.
[[nodiscard]] json_place place_of(json_place in, std::string_view key,
                                  span_format format);

} // namespace caisson::sim
