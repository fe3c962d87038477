// Source of the load of the machine, for policies.
#pragma once

#include <caisson/base/system_load.hpp>
#include <caisson/base/time.hpp>

#include <memory>
#include <mutex>

namespace caf {
class actor_system;
} // namespace caf

namespace caisson {

/// Says how loaded the machine is, or whatever stands for it. Several gates may
/// share one, and call it from any thread.
class load_source {
public:
  virtual ~load_source() = default;

  /// The load at `now`; one that was read less than `max_age` before will do.
  /// May throw: nothing is known then.
  virtual load_reading read(time_point now, duration max_age) = 0;
};

/// The load that this process is subject to; see `system_load`. Reads it when
/// the last reading is too old, by the steady clock and for all callers
/// together, and lets them wait meanwhile, for some tenths of a millisecond.
[[nodiscard]] std::shared_ptr<load_source> process_load();

/// Which source gates of an actor system get that are started from now on. By
/// default that is `process_load` in real time, and none in virtual time, where
/// the same seed must give the same result on any machine. Safe to use from any
/// thread.
class default_load_source {
public:
  /// The default of an actor system. It lives as long as its users: whoever
  /// sets a source keeps it.
  [[nodiscard]] static std::shared_ptr<default_load_source>
  of(caf::actor_system* sys);

  /// Null: the default.
  void set(std::shared_ptr<load_source> x);

  /// What was set; null if nothing was.
  [[nodiscard]] std::shared_ptr<load_source> source() const;

private:
  mutable std::mutex mutex_;
  std::shared_ptr<load_source> source_;
};

} // namespace caisson
