// The headers in which a server gets the options of a call.
#pragma once

#include <caisson/adapters/http/messages.hpp>
#include <caisson/adapters/http_client/client.hpp>
#include <caisson/caf/messages.hpp>

namespace caisson::detail {

/// Adds to `out`, whose names are in lower case, what the server gets of a
/// call's options besides the time left. `own`: it is the server of the worker,
/// and not another one to which it has redirected.
void add_option_headers(http_headers& out, const call_options& options,
                        const http_client_config& config, bool own);

} // namespace caisson::detail
