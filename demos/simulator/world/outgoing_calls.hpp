// The calls that the operations of a service make.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/world/cache_set.hpp>
#include <simulator/world/job.hpp>
#include <simulator/world/messages.hpp>
#include <simulator/world/slot_table.hpp>

#include <caisson/caf/caf.hpp>

#include <cstdint>
#include <optional>

namespace caisson::sim {

/// Decides which calls are made, and keeps those in flight and the service's
/// caches.
class outgoing_calls {
public:
  /// A call in flight.
  struct pending {
    job_key job = 0;
    /// Which entry of the job's step it belongs to.
    std::uint32_t entry = 0;
    std::uint32_t cache_key = 0;
    /// Its neighbours among the calls of the job; 0 at the ends.
    std::uint64_t before = 0;
    std::uint64_t after = 0;
  };

  /// What has to be sent for a call, and by which route.
  struct made_call {
    std::uint32_t route;
    /// Names the call from now on.
    std::uint64_t key;
    work what;
    caf::message content;
  };

  /// `config` must outlive this.
  explicit outgoing_calls(const service_config& config) : config_(config) {}

  /// Makes the next call of an entry of the step at which the job is, which
  /// counts as made; nothing if a cache or chance makes it needless.
  [[nodiscard]] std::optional<made_call>
  make(job_key key, job& j, std::uint32_t entry, time_point now);

  /// The job whose call this is; nothing if it is not in flight.
  [[nodiscard]] std::optional<job_key> owner(std::uint64_t key);

  /// Ends a call of `j`, in constant time.
  /// @pre it is in flight
  pending end(std::uint64_t key, job& j);

  /// Remembers a success in the cache, if there is one for this call of `j`.
  void remember(const pending& p, const job& j, time_point now);

  [[nodiscard]] cache_set& caches() noexcept { return caches_; }

private:
  [[nodiscard]] caf::message message_for(const planned_call& plan, const job& j,
                                         const work& w, time_point now) const;

  const service_config& config_;
  slot_table<pending> pending_;
  cache_set caches_;
};

} // namespace caisson::sim
