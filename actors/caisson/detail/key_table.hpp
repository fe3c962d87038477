// The keys of a keyed policy, with what each has.
#pragma once

#include <caisson/detail/linked.hpp>
#include <caisson/detail/sip_hash.hpp>
#include <caisson/detail/timer_queue.hpp>
#include <caisson/policy.hpp>
#include <caisson/random.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

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
  /// When it was used last, by a call that came or went.
  time_point used = time_point::min();
  /// For when its wake-up is set, and with what.
  time_point wake_at = never;
  key_timers::handle timer = {};
  /// How many calls it has admitted.
  std::int64_t admitted = 0;
  /// How many calls and children it has now; one more if it holds the host
  /// open.
  std::uint32_t busy = 0;
  bool holds_open = false;
  /// Whether its circuit was not closed when its last call left.
  bool guarded = false;
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
/// lists them in the order in which they were made.
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

  /// Adds an entry whose key is new. The first one draws the secret of the hash
  /// from `random`.
  key_entry& add(std::unique_ptr<key_entry> x, random_source& random) {
    if (!seeded_) {
      auto bits = random.bits();
      entries_ = map(0, key_hash{{bits, mix_seed(bits)}});
      seeded_ = true;
    }
    auto& added = *x;
    entries_.emplace(std::string_view{added.key}, std::move(x));
    all_.push_back(added);
    return added;
  }

  void erase(key_entry& x) {
    if (last_ == &x)
      last_ = nullptr;
    auto i = entries_.find(std::string_view{x.key});
    // The key must outlive its place in the map.
    auto last = std::move(i->second);
    entries_.erase(i);
    if (entries_.empty() && entries_.bucket_count() > kept)
      entries_ = map(0, entries_.hash_function());
  }

  template <class F>
  void for_each(F f) {
    all_.for_each(f);
  }

  template <class F>
  void for_each(F f) const {
    all_.for_each(f);
  }

private:
  using map = std::unordered_map<std::string_view, std::unique_ptr<key_entry>,
                                 key_hash>;

  // How many places of an empty map are worth keeping.
  static constexpr std::size_t kept = 2048;

  map entries_;
  linked_list<key_entry, by_age> all_;
  // That which was found last.
  key_entry* last_ = nullptr;
  bool seeded_ = false;
};

} // namespace caisson::detail
