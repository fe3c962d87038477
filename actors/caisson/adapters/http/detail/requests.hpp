// Translates between HTTP requests and responses and their messages.
#pragma once

#include <caisson/adapters/http/messages.hpp>
#include <caisson/adapters/http/parser.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace caisson::detail {

/// The status that refuses what has been read so far; 0: none.
[[nodiscard]] int refusal_of(http_parser& x);

/// A complete request as a message, without what concerns the connection.
[[nodiscard]] http_request request_of(http_parser& x);

/// What a server says by itself, such as that it is busy (503).
[[nodiscard]] http_response short_answer(std::int32_t status);

/// Whether a response with this status may have a body.
[[nodiscard]] bool has_content(std::int32_t status) noexcept;

/// The bytes of what may be sent of `x`. `to_head`: the answer to HEAD; `last`:
/// the connection is closed after it. `length`: of the body, if that is sent by
/// itself. Without a body the answer to HEAD has the length that its headers
/// say, if they do.
[[nodiscard]] std::string
bytes_of(const http_response& x, bool to_head, bool last,
         std::optional<std::size_t> length = std::nullopt);

} // namespace caisson::detail
