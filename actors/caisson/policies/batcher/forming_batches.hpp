// The forming batches of a batcher, by shard.
#pragma once

#include <caisson/base/pooled_list.hpp>
#include <caisson/base/time.hpp>
#include <caisson/base/timer_queue.hpp>
#include <caisson/policies/batcher/content_map.hpp>
#include <caisson/policies/batcher/forming_batch.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace caisson::detail {

/// A forming batch for each shard that has items, and their order: each is due
/// at some instant, or has become due and is in a queue. Nothing here looks at
/// all of them.
class forming_batches {
public:
  using handle = std::uint32_t;
  static constexpr handle none = 0xffffffff;

  /// How many have items.
  [[nodiscard]] std::size_t size() const noexcept {
    return timers_.size() + queue_.size();
  }

  /// When the next one becomes due of those that are not yet.
  [[nodiscard]] time_point next_due() const noexcept { return timers_.next(); }

  /// Whether that shard has items.
  [[nodiscard]] bool contains(const std::string& key) const;

  /// The batch of that shard; null if there is none. It may be empty.
  [[nodiscard]] const forming_batch* of_shard(const std::string& key) const;

  /// The batch of that shard. An item is about to be added to it, and `note`
  /// called.
  handle at(const std::string& key) {
    return key.empty() && unnamed_ != none ? unnamed_ : find_or_add(key);
  }

  /// Null if there is none. The handle of one that is gone may be that of
  /// another one by now.
  [[nodiscard]] forming_batch* find(handle h) const noexcept {
    auto* x = find_entry(h);
    return x ? &x->batch : nullptr;
  }
  forming_batch& operator[](handle h) const noexcept {
    return find_entry(h)->batch;
  }

  /// The batch has changed: it is due then. One without items is dropped.
  void note(handle h, time_point due, time_point now) {
    const auto& x = *find_entry(h);
    // Usual: a further item does not change when it is due.
    if (x.timed_for != due || due <= now || x.batch.empty())
      reorder(h, due, now);
  }

  /// Queues the batches that are due by `now`, in that order.
  void queue_due(time_point now) {
    if (timers_.next() <= now)
      queue_timers(now);
  }

  [[nodiscard]] bool has_queued() const noexcept { return !queue_.empty(); }

  /// Takes the first batch out of the queue; `none` if that is empty. `note`
  /// must be called for the batch.
  handle take_queued();

  /// Takes the batch that becomes due next, as `take_queued` does.
  handle take_earliest();

  /// Calls `f` with the handle of each. It may call `note`.
  template <class F>
  void for_each(F f) {
    for (auto h = entries_.front(); h != none;) {
      auto next = entries_.next(h);
      f(h);
      h = next;
    }
  }

private:
  using timers = timer_queue<handle>;
  static constexpr time_point not_timed = time_point::min();

  struct entry {
    forming_batch batch;
    /// The key of `known_`; null for the empty one.
    const std::string* key = nullptr;
    timers::handle timer;
    /// What the timer is set for; the earliest instant if it is not.
    time_point timed_for = not_timed;
    /// Its place in the queue.
    handle queued = none;
  };

  [[nodiscard]] entry* find_entry(handle h) const noexcept {
    const auto* x = entries_.find(h);
    return x ? x->get() : nullptr;
  }
  handle find_or_add(const std::string& key);
  void reorder(handle h, time_point due, time_point now);
  void queue_timers(time_point now);
  void drop(handle h);
  void cancel_timer(entry& x);

  pooled_list<std::unique_ptr<entry>> entries_;
  content_map<handle> known_;
  // The batch of the shard with the empty key: kept, since it may be the only
  // one.
  handle unnamed_ = none;
  timers timers_;
  pooled_list<handle> queue_;
};

} // namespace caisson::detail
