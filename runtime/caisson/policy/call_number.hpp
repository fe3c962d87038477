// The number by which people know a call.
#pragma once

#include <caisson/policy/call_info.hpp>

#include <cstdint>

namespace caisson {

/// Gates keep a call's number above these bits of its id, and its place below.
inline constexpr unsigned call_place_bits = 24;

/// The number of a call in events, notes and error texts: the first call of a
/// gate has 1. Ids below 2^24, which no gate gives, are numbers already: those
/// of hosts that count their calls.
[[nodiscard]] constexpr std::uint64_t call_number(call_id id) noexcept {
  auto number = id >> call_place_bits;
  return number == 0 ? id : number;
}

} // namespace caisson
