// Messages between a gate and its helpers.
#pragma once

#include <caisson/caf/caf.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace caisson::detail {

/// Sent to a gate by the helper that ran its worker factory. The answer says
/// whether the gate uses the worker.
struct worker_made {
  caf::actor handle;
  std::string failure = {};
  std::uint32_t incarnation = 0;
};
CAISSON_MESSAGE(worker_made, handle, failure, incarnation)

/// What a gate reports to its supervision group about itself and its worker.
enum class member_state : std::uint8_t {
  joined,
  down,
  due,
  up,
  gave_up,
  /// It has ended, and starts again only with others.
  ended,
  /// It has ended, and never starts again.
  finished,
};

[[nodiscard]] std::string_view name_of(member_state x) noexcept;

CAISSON_ENUM(member_state, member_state::finished)

struct member_report {
  member_state what = member_state::joined;
  std::uint32_t rank = 0;
  /// The last order that the gate has carried out: a report from before an
  /// order that is on its way means nothing.
  std::uint64_t order = 0;
  std::string why = {};
};
CAISSON_MESSAGE(member_report, what, rank, order, why)

/// Order of a group to a gate, about its worker.
enum class member_order : std::uint8_t { stop, start, give_up };

[[nodiscard]] std::string_view name_of(member_order x) noexcept;

CAISSON_ENUM(member_order, member_order::give_up)

struct group_order {
  member_order what = member_order::stop;
  /// Counts the orders to this gate from 1 on.
  std::uint64_t number = 0;
  std::string why = {};
};
CAISSON_MESSAGE(group_order, what, number, why)

struct stack_replacement;

/// Order to a gate to put another stack in force, or to say whether it could.
/// The answer is a text with the changes, or `invalid_config` if there are
/// none. Stays within one process.
struct replace_stack {
  std::shared_ptr<const stack_replacement> what = {};
  bool check_only = false;
};

} // namespace caisson::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(caisson::detail::replace_stack)
