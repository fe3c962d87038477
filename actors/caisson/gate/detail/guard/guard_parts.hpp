// The parts of a guard.
#pragma once

#include <caisson/gate/detail/guard/async_calls.hpp>
#include <caisson/gate/detail/guard/guard_admissions.hpp>
#include <caisson/gate/detail/guard/guard_core.hpp>
#include <caisson/gate/detail/guard/guard_operation.hpp>
#include <caisson/gate/detail/guard/thread_calls.hpp>

#include <memory>

namespace caisson::detail {

/// The engine of a guard, and all that goes in and out.
struct guard_parts {
  /// As `guard_host`.
  guard_parts(caf::actor_system* sys, const stack& policies, guard_clock& clock)
    : core(sys, policies, clock, std::make_shared<guard_link>(*this)) {
    core.start();
  }

  guard_core core;
  thread_calls threads{core};
  guard_admissions admissions{core};
  async_calls async{core};
  guard_operation operation{core};
};

} // namespace caisson::detail
