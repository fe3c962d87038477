// Counts the bytes that a connection to PostgreSQL has received.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <optional>

namespace caisson::detail {

/// How many bytes have come so far, as TLS or TCP counts them; none without
/// both.
[[nodiscard]] std::optional<std::int64_t> received_bytes(PGconn& x);

/// How many bytes libpq has not read from the socket yet.
[[nodiscard]] std::int64_t waiting_bytes(const PGconn& x);

/// Whether libpq has something to take in although the socket may have nothing:
/// TLS comes in records of up to 16 KiB, of which libpq takes a part if it has
/// no more room.
[[nodiscard]] bool has_buffered_bytes(PGconn& x);

} // namespace caisson::detail
