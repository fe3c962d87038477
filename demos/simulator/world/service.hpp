// A service of the simulated world.
#pragma once

#include <simulator/world/fault_state.hpp>
#include <simulator/world/job.hpp>
#include <simulator/world/job_queue.hpp>
#include <simulator/world/outgoing_calls.hpp>
#include <simulator/world/replica_recorder.hpp>
#include <simulator/world/service_faults.hpp>
#include <simulator/world/service_journal.hpp>
#include <simulator/world/service_servers.hpp>
#include <simulator/world/service_work.hpp>
#include <simulator/world/slot_table.hpp>
#include <simulator/world/timed_actor.hpp>
#include <simulator/world/work_items.hpp>
#include <simulator/world/world_context.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace caisson::sim {

/// A service, or one of its replicas: works on requests with so many servers,
/// lets the others wait, and calls other services through the gates of its
/// routes.
///
/// A request that finds a free server is begun at once. Otherwise it waits, or
/// is answered with `queue_full` when as many wait as may, or later with `shed`
/// if the service sheds what has waited for too long. At one instant the faults
/// come first, then what ends, then what arrives.
class service final : public timed_actor {
public:
  /// `instance`: its index in the plan; `counts`: whether it counts arrivals
  /// from clients.
  service(caf::actor_config& cfg, const world_context& world,
          std::size_t instance, bool counts);

  const char* name() const override { return "caisson.sim.service"; }

  void on_exit() override;

protected:
  void start() override;
  void handle(portable::reply_to from, caf::message content) override;
  void handle_answer(std::uint64_t key, caf::message content) override;
  void handle_cancelled(const caf::strong_actor_ptr& from,
                        std::uint64_t number) override;
  void fire(std::uint64_t payload) override;

private:
  // -- arrival ----------------------------------------------------------------

  void accept(portable::reply_to from, const work_items& asked);
  [[nodiscard]] bool rejected(portable::reply_to& from,
                              const work_items& asked);
  bool makes_room(const work_items& asked);
  void reject(portable::reply_to& from, errc code, bool may_have_executed);
  void take_in(portable::reply_to from, const work_items& asked);

  // -- beginning --------------------------------------------------------------

  [[nodiscard]] bool in_vain(const job& j) const;
  void serve_next();
  void begin_or_drop(job_key key, job& j);
  void begin(job_key key, job& j);

  // -- steps and calls --------------------------------------------------------

  void work_for(job_key key, job& j, duration d);
  void work_done(job_key key, job& j);
  void next_step(job_key key, job& j);
  void do_step(job_key key, job& j);
  void make_calls(job_key key, job& j);
  void make_calls_of(job_key key, job& j, std::uint32_t entry);
  void call_done(std::uint64_t key, job& j, caf::message content);
  void give_up_calls(job& j);

  // -- leaving ----------------------------------------------------------------

  void leave(job_key key, job& j, caf::message answer);
  void finish(job_key key, job& j);
  void fail(job_key key, job& j, caf::message answer);
  void shed(job_key key, job& j);
  void drop(job_key key, job& j);

  // -- faults -----------------------------------------------------------------

  [[nodiscard]] service_faults::effect effect_of_faults();
  void fault_changed(const fault_config& f, bool begins);
  void emit_crash(const fault_config& f, bool begins);
  void take_deferred();
  void lose_all();

  // -- recording --------------------------------------------------------------

  [[nodiscard]] replica_recorder& recorder() { return journal_.records(); }
  [[nodiscard]] duration at() const { return journal_.at(now()); }

  world_context world_;
  std::uint32_t index_;
  std::uint32_t replica_;
  const service_config& config_;
  service_journal journal_;
  /// Whether it counts arrivals from clients.
  bool counts_;

  slot_table<job> jobs_;
  /// How many have got in.
  std::uint64_t entered_ = 0;
  outgoing_calls calls_;
  job_queue queue_;
  /// The jobs of callers that may cancel them; empty if that has no effect.
  std::map<job::caller, job_key> callers_;

  fault_state fault_;
  service_faults faults_;
  service_work work_;
  service_servers servers_;
  /// Answers that came during a stall.
  std::vector<std::pair<std::uint64_t, caf::message>> deferred_;
};

} // namespace caisson::sim
