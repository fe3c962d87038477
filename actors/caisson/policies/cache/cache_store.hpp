// The answers that a cache keeps, and what it knows of their keys.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policies/cache/cache_config.hpp>
#include <caisson/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>

namespace caisson::detail {

/// A record for each key with an answer, a load or a call, and the order in
/// which answers were used. Makes room for new ones, few in each turn.
class cache_store {
public:
  /// Numbers loads in the order in which they begin. 0: none.
  using load_number = std::uint64_t;

  struct record;
  using map = std::map<std::string, record, std::less<>>;
  /// A key and its record. Valid as long as it is kept or pinned.
  using place = map::iterator;

  /// The state of a key. It exists while an answer is kept, a load is in
  /// progress or the cache has a call.
  struct record {
    /// The answer; only while `kept`.
    kept_message value;
    time_point expires;
    std::list<place>::iterator use;
    bool kept = false;
    bool negative = false;
    /// How many resets there had been when it was kept.
    std::uint64_t life = 0;
    /// Loads that began earlier are outdated.
    load_number newest = 0;
    /// The child that calls may join, 0 if there is none; when it was sent.
    call_id child = 0;
    time_point sent;
    /// When the next refresh may start.
    time_point refresh_at = time_point::min();
    /// Until when an old answer stands in before the worker is asked.
    time_point failing_until = time_point::min();
    /// How many calls and children refer to this.
    std::uint32_t pins = 0;
    /// How many changes are in progress below.
    std::uint32_t changing = 0;
    /// How often calls that waited for writes were released.
    std::uint64_t releases = 0;
  };

  // -- records ----------------------------------------------------------------

  /// How many answers there are, and how many keys, without those that were
  /// forgotten.
  [[nodiscard]] std::size_t size() const noexcept { return used_.size(); }
  [[nodiscard]] std::size_t keys() const noexcept {
    return records_.size() - old_.size();
  }

  /// The record of the key, for a call or a child.
  [[nodiscard]] place pin(const std::string& key);
  void unpin(place at);

  // -- loads ------------------------------------------------------------------

  /// A load begins. Returns its number.
  load_number begin_load() noexcept { return ++loads_; }

  /// The number of the load that began last.
  [[nodiscard]] load_number last_load() const noexcept { return loads_; }

  /// Whether the answer of that load is not to be kept.
  [[nodiscard]] bool is_outdated(const record& r,
                                 load_number number) const noexcept;

  // -- answers ----------------------------------------------------------------

  /// Keeps an answer for a key that has none. Returns false if it has one.
  bool add(const std::string& key, kept_message value, time_point expires);

  /// Keeps an answer in place of that which is there. Returns whether there
  /// was none.
  bool keep(place at, kept_message value, time_point expires, bool negative);

  /// The answer is used.
  void touch(place at) {
    CAISSON_ENSURE(at->second.kept && at->second.life == life_,
                   "no answer is kept for the key {}", at->first);
    used_.splice(used_.begin(), used_, at->second.use);
  }

  /// Forgets the answer, if there is one.
  void drop(place at);

  /// Drops the answer if it is from before the last reset, and so none.
  void drop_forgotten(place at) {
    if (at->second.kept && at->second.life != life_)
      drop(at);
  }

  /// Drops the answer. Those of loads in progress are not kept.
  void invalidate(place at);

  /// `n` changes of what the worker answers begin.
  void begin_changes(place at, std::uint32_t n);
  void end_change(place at);

  // -- room -------------------------------------------------------------------

  /// Drops answers that are above `most`, the least recently used ones first:
  /// few of them at once. Returns how many.
  std::size_t shrink(std::size_t most);

  /// Forgets all answers, and those of loads in progress. Frees few of them
  /// now.
  void forget(time_point now);

  /// When more answers are to be dropped; `never` if there are none.
  [[nodiscard]] time_point due(std::size_t most) const noexcept {
    return needs_maintenance(most) ? maintenance_at_ : never;
  }

  /// Drops more answers if that is due. Returns how many were above `most`.
  std::size_t do_maintenance(time_point now, std::size_t most);

  /// Leaves what is left to do for later.
  void pause(time_point now);

private:
  void evict(place at);
  void drop_old();
  [[nodiscard]] bool needs_maintenance(std::size_t most) const noexcept {
    return !old_.empty() || used_.size() > most;
  }

  map records_;
  // Those with an answer, the most recently used one first.
  std::list<place> used_;
  // Those whose answer is from before a reset, and waits to be freed.
  std::list<place> old_;
  // How many resets there were. Loads up to this one are from before the last.
  std::uint64_t life_ = 0;
  load_number last_outdated_load_ = 0;
  load_number loads_ = 0;
  // When more answers may be dropped.
  time_point maintenance_at_ = time_point::min();
};

} // namespace caisson::detail
