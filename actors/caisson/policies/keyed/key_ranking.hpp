// Orders entries of keys by a weight that changes.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/policies/keyed/key_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

namespace caisson::detail {

/// Those with the largest weights are first, and equal ones by name. An entry
/// keeps its place in its member `Place`; it must leave before it ends.
///
/// Adding, changing and removing take O(log n), a change that leaves the order
/// as it is O(1). The first k are found in O(k log k).
template <std::uint32_t key_entry::*Place>
class key_ranking {
public:
  struct item {
    std::int64_t weight;
    key_entry* entry;

    /// Whether this one comes before the other.
    [[nodiscard]] bool leads(const item& other) const noexcept {
      return weight != other.weight ? weight > other.weight
                                    : entry->key < other.entry->key;
    }
  };

  /// Adds the entry, or changes its weight.
  void set(key_entry& x, std::int64_t weight) {
    if (x.*Place == key_entry::nowhere) {
      x.*Place = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({weight, &x});
    } else if (heap_[x.*Place].weight == weight) {
      return;
    }
    restore({weight, &x}, x.*Place);
  }

  /// Removes the entry, if it is here.
  void erase(key_entry& x) {
    auto at = std::exchange(x.*Place, key_entry::nowhere);
    if (at == key_entry::nowhere)
      return;
    CAISSON_ENSURE(at < heap_.size() && heap_[at].entry == &x,
                   "place {} of {} is not that of the key {}", at, heap_.size(),
                   x.key);
    auto last = heap_.back();
    heap_.pop_back();
    if (at < heap_.size())
      restore(last, at);
  }

  /// Forgets all entries, which keep a place that means nothing.
  void clear() noexcept { heap_ = {}; }

  /// Appends the first `n` for which `counts` is true, in order.
  template <class F>
  void list_first(std::size_t n, F counts, std::vector<item>& out) const {
    auto later = [this](std::size_t a, std::size_t b) {
      return heap_[b].leads(heap_[a]);
    };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)>
      next{later};
    if (!heap_.empty())
      next.push(0);
    while (n > 0 && !next.empty()) {
      auto i = next.top();
      next.pop();
      if (counts(*heap_[i].entry)) {
        out.push_back(heap_[i]);
        --n;
      }
      auto end = std::min(i * arity + 1 + arity, heap_.size());
      for (auto child = i * arity + 1; child < end; ++child)
        next.push(child);
    }
  }

private:
  static constexpr std::size_t arity = 4;

  void place(std::size_t i, const item& x) noexcept {
    heap_[i] = x;
    x.entry->*Place = static_cast<std::uint32_t>(i);
  }

  // Puts `x` where it belongs; the place `i` is free for it.
  void restore(const item& x, std::size_t i) noexcept {
    for (; i > 0 && x.leads(heap_[(i - 1) / arity]); i = (i - 1) / arity)
      place(i, heap_[(i - 1) / arity]);
    for (;;) {
      auto best = i * arity + 1;
      auto end = std::min(best + arity, heap_.size());
      for (auto child = best + 1; child < end; ++child)
        if (heap_[child].leads(heap_[best]))
          best = child;
      if (best >= end || !heap_[best].leads(x))
        break;
      place(i, heap_[best]);
      i = best;
    }
    place(i, x);
  }

  std::vector<item> heap_;
};

} // namespace caisson::detail
