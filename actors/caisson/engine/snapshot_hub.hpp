// Hub where the gates of an actor system publish snapshots for readers.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/gate_snapshot.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace caisson::detail {

class snapshot_hub;

/// The place of one gate, which it gives up when it ends. `publish` and the
/// questions are for the gate; the hub reads.
class snapshot_slot {
public:
  /// Lets a gate publish what has happened since, if no timer of its own does
  /// that. Called by readers, perhaps when the gate has ended.
  using refresher = std::function<void()>;

  /// Made by `snapshot_hub::join`.
  snapshot_slot(std::shared_ptr<snapshot_hub> hub, std::string name,
                std::uint32_t number, caf::weak_actor_ptr gate, bool resident,
                refresher refresh);
  ~snapshot_slot();

  snapshot_slot(const snapshot_slot&) = delete;
  snapshot_slot& operator=(const snapshot_slot&) = delete;

  /// Whether there is a reader.
  [[nodiscard]] inline bool has_readers() const noexcept;
  [[nodiscard]] inline duration interval() const noexcept;
  [[nodiscard]] inline std::uint32_t keys() const noexcept;
  /// How many watches have begun.
  [[nodiscard]] inline std::uint64_t watches() const noexcept;

  /// Has no effect if there is no reader by now.
  void publish(std::shared_ptr<const gate_snapshot> x);

private:
  friend class snapshot_hub;

  [[nodiscard]] std::shared_ptr<const gate_snapshot> last() const;
  void clear();

  const std::shared_ptr<snapshot_hub> hub_;
  const std::string name_;
  const std::uint32_t number_;
  /// Where the gate is woken.
  const caf::weak_actor_ptr gate_;
  const bool resident_;
  const refresher refresh_;
  std::atomic<bool> leaving_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<const gate_snapshot> last_;
};

/// All gates of one system. Used by any thread.
class snapshot_hub : public std::enable_shared_from_this<snapshot_hub> {
public:
  /// That of `sys`. It exists as long as it has users.
  static std::shared_ptr<snapshot_hub> of(caf::actor_system& sys);

  explicit snapshot_hub(std::uint64_t system) : system_(system) {}
  ~snapshot_hub();

  snapshot_hub(const snapshot_hub&) = delete;
  snapshot_hub& operator=(const snapshot_hub&) = delete;

  // -- gates ------------------------------------------------------------------

  /// A place for a gate that starts. `gate` is the gate, or the address of a
  /// resident, or null for one that is refreshed by readers.
  std::unique_ptr<snapshot_slot>
  join(const std::string& name, caf::weak_actor_ptr gate, bool resident = false,
       snapshot_slot::refresher refresh = {});

  /// Marks a gate that has been removed, and finishes what it has.
  void set_leaving(const caf::actor& gate);

  [[nodiscard]] duration interval() const noexcept {
    return duration{interval_.load(std::memory_order_relaxed)};
  }
  [[nodiscard]] std::uint32_t keys() const noexcept {
    return keys_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t watches() const noexcept {
    return watches_.load(std::memory_order_acquire);
  }

  // -- watches ----------------------------------------------------------------

  void add_watch(const gate_watch_config& c);
  void remove_watch(const gate_watch_config& c);

  [[nodiscard]] std::vector<watched_gate> list() const;

private:
  friend class snapshot_slot;

  /// The numbers of gates of one name.
  struct numbers {
    std::uint32_t highest = 0;
    std::set<std::uint32_t> free;
  };

  void leave(const snapshot_slot& x);
  void apply_watches();

  /// The number of its system.
  const std::uint64_t system_;
  /// Zero without watches.
  std::atomic<duration::rep> interval_{0};
  std::atomic<std::uint32_t> keys_{0};
  std::atomic<std::uint64_t> watches_{0};
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::uint32_t>, snapshot_slot*> slots_;
  std::map<std::string, numbers> names_;
  std::multiset<duration> intervals_;
  std::multiset<std::uint32_t> watch_keys_;
};

inline bool snapshot_slot::has_readers() const noexcept {
  return hub_->interval() > duration::zero();
}

inline duration snapshot_slot::interval() const noexcept {
  return hub_->interval();
}

inline std::uint32_t snapshot_slot::keys() const noexcept {
  return hub_->keys();
}

inline std::uint64_t snapshot_slot::watches() const noexcept {
  return hub_->watches();
}

} // namespace caisson::detail
