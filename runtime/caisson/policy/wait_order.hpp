// The orders in which calls wait.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace caisson {

/// Whose turn it is when what calls wait for becomes free. docs/queues.md says
/// what each order does when the queue is full.
enum class wait_order : std::uint8_t {
  /// The call that has waited longest.
  fifo,
  /// The call that came last.
  lifo,
  /// As `fifo`, but as `lifo` while more than `lifo_above` calls wait.
  adaptive_lifo,
  /// As `fifo`, and calls are shed while all have waited too long.
  codel,
  /// The call whose deadline comes first.
  deadline_first,
  /// The call with the highest priority, which grows while it waits.
  priority,
  /// The calls of each key in turn, with equal shares of the permits.
  fair,
};

template <>
struct enum_names<wait_order> {
  static constexpr std::string_view value[] = {
    "fifo",           "lifo",     "adaptive_lifo", "codel",
    "deadline_first", "priority", "fair"};
};

/// What the orders need, and which waiting calls are rejected early.
struct queue_settings {
  /// `adaptive_lifo`: the newest is next while more than this many calls wait;
  /// 0 to 999999, default 10, less than may wait.
  std::uint32_t lifo_above = 10;

  /// `codel`: waits shorter than this are good; 1us to 1h, default 5ms.
  duration codel_target = std::chrono::milliseconds(5);

  /// `codel`: when all waits were too long for this time, calls are shed; 1us
  /// to 1h, at least `codel_target`, default 100ms.
  duration codel_interval = std::chrono::milliseconds(100);

  /// `codel`: no call is shed if fewer than this many would still wait; 0 to
  /// 999999, default 1, less than may wait.
  std::uint32_t codel_keep = 1;

  /// `priority`: how long a call must have waited to be next in place of one
  /// that has just come and whose priority is higher by 1; 1us to unlimited,
  /// default 1s. `unlimited`: priorities only, so that the lowest may starve.
  duration aging = std::chrono::seconds(1);

  /// Whether calls are rejected as soon as they cannot be answered by their
  /// deadline, judged by how long others have kept their permits; default no.
  bool reject_hopeless = false;

  friend bool operator==(const queue_settings&, const queue_settings&)
    = default;
};

} // namespace caisson
