// A list from whose middle entries can be taken.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/base/index_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace caisson {

/// A doubly linked list in one vector: push at the back, take from either end
/// or, by handle, from the middle, each in constant time. Memory is reused,
/// never exceeds the largest number of entries held at once, and is given back
/// when the list is empty. Entries that are taken out leave nothing behind.
template <class T>
class pooled_list {
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
    return h < nodes_.capacity() ? &nodes_[h].value : nullptr;
  }

  [[nodiscard]] T& operator[](handle h) noexcept { return nodes_[h].value; }
  [[nodiscard]] const T& operator[](handle h) const noexcept {
    return nodes_[h].value;
  }

  /// Appends `value`; the handle stays valid until `erase`.
  handle push_back(T value) {
    auto h = nodes_.take();
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
    CAISSON_ENSURE(size_ > 0 && h < nodes_.capacity(),
                   "entry {} is taken out of a list of {}", h, size_);
    auto& n = nodes_[h];
    (n.prev == none ? head_ : nodes_[n.prev].next) = n.next;
    (n.next == none ? tail_ : nodes_[n.next].prev) = n.prev;
    auto value = std::exchange(n.value, T{});
    nodes_.put_back(h);
    if (--size_ == 0 && nodes_.oversized())
      nodes_.release();
    return value;
  }

  /// For how many entries there is memory at present.
  [[nodiscard]] std::size_t capacity() const noexcept {
    return nodes_.capacity();
  }

private:
  struct node {
    T value{};
    handle prev = none;
    handle next = none;
  };

  detail::index_pool<node> nodes_;
  handle head_ = none;
  handle tail_ = none;
  std::size_t size_ = 0;
};

} // namespace caisson
