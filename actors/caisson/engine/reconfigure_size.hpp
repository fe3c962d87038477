// Bounds of a message that changes settings.
#pragma once

#include <caisson/caf/messages.hpp>

#include <string>

namespace caisson::detail {

/// Which of its parts is too large; empty if none is.
[[nodiscard]] std::string problem_with_size(const reconfigure& x);

} // namespace caisson::detail
