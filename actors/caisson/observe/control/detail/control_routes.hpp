// Converts HTTP requests to operations, and their results to answers.
#pragma once

#include <caisson/adapters/http/messages.hpp>
#include <caisson/observe/control/detail/control_access.hpp>
#include <caisson/observe/control/detail/control_operations.hpp>

namespace caisson::detail {

/// The answer to a request of whom `access` lets in; docs/control.md lists
/// them. Whatever goes wrong is an answer, too.
[[nodiscard]] http_response answer_operator(control_operations& operations,
                                            const http_request& x,
                                            control_access& access);

} // namespace caisson::detail
