// Requests to a collector of OpenTelemetry, and their parts.
#pragma once

#include <caisson/adapters/http/messages.hpp>
#include <caisson/observe/otlp/config.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::detail {

/// The parts of `name=value`, without blanks around them; without a name
/// nothing.
[[nodiscard]] std::pair<std::string, std::string>
pair_of(std::string_view text);

/// `{"key":…,"value":{"stringValue":…}}`, as valid JSON whatever they contain.
[[nodiscard]] std::string otlp_attribute(std::string_view key,
                                         std::string_view value);

/// The program, as a Resource. Without a `service.instance.id` it gets a random
/// one.
[[nodiscard]] std::string otlp_resource(const otlp_config& c);

/// This library, as an InstrumentationScope.
[[nodiscard]] std::string otlp_scope();

/// A request that consists of `parts`, separated by commas, between `head` and
/// `tail`.
struct otlp_frame {
  /// The path on the collector.
  std::string target;
  http_headers headers;
  std::string head;
  std::string tail;

  [[nodiscard]] http_request
  around(const std::vector<std::string>& parts) const;
};

/// For spans, and for metrics.
[[nodiscard]] otlp_frame traces_frame(const otlp_config& c,
                                      const std::string& resource);
[[nodiscard]] otlp_frame metrics_frame(const otlp_config& c,
                                       const std::string& resource);

} // namespace caisson::detail
