// Makes keys, and drops those that are not used, or that others replace.
#pragma once

#include <caisson/policies/keyed/key_kind.hpp>
#include <caisson/policies/keyed/key_turns.hpp>
#include <caisson/policies/keyed/keyed_counters.hpp>
#include <caisson/policies/keyed/keyed_keys.hpp>
#include <caisson/policy/counters.hpp>
#include <caisson/policy/policy.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace caisson::detail {

/// Keeps the number of keys to `max_keys`, and drops keys without calls after
/// the time `idle`, as many at once as `key_pace` says.
class key_room {
public:
  /// All must outlive this.
  key_room(const key_kind& kind, keyed_keys& keys, key_turns& turns,
           counters<keyed_counter>& counts)
    : kind_(kind), keys_(keys), turns_(turns), counters_(counts) {}

  // -- number -----------------------------------------------------------------

  /// Makes room for one more key. Returns whether there is.
  bool make_room(env& e);

  /// Adds a key for which there is room, or, if it is empty, what calls without
  /// one share. Null if the constructor of the policy throws.
  key_entry* add(const std::string& key, env& e);

  /// There may be fewer keys than before: drops those that are too many, some
  /// now and the others when `shrink` is called.
  void limit(env& e) {
    shrinking_ = true;
    shrink(e);
  }
  void shrink(env& e);
  [[nodiscard]] bool is_shrinking() const noexcept { return shrinking_; }
  /// All keys without calls have been dropped.
  void stop_shrinking() noexcept { shrinking_ = false; }

  // -- time -------------------------------------------------------------------

  /// Drops keys that were not used for so long.
  void expire(env& e);

  /// When to call `expire`.
  [[nodiscard]] time_point next_expiry() const {
    return std::max(expiry_at_, keys_.next_expiry(kind_.per_key().idle));
  }

private:
  bool evict(env& e);
  void expire_list(bool guarded, std::size_t& budget, env& e);

  const key_kind& kind_;
  keyed_keys& keys_;
  key_turns& turns_;
  counters<keyed_counter>& counters_;
  // Whether keys are being dropped because of a lower `max_keys`.
  bool shrinking_ = false;
  // Not before then, as others had to wait.
  time_point expiry_at_ = time_point::min();
};

} // namespace caisson::detail
