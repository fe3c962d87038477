// Address on which a metrics server listens.
#pragma once

#include <caisson/settings/problem.hpp>

#include <string>

namespace caisson::detail {

/// `text` as `host:port` with numbers only. Throws `config_error` if it is not
/// an address as `metrics_server` describes them.
[[nodiscard]] std::string listening_address(const std::string& text);

} // namespace caisson::detail
