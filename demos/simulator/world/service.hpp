// A service of the simulated world.
#pragma once

#include <simulator/world/autoscaler.hpp>
#include <simulator/world/counted_fault.hpp>
#include <simulator/world/fault_state.hpp>
#include <simulator/world/job.hpp>
#include <simulator/world/job_queue.hpp>
#include <simulator/world/outgoing_calls.hpp>
#include <simulator/world/replica_recorder.hpp>
#include <simulator/world/slot_table.hpp>
#include <simulator/world/timed_actor.hpp>
#include <simulator/world/work_clock.hpp>
#include <simulator/world/work_items.hpp>
#include <simulator/world/world_context.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
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
  // Timers of faults, of the autoscaler and of the clock of work; all others
  // name a request.
  static constexpr std::uint64_t work_end = std::uint64_t{1} << 63;
  static constexpr std::uint64_t fault_begin = std::uint64_t{1} << 62;
  static constexpr std::uint64_t fault_end = std::uint64_t{1} << 61;
  static constexpr std::uint64_t scale_check = std::uint64_t{1} << 60;
  static constexpr std::uint64_t scale_start = std::uint64_t{1} << 59;

  // -- arrival ----------------------------------------------------------------

  void accept(portable::reply_to from, const work_items& asked);
  [[nodiscard]] bool rejected(portable::reply_to& from,
                              const work_items& asked);
  bool makes_room(const work_items& asked);
  void reject(portable::reply_to& from, errc code, bool may_have_executed);
  void take_in(portable::reply_to from, const work_items& asked);

  // -- servers ----------------------------------------------------------------

  [[nodiscard]] bool server_free() const;
  [[nodiscard]] bool in_vain(const job& j) const;
  void begin_or_drop(job_key key, job& j);
  void take_server(job& j);
  void free_server(job& j);
  void follow_servers();
  void serve_next();
  void begin(job_key key, job& j);

  // -- work -------------------------------------------------------------------

  void plan_work();
  void work_for(job_key key, job& j, duration d);
  void work_done(job_key key, job& j);
  void shared_work_done();
  void stop_work(job& j);
  void follow_work();
  [[nodiscard]] double slowdown() const;
  [[nodiscard]] double slowness() const;
  [[nodiscard]] double stretch() const;

  // -- steps and calls --------------------------------------------------------

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

  [[nodiscard]] bool is_hit_by(const fault_config& f) const;
  void plan_faults();
  void fault_is_due(std::uint64_t payload);
  void count_request();
  void fault_begins(const fault_config& f);
  void fault_ends(const fault_config& f);
  void emit_crash(const fault_config& f, bool begins);
  void take_deferred();
  void lose_all();

  // A fault that counts requests.
  struct counting {
    counted_fault fault;
    /// Its place in the arm, and in `faults_`.
    std::size_t index = 0;
    std::size_t place = 0;
    /// The number of the one that lasts.
    std::uint64_t number = 0;
  };

  [[nodiscard]] bool may_begin(const counting& c) const;
  void change(counting& c, const counted_fault::change& x);
  void plan_change(const counting& c);

  // -- scaling ----------------------------------------------------------------

  void plan_scaling();
  void scaling_is_due(std::uint64_t payload);
  void servers_changed(int by);

  // -- recording --------------------------------------------------------------

  [[nodiscard]] replica_recorder& recorder() { return recorder_; }
  [[nodiscard]] duration at() const;
  void note(std::string_view what, const job& j);
  void note(std::string_view what, const work& w);

  world_context world_;
  std::size_t instance_;
  std::uint32_t index_;
  std::uint32_t replica_;
  const service_config& config_;
  replica_recorder recorder_;
  std::string name_;
  /// What ends the lines of the event log: ` @3`, or nothing.
  std::string mark_;
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
  std::vector<counting> counting_;
  fault_state fault_;
  /// Of all work, if its speed may change while it is in progress.
  std::optional<work_clock> clock_;
  timers::handle clock_timer_;
  std::optional<autoscaler> scaler_;
  /// Answers that came during a stall.
  std::vector<std::pair<std::uint64_t, caf::message>> deferred_;
};

} // namespace caisson::sim
