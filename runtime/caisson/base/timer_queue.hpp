// Many timers, one wake-up.
#pragma once

#include <caisson/base/index_pool.hpp>
#include <caisson/base/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

namespace caisson {

/// A queue of timers ordered by time; equal times fire in the order in which
/// they were set, so that a run is the same each time. Each timer carries a
/// `Payload` that says what it is for.
///
/// A timer that is not needed any more is taken out on the spot, and leaves
/// nothing behind that fires late. A handle names its timer for ever: once the
/// timer has fired or was cancelled, the handle is stale, and using it is safe
/// and does nothing.
///
/// Setting, moving and taking out a timer cost O(log n), the time of the next
/// one O(1). Memory is reused, and given back when none is left. The structure
/// is a 4-ary heap with back-references: shallower than a binary heap, and the
/// four children lie side by side in memory.
template <class Payload>
class timer_queue {
  static_assert(std::is_trivially_copyable_v<Payload>);

public:
  /// Names a timer. A default-constructed handle names none.
  struct handle {
    std::uint32_t node = none;
    std::uint32_t generation = 0;

    friend bool operator==(const handle&, const handle&) = default;
  };

  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }

  /// When the earliest timer is due; `never` if there is none.
  [[nodiscard]] time_point next() const noexcept {
    return heap_.empty() ? never : heap_.front().at;
  }

  /// Whether the timer is still set.
  [[nodiscard]] bool contains(handle h) const noexcept {
    return h.node < nodes_.capacity()
           && nodes_[h.node].generation == h.generation
           && nodes_[h.node].position != none;
  }

  /// Sets a timer. One for `never` is kept and never fires.
  handle push(time_point at, Payload payload) {
    auto n = nodes_.take(node{{}, none, first_generation_, none});
    nodes_[n].payload = payload;
    heap_.push_back({at, sequence_++, n});
    sift_up(heap_.size() - 1);
    return {n, nodes_[n].generation};
  }

  /// Takes the timer out. Returns false if it is not set any more.
  bool cancel(handle h) {
    if (!contains(h))
      return false; // Fired or cancelled before: its node serves another timer.
    remove(nodes_[h.node].position);
    return true;
  }

  /// Moves the timer to `at`, behind all others that are set for the same
  /// time. Returns false if it is not set any more.
  bool update(handle h, time_point at) {
    if (!contains(h))
      return false; // As in `cancel`.
    auto i = nodes_[h.node].position;
    heap_[i].at = at;
    heap_[i].sequence = sequence_++;
    restore(i);
    return true;
  }

  /// Takes out the earliest timer if it is due at `now`, that is, if its time
  /// is `now` or before, and returns its payload.
  std::optional<Payload> pop_due(time_point now) {
    if (heap_.empty() || heap_.front().at > now || heap_.front().at == never)
      return std::nullopt;
    auto payload = nodes_[heap_.front().node].payload;
    remove(0);
    return payload;
  }

  /// Takes out all timers.
  void clear() noexcept {
    for (const auto& x : heap_)
      free_node(x.node);
    heap_.clear();
    give_back();
  }

  /// For how many timers there is memory at present.
  [[nodiscard]] std::size_t capacity() const noexcept {
    return nodes_.capacity();
  }

private:
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr std::size_t arity = 4;

  // The key lies in the heap itself: comparing does not touch the nodes.
  struct entry {
    time_point at;
    std::uint64_t sequence;
    std::uint32_t node;
  };

  struct node {
    Payload payload{};
    // In the heap; `none` if the node is free.
    std::uint32_t position = none;
    // Counts how often the node was freed: this is what makes handles stale.
    std::uint32_t generation = 0;
    std::uint32_t next = none;
  };

  static bool earlier(const entry& a, const entry& b) noexcept {
    return a.at != b.at ? a.at < b.at : a.sequence < b.sequence;
  }

  void free_node(std::uint32_t n) noexcept {
    nodes_[n].position = none;
    ++nodes_[n].generation;
    nodes_.put_back(n);
  }

  void remove(std::size_t i) noexcept {
    free_node(heap_[i].node);
    auto last = heap_.back();
    heap_.pop_back();
    if (i < heap_.size()) {
      place(i, last);
      restore(i);
    }
    give_back();
  }

  // After a peak. Handles of timers that are gone stay stale.
  void give_back() noexcept {
    if (!heap_.empty() || !nodes_.oversized())
      return;
    for (std::uint32_t n = 0; n < nodes_.capacity(); ++n)
      first_generation_ = std::max(first_generation_, nodes_[n].generation);
    heap_ = {};
    nodes_.release();
  }

  void place(std::size_t i, const entry& x) noexcept {
    heap_[i] = x;
    nodes_[x.node].position = static_cast<std::uint32_t>(i);
  }

  void restore(std::size_t i) noexcept {
    if (i > 0 && earlier(heap_[i], heap_[(i - 1) / arity]))
      sift_up(i);
    else
      sift_down(i);
  }

  void sift_up(std::size_t i) noexcept {
    auto x = heap_[i];
    while (i > 0) {
      auto parent = (i - 1) / arity;
      if (!earlier(x, heap_[parent]))
        break;
      place(i, heap_[parent]);
      i = parent;
    }
    place(i, x);
  }

  void sift_down(std::size_t i) noexcept {
    auto x = heap_[i];
    for (;;) {
      auto first = i * arity + 1;
      if (first >= heap_.size())
        break;
      auto best = first;
      auto end = std::min(first + arity, heap_.size());
      for (auto child = first + 1; child < end; ++child)
        if (earlier(heap_[child], heap_[best]))
          best = child;
      if (!earlier(heap_[best], x))
        break;
      place(i, heap_[best]);
      i = best;
    }
    place(i, x);
  }

  std::vector<entry> heap_;
  detail::index_pool<node> nodes_;
  std::uint64_t sequence_ = 0;
  // Of new nodes: larger than any that was given back.
  std::uint32_t first_generation_ = 0;
};

} // namespace caisson
