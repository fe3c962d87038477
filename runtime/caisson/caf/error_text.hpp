// Texts of errors, with the names that an actor system has for categories.
#pragma once

#include <caisson/caf/error.hpp>

#include <string>

namespace caisson::portable {

/// As `to_text(err)`. On CAF 0.17 an error of a category that only `sys` has a
/// name for is written by the function that is registered there.
[[nodiscard]] std::string to_text(const caf::actor_system& sys,
                                  const caf::error& err);

} // namespace caisson::portable
