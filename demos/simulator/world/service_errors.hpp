// The errors that services answer with.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/error.hpp>

#include <string>

namespace caisson::sim {

/// `service` turns a request away, or gives it up. `may_have_executed`: whether
/// it may have worked on it.
[[nodiscard]] caf::message service_error(errc code, const std::string& service,
                                         bool may_have_executed);

/// What a request ends with whose call ended with the error `content`: the
/// same, but the service has worked on it.
[[nodiscard]] caf::message passed_on(caf::message content);

} // namespace caisson::sim
