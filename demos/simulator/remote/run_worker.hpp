// The actor of `caisson worker`: executes runs for sweeps on other machines.
#pragma once

#include <simulator/remote/messages.hpp>
#include <simulator/remote/recording_cache.hpp>
#include <simulator/remote/run_job.hpp>

#include <caisson/caf/caf.hpp>
#include <caisson/caf/hooks.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace caisson::sim {

struct run_worker_config {
  build_identity build = {};
  /// How many runs are executed at a time, each on a thread of its own.
  std::uint32_t cores = 1;
  /// A job of which nobody has asked for so long is given up.
  duration lease = std::chrono::seconds(15);
  /// How long a query waits for the end of a job.
  duration query_time = std::chrono::seconds(1);
  /// How many bytes of recordings are kept.
  std::size_t recording_room = 512'000'000;
  std::function<arm_result(const arm_config&, const run_options&)>
    play = run_arm;
};

/// Believes nobody: messages may be of any type and size, and come in any
/// order. To be put behind a gate.
class run_worker final : public portable::interceptor<check_jobs> {
public:
  run_worker(caf::actor_config& cfg, run_worker_config c);
  ~run_worker() override;

  const char* name() const override { return "caisson.run_worker"; }

  void on_exit() override;

protected:
  caf::message_handler control() override;
  void on_message(portable::reply_to from, caf::message&& content) override;
  void on_answer(std::uint64_t, caf::message&&) override {}
  void on_timer() override { check(); }
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  /// What a job shares with its thread.
  struct progress {
    std::atomic<bool> stop{false};
    std::atomic<std::uint32_t> permille{0};
    std::mutex mutex;
    std::optional<job_state> end;
  };
  struct job {
    std::shared_ptr<progress> shared;
    std::jthread thread;
    time_point asked;
    portable::reply_to query;
    time_point query_until;
  };
  using jobs = std::map<std::string, job, std::less<>>;

  job_state begin(const run_job& x);
  void start(const run_job& x,
             std::map<std::string, recording_cache::content> t);
  void query(portable::reply_to from, const std::string& id);
  void drop(const std::string& id);
  void check();
  bool check(job& x, time_point now);
  jobs::iterator give_up(jobs::iterator i);
  [[nodiscard]] std::size_t at_work() const;
  [[nodiscard]] static bool has_ended(const job& x);
  [[nodiscard]] static job_state running(const job& x);
  void reply(portable::reply_to& to, job_state x);

  run_worker_config config_;
  std::shared_ptr<world_cache> worlds_ = std::make_shared<world_cache>();
  recording_cache recordings_;
  jobs jobs_;
  /// Nobody wants them any more; each goes when its thread has ended.
  std::list<job> ending_;
};

} // namespace caisson::sim
