// Changes for all keys of a keyed policy, which the keys follow one by one.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policies/keyed/keyed_keys.hpp>
#include <caisson/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace caisson::detail {

/// A change for all keys.
struct key_change {
  enum class kind : std::uint8_t { ordered, reconfigured, drained };
  kind what = kind::ordered;
  operator_command command = operator_command::enable;
  time_point until = never;
  /// The how many-th one it is.
  std::uint64_t epoch = 0;
};

/// Remembers changes until all keys have followed, in rounds of visits, and
/// the last order for keys created later.
class keyed_changes {
public:
  /// How many there were. A key has followed all if it has this `epoch`.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }

  /// Whether all keys have followed.
  [[nodiscard]] bool done() const noexcept { return changes_.empty(); }

  void add(key_change c);
  /// Forgets the changes, as those that stay have followed.
  void clear();

  // -- orders -----------------------------------------------------------------

  /// An operator gives an order. Returns it, to be added.
  [[nodiscard]] key_change order(operator_command c, time_point until);

  /// The order for a key that is created now; null if there is none.
  [[nodiscard]] const key_change* order_at(time_point now);

  /// Whether the key has yet to follow an order that is in force.
  [[nodiscard]] bool awaits_order(const key_entry& x, time_point now) const {
    return x.epoch != epoch_ && order_ && order_->epoch > x.epoch
           && order_->until > now;
  }

  // -- following --------------------------------------------------------------

  /// Calls `apply` with each change that the key does not know.
  template <class F>
  void catch_up(key_entry& x, F apply) {
    auto known = std::exchange(x.epoch, epoch_);
    CAISSON_ENSURE(known <= epoch_, "a key knows change {} of {}", known,
                   epoch_);
    for (const auto& c : changes_)
      if (c.epoch > known)
        apply(c);
  }

  /// Calls `follow` with keys that may not have followed yet, at most `most`.
  template <class F>
  void visit(keyed_keys& keys, std::size_t most, F follow) {
    for (auto left = most; left > 0 && !changes_.empty();) {
      if (auto* x = keys.next()) {
        follow(*x);
        --left;
      } else if (round_ == epoch_) {
        changes_.clear();
      } else {
        round_ = epoch_;
        keys.visit();
      }
    }
  }

private:
  // The last order, for keys created later.
  std::optional<key_change> order_;
  // The changes that not all keys have followed yet, and how many there were.
  std::vector<key_change> changes_;
  std::uint64_t epoch_ = 0;
  // How many there were when the current round of visits began.
  std::uint64_t round_ = 0;
};

} // namespace caisson::detail
