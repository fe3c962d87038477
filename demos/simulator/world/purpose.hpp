// Purposes of random numbers, each with a stream of its own.
#pragma once

#include <cstdint>

namespace caisson::sim::purpose {

// Any different numbers would do; changing one changes every run.
inline constexpr std::uint64_t work = 1;
inline constexpr std::uint64_t items = 2;
inline constexpr std::uint64_t error = 3;
inline constexpr std::uint64_t call = 4;
inline constexpr std::uint64_t chance = 5;
inline constexpr std::uint64_t cache = 6;
inline constexpr std::uint64_t request_travel = 7;
inline constexpr std::uint64_t answer_travel = 8;
inline constexpr std::uint64_t mix = 9;
inline constexpr std::uint64_t think = 10;
inline constexpr std::uint64_t cancel_travel = 11;
inline constexpr std::uint64_t patience = 12;
inline constexpr std::uint64_t replica = 13;
inline constexpr std::uint64_t lost = 14;
inline constexpr std::uint64_t jitter = 15;
inline constexpr std::uint64_t duplicate = 16;
inline constexpr std::uint64_t call_key = 17;
inline constexpr std::uint64_t connect = 18;
inline constexpr std::uint64_t zone = 19;
inline constexpr std::uint64_t between = 20;

} // namespace caisson::sim::purpose
