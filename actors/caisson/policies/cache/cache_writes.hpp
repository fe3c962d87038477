// The writes that a cache has acknowledged and must still flush.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policies/cache/cache_config.hpp>
#include <caisson/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace caisson::detail {

/// The last acknowledged write of a key.
struct cache_write {
  /// What goes to the worker.
  kept_message content;
  /// What reads of the key get meanwhile.
  kept_message value;
  std::int32_t priority = 0;
};

/// Acknowledged writes that the worker does not have yet, the last one of each
/// key, and when they are due. Decides nothing about calls.
///
/// A key is flushed `flush_after` after the first of its writes that the worker
/// lacks. At most `flushes` flushes are in progress at once. After one that
/// failed, the next one starts `flush_backoff` later, and there is one at a
/// time until one succeeds. The wait of the key that failed doubles with each
/// consecutive failure, up to 32 times `flush_backoff`.
///
/// Every operation takes time logarithmic in the number of keys.
class cache_writes {
public:
  /// What the end of a flush means for its key.
  struct result {
    std::string key;
    /// Whether the worker has all of its writes. Only then the rest is set.
    bool clean = false;
    /// The worker's value now; null if it is not known.
    kept_message value = {};
    /// Calls that waited for this, in order.
    std::list<call_id> waiting = {};
  };

  /// A call's place among those that wait.
  using place = std::list<call_id>::iterator;

  // -- writes -----------------------------------------------------------------

  /// Whether the worker lacks a write of this key.
  [[nodiscard]] bool holds(std::string_view key) const;

  /// What reads of the key get; null if the worker lacks nothing of it.
  [[nodiscard]] const kept_message* value(std::string_view key) const;

  /// Whether a write may be acknowledged: no other one has been waiting for
  /// `staleness`, there is room, and no call waits for the key.
  [[nodiscard]] bool accepts(const cache_config& c, std::string_view key,
                             time_point now) const;

  /// Takes a write that is accepted. Returns whether it replaces one that was
  /// not sent.
  bool put(const cache_config& c, const std::string& key, cache_write x,
           time_point now);

  /// The call waits until the worker lacks nothing of the key, which it does
  /// now. The key is due at once.
  place wait(std::string_view key, call_id call, time_point now);

  /// It no longer waits.
  void leave(std::string_view key, place at);

  /// All keys are due at once, and those to come.
  void hurry(time_point now);

  /// Keys to come are due after their time again.
  void take_time() noexcept { hurried_ = false; }

  // -- flushes ----------------------------------------------------------------

  /// When the next flush may start; `never` if there is none to start before
  /// another one ends.
  [[nodiscard]] time_point due(const cache_config& c) const;

  /// The key that is due first, and its write. Only if there is one.
  [[nodiscard]] const std::string& next_key() const;
  [[nodiscard]] const cache_write& next_write() const;

  /// That write has been sent, as this child.
  void sent(call_id child);

  /// Whether this child is a flush.
  [[nodiscard]] bool is_flush(call_id child) const {
    return flushes_.contains(child);
  }

  /// What the flush sends.
  [[nodiscard]] kept_message content(call_id child) const;

  /// The flush has ended: the worker has the write; it will be repeated; it is
  /// given up.
  result written(call_id child, const cache_config& c, time_point now);
  void failed(call_id child, const cache_config& c, time_point now);

  /// The worker has answered the flush with an error. Returns how often in a
  /// row it has done so to what the flush sends.
  std::uint32_t refused(call_id child);
  result lost(call_id child, const cache_config& c, time_point now);

  // -- sizes ------------------------------------------------------------------

  /// Keys for which the worker lacks a write.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] std::size_t in_flight() const noexcept {
    return flushes_.size();
  }

private:
  struct entry;
  using entry_map = std::map<std::string, entry, std::less<>>;

  // Ordered by time, and then by age, so that nothing depends on addresses.
  struct turn {
    time_point at;
    std::uint64_t number;
    entry_map::iterator entry;

    friend bool operator<(const turn& a, const turn& b) {
      return a.at != b.at ? a.at < b.at : a.number < b.number;
    }
  };

  struct entry {
    // The last write; its content is null while it is being flushed.
    cache_write latest;
    // The write in flight, if `child` is not 0.
    kept_message sending;
    call_id child = 0;
    // When the oldest write came that the worker lacks, and the oldest one that
    // is not in progress.
    time_point since;
    time_point newer_since;
    time_point due;
    std::uint32_t failures = 0;
    // Of what is in progress or was tried last.
    std::uint32_t refusals = 0;
    std::uint64_t number = 0;
    std::list<call_id> waiting;
  };

  [[nodiscard]] static turn oldest_turn(entry_map::iterator i) {
    return {i->second.since, i->second.number, i};
  }
  [[nodiscard]] static turn due_turn(entry_map::iterator i) {
    return {i->second.due, i->second.number, i};
  }

  void set_due(entry_map::iterator i, time_point at);
  void set_since(entry_map::iterator i, time_point at);
  entry_map::iterator end_flush(call_id child);
  result finish(entry_map::iterator i, const cache_config& c, time_point now);

  entry_map entries_;
  std::set<turn> by_age_;
  // Those that are not in flight.
  std::set<turn> by_due_;
  std::unordered_map<call_id, entry_map::iterator> flushes_;
  time_point paused_until_ = time_point::min();
  // Whether the last flush failed.
  bool careful_ = false;
  // Whether everything is due at once.
  bool hurried_ = false;
  std::uint64_t numbers_ = 0;
};

} // namespace caisson::detail
