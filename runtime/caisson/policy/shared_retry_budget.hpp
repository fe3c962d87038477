// A retry budget that several gates share.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/retry_budget.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

namespace caf {
class actor_system;
} // namespace caf

namespace caisson {

/// A `retry_budget` behind a mutex. Gates on different threads may pass
/// instants out of order; the budget treats an earlier one as the latest that
/// it has seen. Safe to use from any thread.
class shared_retry_budget {
public:
  /// Starts with the whole reserve of `l`, which must be in range.
  explicit shared_retry_budget(const retry_budget::limits& l)
    : limits_(l), budget_(l) {}

  /// As `retry_budget::deposit`: records a first attempt.
  void deposit(time_point now);
  /// As `retry_budget::try_withdraw`: records a retry that counts as `cost`
  /// retries, 1 to 100, or returns false and changes nothing.
  [[nodiscard]] bool try_withdraw(time_point now, std::uint32_t cost = 1);
  /// As `retry_budget::charge`: withdraws as many of `cost` retries as there
  /// are.
  void charge(time_point now, std::uint32_t cost);
  /// How many retries were affordable after the last call to a member that
  /// takes an instant.
  [[nodiscard]] std::int64_t balance() const;

  /// Starts anew with these limits, unless it already has them.
  void change(const retry_budget::limits& l);

  /// The budget called `name` in an actor system, and in no other one, even if
  /// that has the same address later. It is created with `l` if it does not
  /// exist; an existing one keeps its limits. It lives as long as its users.
  static std::shared_ptr<shared_retry_budget>
  named(caf::actor_system* system, std::string_view name,
        const retry_budget::limits& l);

  /// The budget called `name` in any other `scope`: an address that outlives
  /// its users.
  static std::shared_ptr<shared_retry_budget>
  named(const void* scope, std::string_view name,
        const retry_budget::limits& l);

private:
  mutable std::mutex mutex_;
  retry_budget::limits limits_;
  retry_budget budget_;
};

} // namespace caisson
