// Looks into the TLS of a connection to PostgreSQL.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <optional>

namespace caisson::detail {

/// How many bytes libpq has read from the socket so far; none without TLS.
[[nodiscard]] std::optional<std::int64_t> bytes_by_tls(PGconn& x);

/// Whether libpq has something to take in although the socket may have nothing:
/// TLS comes in records of up to 16 KiB, of which libpq takes a part if it has
/// no more room.
[[nodiscard]] bool has_buffered_bytes(PGconn& x);

} // namespace caisson::detail
