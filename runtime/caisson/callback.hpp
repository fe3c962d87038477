// Calling functions of the user's, which may throw.
#pragma once

#include <caisson/policy.hpp>

#include <exception>
#include <string_view>

namespace caisson {

/// Runs `f`, which calls the user's function called `name`. An exception goes no
/// further: `e` is told, and the result is false.
template <class F>
bool call_user(std::string_view name, F f, env& e) {
  try {
    f();
    return true;
  } catch (const std::exception& x) {
    e.callback_threw(name, x.what());
  } catch (...) {
    e.callback_threw(name, "unknown exception");
  }
  return false;
}

} // namespace caisson
