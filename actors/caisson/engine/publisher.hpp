// Publishes an engine's state when it has changed.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/engine/snapshot_hub.hpp>

#include <cstdint>
#include <memory>

namespace caisson::detail {

class operations;
class upstream;
struct engine_core;

/// Publishes an engine's state to its watchers, at most once in an interval,
/// and only after something has happened. Without watchers it does nothing and
/// needs no timer.
class publisher {
public:
  publisher(engine_core& core, const upstream& upstream_part,
            const operations& operations_part)
    : core_(core), upstream_(upstream_part), operations_(operations_part) {}

  /// From now on there.
  void publish_to(std::unique_ptr<snapshot_slot> slot) {
    slot_ = std::move(slot);
  }

  /// To be called when something has happened, or may have, and the engine is
  /// quiescent.
  void after_step() {
    if (slot_)
      look();
  }

  /// When to call `after_step` again at the latest; `never` if there is nothing
  /// to publish.
  [[nodiscard]] time_point due() const noexcept { return due_; }

  /// Withdraws what was published, permanently.
  void stop() noexcept {
    slot_.reset();
    due_ = never;
  }

private:
  void look();
  void publish();

  engine_core& core_;
  const upstream& upstream_;
  const operations& operations_;
  std::unique_ptr<snapshot_slot> slot_;
  time_point last_ = time_point::min();
  time_point due_ = never;
  // How many watches had begun at the last look.
  std::uint64_t watches_ = 0;
};

} // namespace caisson::detail
