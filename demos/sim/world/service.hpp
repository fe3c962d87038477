// A service of the simulated world.
#pragma once

#include <sim/world/client.hpp>
#include <sim/world/order.hpp>
#include <sim/world/slots.hpp>
#include <sim/world/timed_actor.hpp>

#include <caisson/wait_list.hpp>

#include <map>
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
  service(caf::actor_config& cfg, const surroundings& world, std::size_t index,
          bool counts);

  const char* name() const override { return "caisson.sim.service"; }

  void on_exit() override;

protected:
  void start() override;
  void handle(rt::reply_to from, caf::message content) override;
  void handle_answer(std::uint64_t key, caf::message content) override;
  void handle_cancelled(const caf::strong_actor_ptr& from,
                        std::uint64_t number) override;
  void fire(std::uint64_t payload) override;

private:
  using job_key = std::uint64_t;
  using caller = std::pair<caf::actor_addr, std::uint64_t>;

  enum class phase : std::uint8_t {
    queued,  // for a worker, never begun
    resumed, // for a worker, in the middle of it
    working,
    calling,
  };

  /// How far the calls of one entry of a step are.
  struct progress {
    std::uint32_t made = 0;
    std::uint32_t open = 0;
  };

  struct job {
    rt::reply_to from;
    std::uint64_t request = 0;
    draw_key key{0};
    const planned_operation* what = nullptr;
    time_point arrived;
    time_point deadline = never;
    std::int32_t priority = 0;
    /// More than one in a batch.
    std::uint32_t items = 1;
    /// How many results a batch wants; 0 for a single request.
    std::uint32_t results = 0;
    phase where = phase::queued;
    bool begun = false;
    bool has_worker = false;
    bool given_up = false;
    /// It has done its first work.
    bool warmed_up = false;
    std::uint32_t step = 0;
    std::vector<progress> entries;
    std::vector<std::uint64_t> calls;
    wait_list<job_key>::handle place = wait_list<job_key>::none;
    timers::handle due_timer;
    time_point held_since;
    duration held = duration::zero();
    bool watched = false;
    caller who;
  };

  /// A call under way.
  struct pending {
    job_key job = 0;
    std::uint32_t entry = 0;
    std::uint32_t cache_key = 0;
  };

  // -- service.cpp: a request from arrival to leaving -------------------------

  void turn_away(rt::reply_to& from, errc code, bool reached);
  void accept(rt::reply_to from, const order& asked);
  void serve_next();
  void begin(job_key key, job& j);
  void leave(job_key key, job& j, caf::message answer);
  void drop(job_key key, job& j);
  void take_worker(job& j);
  void free_worker(job& j);
  [[nodiscard]] bool worker_free() const;
  [[nodiscard]] service_books& record();
  [[nodiscard]] duration at() const;

  // -- service_steps.cpp: what an operation does ------------------------------

  void work_for(job_key key, job& j, duration d);
  void work_done(job_key key, job& j);
  void next_step(job_key key, job& j);
  void do_step(job_key key, job& j);
  bool make_calls(job_key key, job& j);
  void make_call(job_key key, job& j, std::uint32_t entry);
  void call_done(job_key key, job& j, const pending& p, bool ok,
                 caf::message& content);
  void give_up_calls(job& j);
  void finish(job_key key, job& j);
  void fail(job_key key, job& j, caf::message answer);
  [[nodiscard]] duration first_work(const job& j) const;
  [[nodiscard]] bool fails(const job& j) const;
  [[nodiscard]] double slowness() const;

  // -- service_faults.cpp -----------------------------------------------------

  void plan_faults();
  void fault_begins(const fault_config& f);
  void fault_ends(const fault_config& f);
  void stall();
  void go_on();
  void crash();
  void conditions_changed();
  void fill_caches();
  void empty_caches();
  [[nodiscard]] bool cached(const planned_call& c, std::uint32_t key) const;

  surroundings world_;
  std::size_t index_;
  const service_config& config_;
  bool counts_;
  time_point begin_;

  slot_table<job> jobs_;
  slot_table<pending> calls_;
  wait_list<job_key> queue_;
  wait_list<job_key> resumed_;
  std::uint64_t busy_ = 0;
  /// Who may say that he has given up; kept only where that matters.
  std::map<caller, job_key> callers_;

  std::vector<const fault_config*> faults_;
  std::vector<const fault_config*> active_;
  std::uint32_t capacity_ = 0;
  unsigned stalls_ = 0;
  unsigned crashes_ = 0;
  double factor_ = 1;
  double error_rate_ = 0;
  /// Answers that came during a stall.
  std::vector<std::pair<std::uint64_t, caf::message>> deferred_;
  /// Until when each key of each cache is there.
  std::vector<std::vector<time_point>> caches_;
};

} // namespace caisson::sim
