// Errors of gates and of workers, with texts for people.
#pragma once

#include <caisson/caf/error.hpp>
#include <caisson/engine/answers.hpp>
#include <caisson/engine/transport_errc.hpp>
#include <caisson/policy/errc.hpp>
#include <caisson/policy/outcome.hpp>

namespace caisson {

/// Whether the call that a gate has answered with `err` may have been executed,
/// in any attempt: false only if the gate is certain that it was not. Of an
/// answer of another actor than a gate nobody knows it.
[[nodiscard]] inline bool may_have_executed(const caf::error& err) {
  auto* known = transport_errc_of(err)
                  ? portable::get_if<rejection>(err.context())
                  : context_of(err);
  return !known || known->may_have_executed;
}

} // namespace caisson
