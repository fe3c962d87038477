// The keys of a keyed policy, by name and in the order in which they may go.
#pragma once

#include <caisson/base/linked.hpp>
#include <caisson/base/random.hpp>
#include <caisson/policies/keyed/key_sums.hpp>
#include <caisson/policies/keyed/key_table.hpp>
#include <caisson/policy/key_report.hpp>
#include <caisson/policy/policy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// Keeps the entries of all keys, with that of calls without a key, their
/// wake-ups and their sums. Knows which ones have no calls, and which of those
/// were used least recently.
class keyed_keys {
public:
  /// To be called once, with the policy of a key that never has a call.
  void start(std::unique_ptr<policy> blank);

  /// Calls without a key may have a policy, or may not.
  void allow_shared(bool x) noexcept { allows_shared_ = x; }

  /// To be called before anything else at each instant.
  void see(time_point now) { clock_ = std::max(clock_, now); }

  /// The latest instant seen: a clock that steps back changes nothing.
  [[nodiscard]] time_point clock() const noexcept { return clock_; }

  // -- finding ----------------------------------------------------------------

  /// How many keys there are, not counting that of calls without one.
  [[nodiscard]] std::size_t size() const noexcept { return table_.size(); }

  /// An empty key is that of calls without one. Null if it is not here.
  [[nodiscard]] key_entry* find(std::string_view key) {
    return key.empty() ? shared_.get() : table_.find(key);
  }
  [[nodiscard]] const key_entry* find(std::string_view key) const {
    return key.empty() ? shared_.get() : table_.find(key);
  }

  /// The entry of calls without a key; null if there is none.
  [[nodiscard]] key_entry* shared() noexcept { return shared_.get(); }

  /// Never has a call: the state of a new key.
  [[nodiscard]] key_entry& blank() noexcept { return *blank_; }
  [[nodiscard]] const key_entry& blank() const noexcept { return *blank_; }
  [[nodiscard]] bool is_blank(const key_entry& x) const noexcept {
    return &x == blank_.get();
  }

  /// The entries with calls, in the order in which they were made.
  [[nodiscard]] std::vector<key_entry*> busy_entries();

  // -- coming and going -------------------------------------------------------

  /// Adds an entry that is new.
  key_entry& add(std::unique_ptr<key_entry> entry, random_source& random);

  /// To be called before anything of the entry changes.
  void touch(key_entry& x) {
    if (!is_blank(x))
      sums_.touch(x);
  }

  /// To be called after each use.
  void rest(key_entry& x) {
    if (x.busy == 0 || !x.at_work || &x == shared_.get())
      reposition(x);
  }

  /// To be called after anything else: the entry stays in its place unless its
  /// circuit says otherwise.
  void update_circuit(key_entry& x);

  void drop(key_entry& x);
  /// Drops the entry of calls without a key unless it may be there, or has
  /// calls.
  void drop_shared();

  /// What the policies list may have changed.
  void follow_blank() { sums_.follow(*blank_->machine); }

  /// Drops all keys without calls, but frees none of them now.
  void clear();
  /// Frees what is left of dropped keys, at most `most` pieces.
  void free_dropped(std::size_t most);
  [[nodiscard]] bool has_dropped() const noexcept { return !dropped_.empty(); }

  // -- visits -----------------------------------------------------------------

  /// From now on `next` gives all keys that are here now.
  /// @pre `next` has returned null
  void visit() noexcept { table_.visit(); }

  /// The next one that is still here; null if all have been visited.
  [[nodiscard]] key_entry* next() noexcept { return table_.next(); }

  // -- time -------------------------------------------------------------------

  /// Sets the wake-up of the entry if that has changed. Inlined: as a rule it
  /// has not.
  [[gnu::always_inline]] void update_timer(key_entry& x) {
    if (auto at = x.machine->wakeup(); at != x.wake_at)
      set_timer(x, at);
  }

  /// When the first policy is to be woken.
  [[nodiscard]] time_point next_timer() const { return timers_.next(); }

  /// An entry that is to be woken; null if a reset has dropped it; nothing if
  /// none is due.
  [[nodiscard]] std::optional<key_entry*> pop_due(time_point now);

  /// The key without calls that was used least recently, of those whose
  /// circuit is not closed (`guarded`) or of the others; null if there is none.
  [[nodiscard]] key_entry* oldest(bool guarded) noexcept {
    auto& list = guarded ? guarded_ : idle_;
    return list.empty() ? nullptr : &list.front();
  }

  /// When the first key has been without use for so long.
  [[nodiscard]] time_point next_expiry(duration idle) const;

  // -- reports ----------------------------------------------------------------

  /// The entry with the worst circuit.
  [[nodiscard]] const key_entry& worst() const;

  /// Appends the sums of what the policies list.
  void list_sums(std::vector<metric>& out) const {
    sums_.list(out, *blank_->machine);
  }

  /// See `keyed_policy::busiest`.
  [[nodiscard]] std::vector<key_report> busiest(std::size_t n) const;

private:
  using entry_list = linked_list<key_entry, by_use>;

  // What a reset has left, until it is freed.
  struct dropped_keys {
    key_table table;
    entry_list idle;
    entry_list guarded;
    key_sums sums;
  };

  void reposition(key_entry& x);
  [[nodiscard]] bool is_guarded(const key_entry& x) const;
  void set_timer(key_entry& x, time_point at);

  key_table table_;
  std::unique_ptr<key_entry> shared_;
  std::unique_ptr<key_entry> blank_;
  key_timers timers_;
  // Those with calls; and those without, the least recently used one first:
  // those that may be dropped for others, and those whose circuit is not
  // closed.
  entry_list at_work_;
  entry_list idle_;
  entry_list guarded_;
  bool allows_shared_ = false;
  std::uint64_t life_ = 0;
  std::deque<dropped_keys> dropped_;
  key_sums sums_;
  time_point clock_ = time_point::min();
};

} // namespace caisson::detail
