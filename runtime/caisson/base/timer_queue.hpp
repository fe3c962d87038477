// Many timers, one wake-up.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/base/index_pool.hpp>
#include <caisson/base/time.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
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
/// one O(1). Timers that are set in the order of their times, such as those of
/// one timeout while a clock goes on, cost O(1): they form a few lanes, which
/// are lists, and only what fits at the end of none goes to a 4-ary heap with
/// back-references. Memory is reused, and given back when none is left.
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

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// When the earliest timer is due; `never` if there is none.
  [[nodiscard]] time_point next() const noexcept { return next_; }

  /// Whether the timer is still set.
  [[nodiscard]] bool contains(handle h) const noexcept {
    return h.node < nodes_.capacity()
           && nodes_[h.node].generation == h.generation
           && nodes_[h.node].position != none;
  }

  /// Sets a timer. One for `never` is kept and never fires.
  handle push(time_point at, Payload payload) {
    auto n = nodes_.take(node{.generation = first_generation_});
    nodes_[n].payload = payload;
    ++size_;
    insert(n, at);
    return {n, nodes_[n].generation};
  }

  /// Takes the timer out. Returns false if it is not set any more.
  bool cancel(handle h) {
    if (!contains(h))
      return false; // Fired or cancelled before: its node serves another timer.
    remove(h.node);
    return true;
  }

  /// Moves the timer to `at`, behind all others that are set for the same
  /// time. Returns false if it is not set any more.
  bool update(handle h, time_point at) {
    if (!contains(h))
      return false; // As in `cancel`.
    take_out(h.node);
    insert(h.node, at);
    return true;
  }

  /// Takes out the earliest timer if it is due at `now`, that is, if its time
  /// is `now` or before, and returns its payload.
  std::optional<Payload> pop_due(time_point now) {
    if (next_ > now || next_ == never)
      return std::nullopt;
    auto [at, sequence, n] = earliest();
    CAISSON_ENSURE(n != none && at == next_, "{} timers, none is the next one",
                   size_);
    auto payload = nodes_[n].payload;
    remove(n);
    return payload;
  }

  /// Takes out all timers.
  void clear() noexcept {
    for (const auto& x : heap_)
      free_node(x.node);
    heap_.clear();
    for (auto& x : lanes_)
      for (auto n = std::exchange(x, {}).first; n != none;) {
        auto following = nodes_[n].next;
        free_node(n);
        n = following;
      }
    next_ = never;
    give_back();
  }

  /// For how many timers there is memory at present.
  [[nodiscard]] std::size_t capacity() const noexcept {
    return nodes_.capacity();
  }

private:
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr std::size_t arity = 4;
  static constexpr std::size_t lanes = 4;
  /// Positions from here on are those of lanes.
  static constexpr std::uint32_t first_lane = none - lanes;

  // The key lies in the heap itself: comparing does not touch the nodes.
  struct entry {
    time_point at;
    std::uint64_t sequence;
    std::uint32_t node;
  };

  struct node {
    // When a timer in a lane is due, and its number.
    time_point at = never;
    std::uint64_t sequence = 0;
    Payload payload{};
    // In the heap, or which lane; `none` if the node is free.
    std::uint32_t position = none;
    // Counts how often the node was freed: this is what makes handles stale.
    std::uint32_t generation = 0;
    // In its lane, and in the pool.
    std::uint32_t next = none;
    std::uint32_t previous = none;
  };

  // Timers in the order of their times, and of `sequence` if these are equal.
  struct lane {
    // Of the last one, so that those that do not fit are seen at once.
    time_point end = never;
    std::uint32_t first = none;
    std::uint32_t last = none;
  };

  static bool earlier(const entry& a, const entry& b) noexcept {
    return a.at != b.at ? a.at < b.at : a.sequence < b.sequence;
  }

  void insert(std::uint32_t n, time_point at) {
    next_ = std::min(next_, at);
    if (auto k = lane_for(at); k != lanes)
      return append(k, n, at);
    heap_.push_back({at, sequence_++, n});
    sift_up(heap_.size() - 1);
  }

  // The lane whose last timer is the latest one that is not after `at`, else an
  // empty one.
  [[nodiscard]] std::size_t lane_for(time_point at) const noexcept {
    if (at == never)
      return lanes;
    auto best = lanes;
    for (std::size_t k = 0; k < lanes; ++k) {
      if (lanes_[k].first == none) {
        if (best == lanes)
          best = k;
      } else if (lanes_[k].end <= at
                 && (best == lanes || lanes_[best].first == none
                     || lanes_[k].end > lanes_[best].end)) {
        best = k;
      }
    }
    return best;
  }

  void append(std::size_t k, std::uint32_t n, time_point at) noexcept {
    auto& x = lanes_[k];
    auto& added = nodes_[n];
    added.at = at;
    added.sequence = sequence_++;
    added.position = first_lane + static_cast<std::uint32_t>(k);
    added.previous = x.last;
    added.next = none;
    (x.last == none ? x.first : nodes_[x.last].next) = n;
    x.last = n;
    x.end = at;
  }

  // @pre there is a timer that is not for `never`
  [[nodiscard]] entry earliest() const noexcept {
    auto best = heap_.empty() ? entry{never, 0, none} : heap_.front();
    for (const auto& x : lanes_)
      if (x.first != none) {
        const auto& candidate = nodes_[x.first];
        entry e{candidate.at, candidate.sequence, x.first};
        if (earlier(e, best))
          best = e;
      }
    return best;
  }

  void find_next() noexcept {
    next_ = heap_.empty() ? never : heap_.front().at;
    for (const auto& x : lanes_)
      if (x.first != none)
        next_ = std::min(next_, nodes_[x.first].at);
  }

  void free_node(std::uint32_t n) noexcept {
    nodes_[n].position = none;
    ++nodes_[n].generation;
    nodes_.put_back(n);
    --size_;
  }

  void remove(std::uint32_t n) {
    take_out(n);
    free_node(n);
    give_back();
  }

  void take_out(std::uint32_t n) {
    auto i = nodes_[n].position;
    auto first = i >= first_lane ? leave_lane(n, i - first_lane)
                                 : leave_heap(n, i);
    if (first)
      find_next();
  }

  // Return whether it was the first one there.

  bool leave_lane(std::uint32_t n, std::size_t k) {
    auto& x = lanes_[k];
    const auto& out = nodes_[n];
    auto& before = out.previous == none ? x.first : nodes_[out.previous].next;
    auto& after = out.next == none ? x.last : nodes_[out.next].previous;
    CAISSON_ENSURE(before == n && after == n,
                   "timer {} is not linked in lane {}", n, k);
    before = out.next;
    after = out.previous;
    if (out.next == none && out.previous != none)
      x.end = nodes_[out.previous].at;
    return out.previous == none;
  }

  bool leave_heap(std::uint32_t n, std::size_t i) {
    CAISSON_ENSURE(i < heap_.size() && heap_[i].node == n,
                   "timer {} is not at place {} of {}", n, i, heap_.size());
    auto last = heap_.back();
    heap_.pop_back();
    if (i < heap_.size()) {
      place(i, last);
      restore(i);
    }
    return i == 0;
  }

  // After a peak. Handles of timers that are gone stay stale.
  void give_back() noexcept {
    if (size_ > 0 || !nodes_.oversized())
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
  std::array<lane, lanes> lanes_{};
  detail::index_pool<node> nodes_;
  std::size_t size_ = 0;
  time_point next_ = never;
  std::uint64_t sequence_ = 0;
  // The generation of new nodes: larger than any that was given back.
  std::uint32_t first_generation_ = 0;
};

} // namespace caisson
