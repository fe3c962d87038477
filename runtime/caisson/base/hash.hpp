// FNV-1a, 64 bits: the same number on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace caisson::detail {

inline constexpr std::uint64_t fnv1a_start = 0xcbf29ce484222325u;

/// `hash` with one more byte.
[[nodiscard]] constexpr std::uint64_t fnv1a(unsigned char byte,
                                            std::uint64_t hash) noexcept {
  return (hash ^ byte) * 0x100000001b3u;
}

/// `hash` with the bytes of `text` behind it.
[[nodiscard]] constexpr std::uint64_t
fnv1a(std::string_view text, std::uint64_t hash = fnv1a_start) noexcept {
  for (unsigned char c : text)
    hash = fnv1a(c, hash);
  return hash;
}

} // namespace caisson::detail
