// SipHash (J.-P. Aumasson, D. J. Bernstein: "SipHash: a fast short-input PRF",
// 2012): a hash for tables with untrusted keys. Without the secret, no one can
// find keys that collide.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace caisson::detail {

/// The secret of a hash.
struct sip_secret {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

/// The four words of the state.
class sip_state {
public:
  explicit constexpr sip_state(const sip_secret& s) noexcept
    : a_(s.first ^ 0x736f6d6570736575u), b_(s.second ^ 0x646f72616e646f6du),
      c_(s.first ^ 0x6c7967656e657261u), d_(s.second ^ 0x7465646279746573u) {}

  template <int Rounds>
  constexpr void absorb(std::uint64_t word) noexcept {
    d_ ^= word;
    mix<Rounds>();
    a_ ^= word;
  }

  template <int Rounds>
  [[nodiscard]] constexpr std::uint64_t finish() noexcept {
    c_ ^= 0xff;
    mix<Rounds>();
    return a_ ^ b_ ^ c_ ^ d_;
  }

private:
  template <int Rounds>
  constexpr void mix() noexcept {
    for (int i = 0; i < Rounds; ++i) {
      a_ += b_;
      c_ += d_;
      b_ = std::rotl(b_, 13) ^ a_;
      d_ = std::rotl(d_, 16) ^ c_;
      a_ = std::rotl(a_, 32);
      c_ += b_;
      a_ += d_;
      b_ = std::rotl(b_, 17) ^ c_;
      d_ = std::rotl(d_, 21) ^ a_;
      c_ = std::rotl(c_, 32);
    }
  }

  std::uint64_t a_, b_, c_, d_;
};

/// SipHash with `Each` rounds per word and `Last` rounds at the end. 1 and 3
/// are the usual numbers for tables. The same on all machines of one byte
/// order.
template <int Each = 1, int Last = 3>
[[nodiscard]] inline std::uint64_t sip_hash(const sip_secret& secret,
                                            std::string_view text) noexcept {
  sip_state s{secret};
  auto* at = text.data();
  auto left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    s.absorb<Each>(word);
  }
  auto last = std::uint64_t{text.size()} << 56;
  for (std::size_t i = 0; i < left; ++i)
    last |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
  s.absorb<Each>(last);
  return s.finish<Last>();
}

} // namespace caisson::detail
