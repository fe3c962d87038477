// Dispatches runs to one remote worker and collects their results.
#pragma once

#include <simulator/remote/messages.hpp>
#include <simulator/remote/run_source.hpp>
#include <simulator/remote/worker_record.hpp>

#include <caisson/caf/caf.hpp>
#include <caisson/caf/hooks.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace caisson::sim {

struct run_dispatcher_config {
  build_identity build = {};
  /// Begins the names of all jobs of this sweep.
  std::string sweep = {};
  /// Between handshakes with a worker that is not connected, and between looks
  /// for further runs.
  duration handshake_interval = std::chrono::seconds(1);
  duration poll_interval = std::chrono::milliseconds(100);
  /// How long a run may go without progress, by a thousandth of it. The worker
  /// then counts as stuck, and its runs go elsewhere.
  duration stall_after = std::chrono::minutes(30);
};

/// Sends handshakes to the worker behind a gate until it answers, dispatches as
/// many runs as it has cores, and polls each until it is done. If a request
/// fails, by the gate's deadline or its breaker or because the connection is
/// lost, all its runs go back to the source, for others to take, and the
/// handshakes begin anew. The same if a run makes no progress. Results are
/// trusted.
/// Ends on `dispatcher_end`.
class run_dispatcher final : public portable::interceptor<dispatcher_end> {
public:
  /// `source` must outlive the actor.
  run_dispatcher(caf::actor_config& cfg, caf::actor gate,
                 run_dispatcher_config c, run_source& source,
                 std::shared_ptr<worker_record> record);

  const char* name() const override { return "caisson.run_dispatcher"; }

protected:
  caf::behavior make_behavior() override;
  caf::message_handler control() override;
  void on_message(portable::reply_to, caf::message&&) override {}
  void on_answer(std::uint64_t key, caf::message&& content) override;
  void on_timer() override;
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  struct run {
    run_job job;
    /// Whether the worker has begun it.
    bool begun = false;
    /// How far it is, and since when.
    std::uint32_t permille = 0;
    time_point moved = {};
    /// How often the worker reported a missing recording.
    std::size_t lacks = 0;
  };
  struct handshake {};
  /// A job was begun, asked for or dropped.
  struct job_request {
    std::size_t run;
  };
  struct upload {
    std::uint64_t hash;
    /// How often the worker had less than before.
    std::uint32_t setbacks;
    std::uint64_t have;
  };
  struct drop {};
  using request = std::variant<handshake, job_request, upload, drop>;

  void ask(const request& r, caf::message content);
  void send_handshake();
  void on_handshake_reply(const handshake_reply& x);
  void fill();
  void begin(std::size_t run);
  void query(std::size_t run);
  void on_job_state(std::size_t run, const job_state& x);
  void on_progress(std::size_t run, const job_state& x);
  void finish(std::size_t run, const job_state& x);
  void need(std::size_t run, const job_state& x);
  void send_part(upload u);
  void sent(const upload& u, const recording_progress& x);
  void give_up(std::size_t run, bool lost);
  void lose(worker_presence p, std::string why);
  void answered(const request& r, const caf::message& content);
  void end();
  void leave_if_done();

  caf::actor gate_;
  run_dispatcher_config config_;
  run_source& source_;
  std::shared_ptr<worker_record> record_;

  std::uint32_t cores_ = 0;
  std::map<std::size_t, run> runs_;
  /// Runs that wait for a recording.
  std::map<std::uint64_t, std::vector<std::size_t>> waiting_;
  /// Requests without an answer, by key. Cleared when the worker is lost, so
  /// that late answers mean nothing.
  std::map<std::uint64_t, request> pending_;
  std::uint64_t next_key_ = 1;
  /// No further run is offered before this.
  time_point pause_until_;
  bool ending_ = false;
};

} // namespace caisson::sim
