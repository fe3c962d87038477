// Keeps a policy's own notes on a call.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

namespace caisson {

/// A policy's own notes on one call: up to 48 bytes inside the call's record. A
/// policy keeps one trivially copyable struct in it. `start` creates it on
/// admission, `as` accesses it later.
class slot {
public:
  static constexpr std::size_t capacity = 48; ///< In bytes.

  /// Begins the notes with a copy of `value`; drops what was there.
  template <class T>
  T& start(const T& value = T{}) {
    static_assert(sizeof(T) <= capacity && alignof(T) <= 8);
    static_assert(std::is_trivially_copyable_v<T>);
    return *new (bytes_) T(value);
  }

  /// The notes; T is that of `start`.
  template <class T>
  T& as() {
    return *std::launder(reinterpret_cast<T*>(bytes_));
  }

private:
  alignas(8) std::byte bytes_[capacity];
};

} // namespace caisson
