// The text by which libpq connects, from a worker's settings.
#pragma once

#include <caisson/adapters/postgres/client.hpp>

#include <string>

namespace caisson::detail {

/// `c.connection` with `c.password`, and with `c.tls` all that libpq must know
/// of TLS: neither its environment variables nor the files in `~/.postgresql`
/// have a say then.
[[nodiscard]] std::string
postgres_connection_text(const postgres_client_config& c);

/// Appends what is wrong with `connection` and with the settings of TLS.
void check_postgres_connection(const postgres_client_config& c,
                               const setting_path& path, problems& out);

} // namespace caisson::detail
