// Switches of the features of an actor system.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caf {
class actor_system;
} // namespace caf

namespace caisson {

/// The features of a system, by name. A feature is on unless something holds it
/// off: each degradation layer does that through its own `feature_hold`, so
/// that two of them that switch the same feature do not undo each other's work.
/// A name that was never used is on. Safe to use from any thread.
class feature_flags : public std::enable_shared_from_this<feature_flags> {
  /// How many holds a feature has.
  using hold_count = std::atomic<std::uint32_t>;

public:
  /// One feature, for frequent queries: `is_on` reads one number and takes no
  /// lock. Keeps the flags alive. A default-constructed one is always on.
  class feature {
  public:
    feature() = default;

    /// Whether nothing holds the feature off at the moment.
    [[nodiscard]] bool is_on() const noexcept {
      return !holds_ || holds_->load(std::memory_order_acquire) == 0;
    }

  private:
    friend class feature_flags;
    feature(std::shared_ptr<const feature_flags> flags,
            std::shared_ptr<const hold_count> holds)
      : flags_(std::move(flags)), holds_(std::move(holds)) {}

    std::shared_ptr<const feature_flags> flags_;
    std::shared_ptr<const hold_count> holds_;
  };

  /// The flags of an actor system, and of no other one, even if that has the
  /// same address later. It lives as long as its users.
  static std::shared_ptr<feature_flags> of(caf::actor_system* system);

  /// The flags of any other `scope`: an address that outlives its users.
  static std::shared_ptr<feature_flags> of(const void* scope);

  /// Whether the feature is on. Takes a lock.
  [[nodiscard]] bool is_on(std::string_view name) const;

  /// The feature with that name, which need not be known before. Takes a lock:
  /// keep it for frequent queries.
  [[nodiscard]] feature find(std::string_view name);

  /// The names of all features that are off, in alphabetical order.
  [[nodiscard]] std::vector<std::string> all_off() const;

  /// How many names it keeps, some of which nobody uses any more.
  [[nodiscard]] std::size_t size() const;

private:
  friend class feature_hold;

  std::shared_ptr<hold_count> entry(std::string_view name);

  static constexpr std::size_t first_sweep = 64;

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<hold_count>, std::less<>> known_;
  std::size_t next_sweep_ = first_sweep;
};

/// Holds features off. For one thread at a time.
class feature_hold {
public:
  /// Holds nothing off yet.
  explicit feature_hold(std::shared_ptr<feature_flags> flags);

  /// Releases all features.
  ~feature_hold();

  feature_hold(const feature_hold&) = delete;
  feature_hold& operator=(const feature_hold&) = delete;

  /// From now on holds off exactly `features`. One that was held off before
  /// stays off without a break.
  void set(const std::vector<std::string>& features);

private:
  std::shared_ptr<feature_flags> flags_;
  std::vector<std::shared_ptr<feature_flags::hold_count>> held_;
};

} // namespace caisson
