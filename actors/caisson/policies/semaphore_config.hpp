// Settings of a semaphore.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/limit_partitions.hpp>
#include <caisson/policy/operation.hpp>
#include <caisson/policy/wait_order.hpp>
#include <caisson/settings/fwd.hpp>

#include <cstdint>
#include <string>

namespace caisson {

/// Configures a `semaphore`.
struct semaphore_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};
  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// How many permits there are; 1 to 1000000, default 10.
  std::uint32_t permits = 10;

  /// How many calls may wait; 0 to 1000000, default 0: none waits.
  std::uint32_t max_waiters = 0;

  /// How long a call may wait; 0 to unlimited, default unlimited: until its own
  /// deadline. 0 excludes `max_waiters`, and another finite time needs it.
  duration max_wait = unlimited;

  /// Whose turn it is, and which call leaves a full queue; default `fifo`. The
  /// others need `max_waiters`.
  wait_order order = wait_order::fifo;

  /// What belongs to the order.
  queue_settings queue = {};

  /// Guaranteed shares of the permits; default none.
  partition_settings partitions = {};
};

/// Lists the fields of `c`.
void describe(field_visitor& v, semaphore_config& c);

/// Checks that settings about waiting come with places to wait in, and shares
/// of the permits.
void check(const semaphore_config& c, const setting_path& path, problems& out);

/// Reports what a semaphore per key cannot have.
void check_per_key(const semaphore_config& c, const setting_path& path,
                   problems& out);

} // namespace caisson
