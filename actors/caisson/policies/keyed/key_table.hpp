// The keys of a keyed policy, with what each has.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/base/linked.hpp>
#include <caisson/base/random.hpp>
#include <caisson/base/sip_hash.hpp>
#include <caisson/base/timer_queue.hpp>
#include <caisson/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace caisson::detail {

struct by_age;
struct by_use;
struct key_entry;

using key_timers = timer_queue<key_entry*>;

/// One key and its policy.
struct key_entry : link<by_age>, link<by_use> {
  key_entry(std::string k, std::unique_ptr<policy> p)
    : key(std::move(k)), machine(std::move(p)) {}

  std::string key;
  std::unique_ptr<policy> machine;
  /// Grows from entry to entry, in the order in which they were made.
  std::int64_t number = 0;
  /// The last change for all keys that its policy knows, and how many resets
  /// there had been when it was last in use.
  std::uint64_t epoch = 0;
  std::uint64_t life = 0;
  /// When it was used last, by a call that came or went.
  time_point used = time_point::min();
  /// The instant for which its wake-up is set, and the timer of that.
  time_point wake_at = never;
  key_timers::handle timer = {};
  /// How many calls it has admitted.
  std::int64_t admitted = 0;
  /// How many calls and children it has now; one more if it holds the host
  /// open.
  std::uint32_t busy = 0;
  bool holds_open = false;
  /// Whether it is among those with calls.
  bool at_work = false;
  /// Whether its circuit was not closed when its last call left.
  bool guarded = false;

  // Where it is in `key_sums`.
  static constexpr std::uint32_t nowhere = 0xffffffff;
  std::uint32_t rank = nowhere;
  std::uint32_t worse = nowhere;
  std::uint32_t fresh = nowhere;
};

/// Not `noexcept`, which keeps the standard library from hashing keys again
/// when it looks through a bucket.
struct key_hash {
  sip_secret secret = {};
  std::size_t operator()(std::string_view key) const {
    return static_cast<std::size_t>(sip_hash(secret, key));
  }
};

/// Finds entries by their key, in constant time whatever the keys are, and
/// lists them in the order in which they were made, as many at a time as one
/// likes.
class key_table {
public:
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  [[nodiscard]] key_entry* find(std::string_view key) {
    // A call that comes back at once, and a key that is busier than all others.
    if (last_ && last_->key == key)
      return last_;
    auto* x = std::as_const(*this).find(key);
    if (x)
      last_ = x;
    return x;
  }

  [[nodiscard]] key_entry* find(std::string_view key) const {
    auto i = entries_.find(key);
    return i != entries_.end() ? i->second.get() : nullptr;
  }

  /// The first one; null if there is none. While entries are being visited, it
  /// may be another one.
  [[nodiscard]] key_entry* front() const noexcept {
    auto& first = visited_->empty() ? *waiting_ : *visited_;
    return first.empty() ? nullptr : &first.front();
  }

  /// Adds an entry whose key is new. The first one draws the secret of the hash
  /// from `random`.
  key_entry& add(std::unique_ptr<key_entry> x, random_source& random) {
    if (!seeded_) {
      auto bits = random.bits();
      entries_ = map(0, key_hash{{bits, mix_seed(bits)}});
      seeded_ = true;
    }
    auto& added = *x;
    added.number = ++last_number_;
    auto is_new = entries_.emplace(std::string_view{added.key}, std::move(x))
                    .second;
    CAISSON_ENSURE(is_new, "a key is added twice");
    visited_->push_back(added);
    return added;
  }

  void erase(key_entry& x) {
    if (last_ == &x)
      last_ = nullptr;
    auto i = entries_.find(std::string_view{x.key});
    CAISSON_ENSURE(i != entries_.end() && i->second.get() == &x,
                   "the key {} is not here", x.key);
    // The key must outlive its place in the map.
    auto last = std::move(i->second);
    entries_.erase(i);
    if (entries_.empty() && entries_.bucket_count() > kept)
      entries_ = map(0, entries_.hash_function());
  }

  // -- visits -----------------------------------------------------------------

  /// From now on `next` gives all entries that are here now.
  /// @pre `next` has returned null
  void visit() noexcept { visited_.swap(waiting_); }

  /// The next one that is still here; null if all have been visited.
  [[nodiscard]] key_entry* next() noexcept {
    if (waiting_->empty())
      return nullptr;
    auto& x = waiting_->pop_front();
    visited_->push_back(x);
    return &x;
  }

  // -- many at once -----------------------------------------------------------

  /// Keeps these entries of its own, in their order. Returns a table with the
  /// others, in time that depends on the number of those that stay.
  key_table split(const std::vector<key_entry*>& stay) {
    key_table rest;
    std::swap(rest, *this);
    last_number_ = rest.last_number_;
    seeded_ = rest.seeded_;
    entries_ = map(0, rest.entries_.hash_function());
    for (auto* x : stay) {
      entries_.insert(rest.entries_.extract(std::string_view{x->key}));
      static_cast<link<by_age>&>(*x).unlink();
      visited_->push_back(*x);
    }
    return rest;
  }

private:
  using map = std::unordered_map<std::string_view, std::unique_ptr<key_entry>,
                                 key_hash>;
  using list = linked_list<key_entry, by_age>;

  // How many places of an empty map are worth keeping.
  static constexpr std::size_t kept = 2048;

  map entries_;
  // The entries that have been visited, and those that have not.
  std::unique_ptr<list> visited_ = std::make_unique<list>();
  std::unique_ptr<list> waiting_ = std::make_unique<list>();
  // The entry that was found last.
  key_entry* last_ = nullptr;
  std::int64_t last_number_ = 0;
  bool seeded_ = false;
};

} // namespace caisson::detail
