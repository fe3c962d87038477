// Set of the free places of a table; finds the lowest one.
#pragma once

#include <caisson/base/ensure.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace caisson::detail {

/// A set of numbers below `size()` that gives its smallest member. Each
/// operation looks at one word in each of four levels: a bit of a level says
/// whether the word below it has a bit that is set.
class free_set {
public:
  static constexpr std::size_t word = 64;
  static constexpr std::size_t levels = 4;
  /// At most so many numbers.
  static constexpr std::size_t capacity = word * word * word * word;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept {
    return levels_[levels - 1].empty() || levels_[levels - 1][0] == 0;
  }

  /// Adds numbers to the universe, or takes the highest ones away; new numbers
  /// are not in the set.
  /// @pre size <= capacity; no number that goes is in the set
  void resize(std::size_t size) {
    CAISSON_ENSURE(size <= capacity, "{} numbers, {} at most", size, capacity);
    size_ = size;
    for (auto& level : levels_) {
      size = (size + word - 1) / word;
      level.resize(size);
      if (level.capacity() > 4 * size + word)
        level.shrink_to_fit();
    }
  }

  /// The smallest number in the set. @pre !empty()
  [[nodiscard]] std::size_t front() const noexcept {
    if (levels_[0][0] != 0)
      return static_cast<std::size_t>(std::countr_zero(levels_[0][0]));
    std::size_t at = 0;
    for (auto level = levels; level-- > 0;)
      at = at * word
           + static_cast<std::size_t>(std::countr_zero(levels_[level][at]));
    return at;
  }

  /// @pre it is not in the set
  void insert(std::size_t n) {
    CAISSON_ENSURE(n < size_ && bits(n, 1) == 0, "{} of {} becomes free twice",
                   n, size_);
    for (auto& level : levels_) {
      auto before = level[n / word];
      level[n / word] = before | std::uint64_t{1} << n % word;
      // The levels above say already that the word is not empty.
      if (before != 0)
        return;
      n /= word;
    }
  }

  /// @pre it is in the set
  void erase(std::size_t n) {
    CAISSON_ENSURE(n < size_ && bits(n, 1) == 1, "{} of {} is not free", n,
                   size_);
    for (auto& level : levels_) {
      level[n / word] &= ~(std::uint64_t{1} << n % word);
      // The word is not empty: the levels above say so already.
      if (level[n / word] != 0)
        return;
      n /= word;
    }
  }

  /// The `count` bits from `n` on, at most a word of them.
  /// @pre `count` divides 64 and `n` is a multiple of it
  [[nodiscard]] std::uint64_t bits(std::size_t n,
                                   std::size_t count) const noexcept {
    auto mask = count == word ? ~std::uint64_t{0}
                              : (std::uint64_t{1} << count) - 1;
    return levels_[0][n / word] >> n % word & mask;
  }

private:
  std::size_t size_ = 0;
  std::array<std::vector<std::uint64_t>, levels> levels_;
};

} // namespace caisson::detail
