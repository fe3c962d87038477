// Hints for common mistakes in scenarios.
#pragma once

#include <caisson/settings/problem.hpp>

namespace caisson::sim {

/// Adds to problems with names from elsewhere what they are called here: a
/// number of retries, and the kinds of errors that results have.
void add_hints(problems& found);

} // namespace caisson::sim
