// The messages of the simulated world.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/messages.hpp>

#include <cstdint>

namespace caisson::sim {

/// What a service is asked to do.
struct work {
  /// The number of the client's request that this belongs to.
  std::uint64_t request = 0;
  /// The `draw_key` of this call: everything that is drawn for it follows.
  std::uint64_t key = 0;
  /// Index of the operation in the `world_plan`.
  std::uint32_t operation = 0;
  /// Whether a client made it, and not a service.
  bool from_client = false;
};
CAISSON_MESSAGE(work, request, key, operation, from_client)

/// The answer of a service that has done its work. A fallback's value is
/// anything else.
struct served {};
CAISSON_MESSAGE(served)

/// A replica of a service, counted from 0 on, crashes or is back. Notifies
/// links of crashes whose times nobody knows beforehand.
struct replica_crash {
  std::uint32_t replica = 0;
  bool begins = false;
};
CAISSON_MESSAGE(replica_crash, replica, begins)

/// Begin: sent once to each actor of the world.
struct go {};
CAISSON_MESSAGE(go)

} // namespace caisson::sim

CAF_BEGIN_TYPE_ID_BLOCK(caisson_sim, caisson::first_free_type_id)

CAF_ADD_TYPE_ID(caisson_sim, (caisson::sim::work))
CAF_ADD_TYPE_ID(caisson_sim, (caisson::sim::served))
CAF_ADD_TYPE_ID(caisson_sim, (caisson::sim::go))
CAF_ADD_TYPE_ID(caisson_sim, (caisson::sim::replica_crash))

CAF_END_TYPE_ID_BLOCK(caisson_sim)

namespace caisson::sim {

namespace internal {

// Runs before the base class config is constructed, as CAF 1.x wants it.
struct sim_types_ready {
  sim_types_ready() {
    static const bool done = [] {
      portable::init_types<caf::id_block::caisson_sim>();
      return true;
    }();
    static_cast<void>(done);
  }
};

} // namespace internal

/// The config of an actor system for the simulated world.
class world_config : private internal::sim_types_ready, public system_config {
public:
  world_config() { portable::add_types<caf::id_block::caisson_sim>(*this); }
};

} // namespace caisson::sim
