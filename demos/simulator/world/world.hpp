// The actors of one arm, in virtual time.
#pragma once

#include <simulator/world/busy_servers.hpp>
#include <simulator/world/messages.hpp>
#include <simulator/world/run_recorder.hpp>
#include <simulator/world/world_context.hpp>
#include <simulator/world/world_plan.hpp>

#include <caisson/policy/load_source.hpp>
#include <caisson/testing/virtual_time.hpp>
#include <caisson/worker.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// Builds the world of an arm and runs it. Every route has a gate of the
/// library in front; a service with policies of its own has another one.
///
///     caller -> gate of the route -> network link -> gate of the service
///            -> service
///
/// Each replica has such a gate of its own; the network link chooses one of
/// them. Network links and gates that would do nothing are left out, except for
/// the gate of the route.
class world {
public:
  /// Throws `config_error` if a stack cannot be built. Building ends early when
  /// `stop`, which may be null, becomes true.
  world(const arm_config& arm, std::uint64_t seed,
        std::function<void(std::string_view)> log,
        const std::atomic<bool>* stop = nullptr);

  /// Ends all actors.
  ~world();

  world(const world&) = delete;
  world& operator=(const world&) = delete;

  /// Whether all of it was built. Nothing happens in a world that is not whole,
  /// and no gates are reported.
  [[nodiscard]] bool whole() const noexcept { return whole_; }

  /// Moves on to `t` after the start; what is due at `t` itself is left.
  void advance_to(duration t);

  [[nodiscard]] duration elapsed() { return time_.elapsed(); }
  [[nodiscard]] run_recorder& recorder() noexcept { return recorder_; }
  [[nodiscard]] const world_plan& plan() const noexcept { return plan_; }
  [[nodiscard]] virtual_time& time() noexcept { return time_; }

  /// Messages that actors have handled.
  [[nodiscard]] std::uint64_t messages() const { return time_.handled(); }

  /// The state of each gate.
  [[nodiscard]] std::vector<gate_summary> gates();

  /// The gates of the routes and of services, for those who want to look.
  [[nodiscard]] const std::vector<caf::actor>& all_gates() const {
    return watched_;
  }

private:
  struct gate_entry {
    std::string name;
    std::string stack;
    caf::actor handle;
  };

  [[nodiscard]] bool stopped() const {
    return stop_ && stop_->load(std::memory_order_relaxed);
  }
  void build();
  void spawn_services();
  void spawn_routes();
  [[nodiscard]] worker behind_route(std::uint32_t index, std::uint32_t caller);
  void spawn_clients();
  caf::actor spawn_gate_of(const std::string& name,
                           const std::string& stack_name, worker behind,
                           std::shared_ptr<busy_servers> load);

  const std::atomic<bool>* stop_;
  bool whole_ = false;
  world_plan plan_;
  draw_key key_;
  // Before the system, since actors refer to them until they have ended.
  run_recorder recorder_;
  std::vector<caf::actor> route_gates_;
  std::vector<std::vector<caf::actor>> pooled_links_;
  world_config config_;
  virtual_time time_;
  /// Says which load the next gate reads.
  std::shared_ptr<default_load_source> load_source_;
  /// By instance of the plan.
  std::vector<std::shared_ptr<busy_servers>> loads_;
  world_context context_;
  caf::actor monitor_;
  /// By instance of the plan: its actor, and what a route leads to, which is
  /// that or the gate in front of it.
  std::vector<caf::actor> services_;
  std::vector<caf::actor> entry_points_;
  std::vector<caf::actor> links_;
  std::vector<caf::actor> clients_;
  std::vector<gate_entry> gates_;
  std::vector<caf::actor> watched_;
};

} // namespace caisson::sim
