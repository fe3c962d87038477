// A queue from whose middle entries can be taken.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace caisson {

/// A doubly linked list in one vector: push at the back, take from either end
/// or, by handle, from the middle, each in constant time. Memory is reused,
/// never exceeds the largest number of entries held at once, and is given back
/// when the list is empty. Entries that are
/// taken out leave nothing behind, so that callers who give up while they wait
/// cost nothing.
template <class T>
class wait_list {
public:
  using handle = std::uint32_t;
  static constexpr handle none = 0xffffffff;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Handles of the oldest and the newest entry; `none` if empty.
  [[nodiscard]] handle front() const noexcept { return head_; }
  [[nodiscard]] handle back() const noexcept { return tail_; }

  /// The next newer entry, or `none`.
  [[nodiscard]] handle next(handle h) const noexcept { return nodes_[h].next; }

  /// The entry `h`, or, if that was taken out, a value-initialised one or the
  /// entry that has its place since; null if there is no such place.
  [[nodiscard]] const T* find(handle h) const noexcept {
    return h < nodes_.size() ? &nodes_[h].value : nullptr;
  }

  [[nodiscard]] T& operator[](handle h) noexcept { return nodes_[h].value; }
  [[nodiscard]] const T& operator[](handle h) const noexcept {
    return nodes_[h].value;
  }

  /// Appends `value`; the handle stays valid until `erase`.
  handle push_back(T value) {
    auto h = take_free();
    auto& n = nodes_[h];
    n.value = std::move(value);
    n.prev = tail_;
    n.next = none;
    (tail_ == none ? head_ : nodes_[tail_].next) = h;
    tail_ = h;
    ++size_;
    return h;
  }

  /// Takes out the entry `h`, which must be in the list.
  T erase(handle h) {
    assert(size_ > 0 && h < nodes_.size());
    auto& n = nodes_[h];
    (n.prev == none ? head_ : nodes_[n.prev].next) = n.next;
    (n.next == none ? tail_ : nodes_[n.next].prev) = n.prev;
    n.next = free_;
    free_ = h;
    auto value = std::exchange(n.value, T{});
    if (--size_ == 0 && nodes_.size() > kept) {
      std::vector<node>{}.swap(nodes_);
      free_ = none;
    }
    return value;
  }

  /// For how many entries there is memory at present.
  [[nodiscard]] std::size_t capacity() const noexcept { return nodes_.size(); }

private:
  // Memory for so many entries is not given back.
  static constexpr std::size_t kept = 1024;

  struct node {
    T value{};
    handle prev = none;
    handle next = none;
  };

  handle take_free() {
    if (free_ == none) {
      nodes_.emplace_back();
      return static_cast<handle>(nodes_.size() - 1);
    }
    return std::exchange(free_, nodes_[free_].next);
  }

  std::vector<node> nodes_;
  handle head_ = none;
  handle tail_ = none;
  handle free_ = none;
  std::size_t size_ = 0;
};

} // namespace caisson
