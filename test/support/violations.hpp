// Helpers for tests of what a violated invariant does in production.
#pragma once

#include <caisson/base/ensure.hpp>

namespace caisson::test {

/// While it lives, a violated invariant throws, and does not end the tests.
class violations_throw {
public:
  violations_throw() { abort_on_violation(false); }
  ~violations_throw() { abort_on_violation(true); }

  violations_throw(const violations_throw&) = delete;
  violations_throw& operator=(const violations_throw&) = delete;
};

} // namespace caisson::test
