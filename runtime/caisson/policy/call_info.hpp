// Properties of a call that policies see.
#pragma once

#include <caisson/base/time.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

/// Identifies a call within its gate. Never reused.
using call_id = std::uint64_t;

/// Whether a call may be carried out twice.
enum class idempotence : std::uint8_t { unmarked, yes, no };

[[nodiscard]] std::string_view name_of(idempotence x) noexcept;

/// The highest `call_info::user_priority`.
inline constexpr std::uint8_t highest_user_priority = 128;

/// How many calls one may stand for, itself included.
inline constexpr std::uint16_t most_stood_for = 16;

/// What a policy sees of a call.
struct call_info {
  /// Set by the host; the same in all layers.
  call_id id = 0;
  /// When the call entered the gate.
  time_point arrived;
  /// When it must be answered at the latest: the earliest of the caller's
  /// deadline and those of the deadline layers above. `never` if there is none.
  /// A policy may change it only in `admit`, for the layers below it. The host
  /// restores the outer deadline when the call leaves the policy.
  time_point deadline = never;
  /// Whether `deadline` is the host's default, for calls without one. A policy
  /// that replaces it sets this to false.
  bool default_deadline = false;
  /// Higher is more important; 0 is the default.
  std::int32_t priority = 0;
  /// The weight of the call at semaphores and limiters, at least 1.
  std::uint32_t permits = 1;
  /// 1 for the first attempt; counts across chained gates.
  std::uint32_t attempt = 1;
  /// Whether it may be carried out twice, as its caller says.
  idempotence idempotent = idempotence::unmarked;
  /// A layer further out carries out what it has acknowledged: no layer may
  /// acknowledge it in the worker's place once more.
  bool written_back = false;
  /// Decides between calls of equal priority, for shedders: 1 to 128, higher is
  /// more important; 0: not known. A shedder that lets the call pass may set it
  /// in `admit`, so that all gates further in go by the same.
  std::uint8_t user_priority = 0;
  /// How many calls of about its level it stands for, itself included, of which
  /// a shedder further out rejected the others because the callee's would have;
  /// 0: itself only. A shedder sets it for the layers below.
  std::uint16_t stands_for = 0;
  /// Groups calls, for policies that keep state per key.
  std::string key;
  /// The same for all attempts at one call and for no other call, so that a
  /// worker can recognise whether it has seen the call; empty: it cannot. A
  /// policy may set it in `admit` if it is empty.
  std::string idempotency_key;
};

/// Makes `x` as if it were a new one, and gives its memory back.
inline void reset(call_info& x) noexcept {
  // Names each member: one that is added does not compile without a line here.
  auto& [id, arrived, deadline, default_deadline, priority, permits, attempt,
         idempotent, written_back, user_priority, stands_for, key,
         idempotency_key]
    = x;
  id = 0;
  arrived = {};
  deadline = never;
  default_deadline = written_back = false;
  user_priority = 0;
  stands_for = 0;
  priority = 0;
  permits = attempt = 1;
  idempotent = idempotence::unmarked;
  if (!key.empty())
    std::string{}.swap(key);
  if (!idempotency_key.empty())
    std::string{}.swap(idempotency_key);
}

} // namespace caisson
