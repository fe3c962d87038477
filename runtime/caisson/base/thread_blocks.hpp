// Memory for small objects of which each call needs some.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

namespace caisson::detail {

/// Blocks of memory that objects of up to `largest` bytes have left, for those
/// that come next in the same thread: some 20 instructions in place of 200.
/// A thread keeps at most `most` of each of four sizes, and gives them back as
/// it ends. An object may be freed by another thread than it was made by.
///
///     static void* operator new(std::size_t n) {
///       return thread_blocks::take(n);
///     }
///     static void operator delete(void* p, std::size_t n) noexcept {
///       thread_blocks::give_back(p, n);
///     }
class thread_blocks {
public:
  static constexpr std::size_t largest = 256; ///< In bytes.
  static constexpr std::uint32_t most = 64;   ///< Of each size.

  /// Whether it keeps any. Not under AddressSanitizer, which is to catch who
  /// uses what was freed.
#if defined(__SANITIZE_ADDRESS__)
  static constexpr bool pools = false;
#elif defined(__has_feature)
  static constexpr bool pools = !__has_feature(address_sanitizer);
#else
  static constexpr bool pools = true;
#endif

  /// Memory for an object of `n` bytes.
  static void* take(std::size_t n) {
    if (pools && n <= largest) {
      auto& x = lists[index_of(n)];
      if (auto* p = x.first) [[likely]] {
        x.first = p->next;
        --x.size;
        return p;
      }
    }
    return ::operator new(size_of(n));
  }

  /// Takes back what `take(n)` has given.
  static void give_back(void* p, std::size_t n) noexcept {
    if (pools && n <= largest) {
      auto& x = lists[index_of(n)];
      if (x.size < x.most) [[likely]] {
        x.first = new (p) block{x.first};
        ++x.size;
        return;
      }
      if (!x.known)
        return give_back_first(p, n);
    }
    ::operator delete(p);
  }

  /// How many blocks the thread keeps for objects of `n` bytes.
  [[nodiscard]] static std::uint32_t kept(std::size_t n) noexcept {
    return n <= largest ? lists[index_of(n)].size : 0;
  }

private:
  static constexpr std::size_t step = 64;

  struct block {
    block* next;
  };

  // Can be used at any time in the life of a thread, as it needs neither a
  // constructor nor a destructor: `most` is 0 before the first block comes back
  // and after the thread's end has begun.
  struct list {
    block* first = nullptr;
    std::uint32_t size = 0;
    std::uint32_t most = 0;
    bool known = false;
  };

  using all = std::array<list, largest / step>;

  static constexpr std::size_t index_of(std::size_t n) noexcept {
    return (n - 1) / step;
  }

  static constexpr std::size_t size_of(std::size_t n) noexcept {
    return n <= largest ? (index_of(n) + 1) * step : n;
  }

  // The first block of the thread: from now on they are kept until it ends.
  static void give_back_first(void* p, std::size_t n) noexcept;

  struct at_thread_end {
    ~at_thread_end() {
      for (auto& x : lists) {
        x.most = x.size = 0;
        while (auto* b = x.first) {
          x.first = b->next;
          ::operator delete(b);
        }
      }
    }
  };

  static thread_local constinit all lists;
};

inline thread_local constinit thread_blocks::all thread_blocks::lists{};

[[gnu::cold]] inline void
thread_blocks::give_back_first(void* p, std::size_t n) noexcept {
  for (auto& x : lists) {
    x.known = true;
    x.most = most;
  }
  // Is destroyed at the thread's end.
  [[maybe_unused]] thread_local const at_thread_end cleaner;
  give_back(p, n);
}

} // namespace caisson::detail
