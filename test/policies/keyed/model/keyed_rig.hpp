// Helpers for tests of policies per key.
#pragma once

#include <caisson/policies/breaker/breaker.hpp>
#include <caisson/policies/deadline/deadline.hpp>
#include <caisson/policies/keyed/keyed.hpp>
#include <caisson/policies/limiter.hpp>
#include <caisson/policies/semaphore.hpp>

#include <support/rig.hpp>

#include <string>
#include <utility>

namespace caisson::test {

using namespace std::chrono_literals;

template <class Policy>
using keyed_rig = rig<keyed<Policy>>;

/// Opens at the first failure, for ten seconds.
inline breaker_config brittle() {
  breaker_config c;
  c.threshold = 1;
  c.open = schedule::constant(10s);
  return c;
}

/// Opens the breaker of that key.
inline void trip(keyed_rig<breaker>& h, const std::string& key) {
  h.fail(h.arrive(of_key(key)));
}

} // namespace caisson::test
