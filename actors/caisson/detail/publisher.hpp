// Publishes an engine's state when it has changed.
#pragma once

#include <caisson/detail/snapshot_hub.hpp>
#include <caisson/time.hpp>

#include <memory>

namespace caisson::detail {

class operations;
struct engine_core;

/// What an engine tells those who watch it, at most once in an interval, and
/// only after something has happened. Without them it does nothing and wants
/// no timer.
class publisher {
public:
  publisher(engine_core& core, const operations& op) : core_(core), op_(op) {}

  /// From now on there.
  void publish_to(std::unique_ptr<snapshot_slot> slot) {
    slot_ = std::move(slot);
  }

  /// To be called when something has happened, or may have, and the engine has
  /// come to rest.
  void after_step() {
    if (slot_)
      look();
  }

  /// When to call `after_step` again at the latest; `never` if nothing is to be
  /// told.
  [[nodiscard]] time_point due() const noexcept { return due_; }

  /// Takes back what was published, for good.
  void stop() noexcept {
    slot_.reset();
    due_ = never;
  }

private:
  void look();
  void publish();

  engine_core& core_;
  const operations& op_;
  std::unique_ptr<snapshot_slot> slot_;
  time_point last_ = time_point::min();
  time_point due_ = never;
};

} // namespace caisson::detail
