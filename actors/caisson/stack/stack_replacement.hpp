// Another stack for a gate, and what goes with it.
#pragma once

#include <caisson/engine/stack_swap.hpp>
#include <caisson/engine/supervision.hpp>
#include <caisson/stack/stack.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace caisson {
class worker;
} // namespace caisson

namespace caisson::detail {

struct stack_replacement {
  /// @pre policies.check().empty()
  stack policies;
  std::optional<supervision_config> supervision = {};
  /// Whether each layer is to begin afresh; those beyond the end are not.
  std::vector<bool> afresh = {};
  /// Another worker, made by the gate as the one that it has; null: that stays.
  std::shared_ptr<const worker> new_worker = {};
  /// What is different about the new worker.
  std::string worker_changes = {};
};

/// With layers made anew.
[[nodiscard]] next_stack next_stack_of(const stack_replacement& x);

/// One line for each: the layer, a tab, and what has changed.
[[nodiscard]] std::string text_of(const std::vector<layer_change>& changes);

/// Parses what `text_of` has written.
[[nodiscard]] std::vector<layer_change> changes_in(const std::string& text);

} // namespace caisson::detail
