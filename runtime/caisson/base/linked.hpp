// Intrusive lists: the links are part of the items.
#pragma once

#include <utility>

namespace caisson::detail {

/// What a class derives from to be in a `linked_list` of the same tag: at most
/// one at a time. A copy is in no list, and assignment changes nothing, so that
/// the rest of an object can be assigned.
template <class Tag>
class link {
public:
  link() noexcept = default;
  link(const link&) noexcept {}
  link& operator=(const link&) noexcept { return *this; }
  ~link() { unlink(); }

  [[nodiscard]] bool linked() const noexcept { return next_ != this; }

  /// Takes it out of its list, if it is in one.
  void unlink() noexcept {
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = this;
  }

private:
  template <class, class>
  friend class linked_list;

  link* prev_ = this;
  link* next_ = this;
};

/// A list of objects that it does not own, in the order in which they were
/// added. Every operation takes constant time and allocates nothing. An object
/// that is destroyed leaves its list.
template <class T, class Tag>
class linked_list {
public:
  linked_list() noexcept = default;

  /// The objects change over to the new list.
  linked_list(linked_list&& other) noexcept { take(other); }
  linked_list& operator=(linked_list&&) = delete;

  ~linked_list() {
    while (!empty())
      head_.next_->unlink();
  }

  [[nodiscard]] bool empty() const noexcept { return !head_.linked(); }

  /// The object that was added first. @pre !empty()
  [[nodiscard]] T& front() noexcept { return static_cast<T&>(*head_.next_); }

  [[nodiscard]] const T& front() const noexcept {
    return static_cast<const T&>(*head_.next_);
  }

  /// Adds an object that is in no list of this tag.
  void push_back(T& x) noexcept {
    link<Tag>& l = x;
    l.prev_ = head_.prev_;
    l.next_ = &head_;
    head_.prev_->next_ = &l;
    head_.prev_ = &l;
  }

  /// Takes out the object that was added first. @pre !empty()
  T& pop_front() noexcept {
    auto& x = front();
    static_cast<link<Tag>&>(x).unlink();
    return x;
  }

  /// Calls `f` with each object, in order. `f` may take out the one that it
  /// gets, and no other.
  template <class F>
  void for_each(F f) {
    for (auto* x = head_.next_; x != &head_;) {
      auto* next = x->next_;
      f(static_cast<T&>(*x));
      x = next;
    }
  }

  template <class F>
  void for_each(F f) const {
    for (const link<Tag>* x = head_.next_; x != &head_; x = x->next_)
      f(static_cast<const T&>(*x));
  }

private:
  void take(linked_list& other) noexcept {
    if (other.empty())
      return;
    head_.prev_ = other.head_.prev_;
    head_.next_ = other.head_.next_;
    head_.prev_->next_ = &head_;
    head_.next_->prev_ = &head_;
    other.head_.prev_ = other.head_.next_ = &other.head_;
  }

  link<Tag> head_;
};

} // namespace caisson::detail
