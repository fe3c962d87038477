// Replaces the stack of an engine while calls are in flight.
#pragma once

#include <caisson/engine/answer_adapter.hpp>
#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/gate_config.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/engine/layer_table.hpp>
#include <caisson/engine/supervision.hpp>
#include <caisson/engine/target_table.hpp>
#include <caisson/engine/upstream.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace caisson::detail {

/// A layer of a stack that is to be put in force.
struct next_layer {
  std::unique_ptr<layer> owner;
  /// It does not take over the state of a layer, although one has its name:
  /// what cannot be changed at run time is different.
  bool afresh = false;
};

/// Another worker, which the host makes from now on.
struct next_worker {
  answer_adapter adapter;
  std::optional<dead_letter_calls> dead_letters = {};
  /// What is different.
  std::string changes;
};

/// How many workers that were replaced may have calls.
inline constexpr std::size_t most_replaced_workers = 8;

struct next_stack {
  /// Name and seed stay as they are.
  gate_config config;
  /// Nothing: that of the worker stays.
  std::optional<supervision_config> supervision = {};
  std::vector<next_layer> layers;
  /// Nothing: the worker stays.
  std::optional<next_worker> worker = {};
};

/// Something that has changed.
struct layer_change {
  /// Empty: the gate itself.
  std::string layer;
  std::string what;
};

/// Layers that stay keep their state and get the new settings: those of the
/// same kind and name that stand in the same order, as many as possible, and
/// first of all those that have promised something. The others come and go. A
/// call keeps the layers with which it began, also those that are gone for
/// later ones: such a layer drains, and is dropped when the last of
/// its calls is over. One that has promised something to earlier calls (it
/// holds the host open and `acts_when_off`) leaves first: until it is done, all
/// calls pass it as if it were off. So no call is lost, none is answered by two
/// stacks, and every admission has its completion.
/// Settings are the layer's own: all calls that meet it from then on meet the
/// new ones.
class stack_swap {
public:
  stack_swap(engine_core& core, target_table& targets, upstream& upstream_part)
    : core_(core), targets_(targets), upstream_(upstream_part) {}

  stack_swap(const stack_swap&) = delete;
  stack_swap& operator=(const stack_swap&) = delete;

  /// Why `x` cannot be put in force now; empty if it can.
  [[nodiscard]] std::string problem_with(const next_stack& x) const;

  /// Starts the layers of `x` that will come. If one throws, so does this, and
  /// nothing has changed.
  void start_layers(const next_stack& x);

  /// Between two calls, when its layers have started. `draining`: layers that
  /// come are notified, too.
  /// @pre problem_with(x).empty()
  std::vector<layer_change> apply(next_stack x, bool draining);

  /// Retires layers that had to stay in the way of all calls and no longer
  /// have. Returns whether there were any: they may ask for something. To be
  /// called when no layer has its turn.
  bool retire_done() { return core_.layers.any_leaving() && retire_unbound(); }

  /// Drops layers that no call needs any more. To be called when no layer has
  /// its turn and nothing is asked for.
  void sweep() {
    if (core_.layers.any_retired() && any_unused())
      drop_unused();
  }

private:
  /// Of each next layer, the number of the one that it goes on with.
  using matches = std::vector<std::optional<std::size_t>>;

  [[nodiscard]] bool goes_on(std::size_t k, const next_layer& x) const;
  [[nodiscard]] matches match(const std::vector<next_layer>& next) const;
  void change_settings(next_stack& x, const matches& found);
  void change_gate(const next_stack& x);
  void change_layers(std::vector<next_layer> next, const matches& found,
                     bool draining);
  void insert_layer(std::size_t k, bool draining);
  void note(std::string layer, std::string what);
  [[nodiscard]] bool is_bound(std::size_t k) const;
  [[nodiscard]] std::size_t count_in_force() const;
  void end(std::size_t k);
  bool retire_unbound();
  [[nodiscard]] bool is_unused(std::size_t k) const;
  [[nodiscard]] bool any_unused() const;
  void drop_unused();

  engine_core& core_;
  target_table& targets_;
  upstream& upstream_;
  std::vector<layer_change> changes_;
};

} // namespace caisson::detail
