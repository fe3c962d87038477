// A service of the simulated world.
#pragma once

#include <sim/world/fault_state.hpp>
#include <sim/world/job.hpp>
#include <sim/world/job_queue.hpp>
#include <sim/world/outgoing_calls.hpp>
#include <sim/world/slot_table.hpp>
#include <sim/world/timed_actor.hpp>
#include <sim/world/work_items.hpp>
#include <sim/world/world_context.hpp>

#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::sim {

/// Works on requests with so many workers, lets the others wait, and calls
/// other services through the gates of its routes.
///
/// A request that finds a free worker is begun at once. Otherwise it waits, or
/// is answered with `queue_full` when as many wait as may. At one instant the
/// faults come first, then what ends, then what arrives.
class service final : public timed_actor {
public:
  /// `counts`: whether it counts arrivals from clients.
  service(caf::actor_config& cfg, const world_context& world, std::size_t index,
          bool counts);

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
  [[nodiscard]] bool rejected(portable::reply_to& from, const work& w);
  void reject(portable::reply_to& from, errc code, bool reached);
  void take_in(portable::reply_to from, const work_items& asked);

  // -- workers ----------------------------------------------------------------

  [[nodiscard]] bool worker_free() const;
  [[nodiscard]] bool in_vain(const job& j) const;
  void begin_or_drop(job_key key, job& j);
  void take_worker(job& j);
  void free_worker(job& j);
  void serve_next();
  void begin(job_key key, job& j);

  // -- work and calls ---------------------------------------------------------

  void work_for(job_key key, job& j, duration d);
  void work_done(job_key key, job& j);
  void next_step(job_key key, job& j);
  void do_step(job_key key, job& j);
  void make_calls(job_key key, job& j);
  void make_calls_of(job_key key, job& j, std::uint32_t entry);
  void call_done(std::uint64_t key, job& j, caf::message content);
  void give_up_calls(job& j);
  [[nodiscard]] double slowness() const;

  // -- leaving ----------------------------------------------------------------

  void leave(job_key key, job& j, caf::message answer);
  void finish(job_key key, job& j);
  void fail(job_key key, job& j, caf::message answer);
  void drop(job_key key, job& j);

  // -- faults -----------------------------------------------------------------

  void plan_faults();
  void fault_begins(const fault_config& f);
  void fault_ends(const fault_config& f);
  void take_deferred();
  void lose_all();

  // -- recording --------------------------------------------------------------

  [[nodiscard]] service_recorder& recorder();
  [[nodiscard]] duration at() const;
  void note(std::string_view what, const job& j);
  void note(std::string_view what, const work& w);

  world_context world_;
  std::size_t index_;
  const service_config& config_;
  bool counts_;
  time_point begin_;

  slot_table<job> jobs_;
  /// How many have got in.
  std::uint64_t entered_ = 0;
  outgoing_calls calls_;
  job_queue queue_;
  std::uint64_t busy_ = 0;
  /// Who may say that he has given up; kept only where that matters.
  std::map<job::caller, job_key> callers_;

  /// Those of this service; timers name them by their index.
  std::vector<const fault_config*> faults_;
  fault_state fault_;
  /// Answers that came during a stall.
  std::vector<std::pair<std::uint64_t, caf::message>> deferred_;
};

} // namespace caisson::sim
