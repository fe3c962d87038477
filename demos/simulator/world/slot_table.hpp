// Pool of reused records, found by keys that are never used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace caisson::sim {

/// A table of records that are reused. A record's address stays the same while
/// it is in use; the key of a record that was given back finds nothing.
template <class T>
class slot_table {
public:
  using key = std::uint64_t;

  /// Keys fit into so many bits, as `interceptor::forward` wants them.
  static constexpr unsigned key_bits = 59;
  static constexpr unsigned index_bits = 28;

  /// A new record and its key, which is not 0.
  std::pair<key, T*> take() {
    if (free_.empty()) {
      slots_.emplace_back();
      free_.push_back(slots_.size() - 1);
    }
    auto index = free_.back();
    free_.pop_back();
    auto& s = slots_[index];
    s.used = true;
    s.generation = (s.generation + 1) & generation_mask;
    ++size_;
    return {(s.generation << index_bits) | index, &s.value};
  }

  [[nodiscard]] T* find(key k) {
    auto index = k & index_mask;
    if (index >= slots_.size())
      return nullptr;
    auto& s = slots_[index];
    return s.used && s.generation == k >> index_bits ? &s.value : nullptr;
  }

  /// Gives the record back. Does nothing if the key finds nothing.
  void put_back(key k) {
    if (!find(k))
      return;
    auto& s = slots_[k & index_mask];
    s.value = T{};
    s.used = false;
    free_.push_back(k & index_mask);
    --size_;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The keys of all records, in the order of their indexes.
  [[nodiscard]] std::vector<key> keys() const {
    std::vector<key> out;
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].used)
        out.push_back((slots_[i].generation << index_bits) | i);
    return out;
  }

private:
  static constexpr key index_mask = (key{1} << index_bits) - 1;
  static constexpr key generation_mask = (key{1} << (key_bits - index_bits))
                                         - 1;

  struct slot {
    T value{};
    key generation = 0;
    bool used = false;
  };

  std::deque<slot> slots_;
  std::vector<std::size_t> free_;
  std::size_t size_ = 0;
};

} // namespace caisson::sim
