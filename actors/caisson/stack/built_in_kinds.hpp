// The policies that come with the library: how stacks read them, and what the
// docs' lists say of them.
#pragma once

#include <caisson/stack/policy_kinds.hpp>

#include <deque>

namespace caisson::detail {

/// A new policy gets an entry here. The lists in the docs, the order of layers
/// among them, are written from it by `test/house_rules --fix`.
[[nodiscard]] std::deque<policy_kind> built_in_kinds();

} // namespace caisson::detail
