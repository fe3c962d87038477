// Meaning of the answers of a collector of OpenTelemetry.
#pragma once

#include <caisson/adapters/http/messages.hpp>
#include <caisson/engine/answers.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// What a response with `partialSuccess` says.
struct partial_success {
  std::uint64_t rejected_spans = 0;
  std::uint64_t rejected_points = 0;
  /// May be there although nothing was rejected.
  std::string text = {};
};

/// Nothing is rejected if the body says nothing of it that can be read.
/// `secret`: headers whose values are left out of its text.
[[nodiscard]] partial_success
partial_success_of(const http_response& x, const http_headers& secret = {});

/// What a response that is no success says, for people, without the values of
/// the `secret` headers.
[[nodiscard]] std::string failure_text(const http_response& x,
                                       const http_headers& secret = {});

/// Whether a response says that what was sent was taken, at least in part.
[[nodiscard]] bool is_taken(const http_response& x) noexcept;

/// What a response means by the OTLP specification: after 429, 502, 503 and 504
/// a further attempt is worth it, not before `Retry-After`; after all other
/// failures the same would fail again.
[[nodiscard]] answer_info otlp_meaning(const http_response& x);

/// `text` without the values of headers and their words, for logs.
[[nodiscard]] std::string without_values(std::string text,
                                         const http_headers& headers);

} // namespace caisson::detail
