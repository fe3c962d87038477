// A sweep's hand on one worker: gives it cells, and takes the results.
#pragma once

#include <simulator/remote/cell_source.hpp>
#include <simulator/remote/messages.hpp>
#include <simulator/remote/worker_record.hpp>

#include <caisson/caf/caf.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace caisson::sim {

struct cell_dispatcher_config {
  build_identity build = {};
  /// Begins the names of all jobs of this sweep.
  std::string sweep = {};
  /// Between attempts to greet a worker that is not there, and how often it is
  /// looked for further cells.
  duration greet_every = std::chrono::seconds(1);
  duration look_every = std::chrono::milliseconds(100);
  /// How long a run may go without getting on, by a thousandth of it. The
  /// worker is then taken for one that keeps runs, and they go elsewhere.
  duration stall_after = std::chrono::minutes(30);
};

/// Greets the worker behind a gate until it answers, gives it as many cells as
/// it has cores, and asks for each until it is done. If any request fails, by
/// the gate's deadline or its breaker or as the connection is gone, all its
/// cells go back to the source, for others to take, and greeting begins anew.
/// The same if a worker does not get on with a cell. What it gives as a result
/// is believed.
/// Ends once it is told to by `dispatcher_end`.
class cell_dispatcher final : public portable::interceptor<dispatcher_end> {
public:
  /// `source` must outlive the actor.
  cell_dispatcher(caf::actor_config& cfg, caf::actor gate,
                  cell_dispatcher_config c, cell_source& source,
                  std::shared_ptr<worker_record> record);

  const char* name() const override { return "caisson.cell_dispatcher"; }

protected:
  caf::behavior make_behavior() override;
  caf::message_handler control() override;
  void on_message(portable::reply_to, caf::message) override {}
  void on_answer(std::uint64_t key, caf::message content) override;
  void on_timer() override;
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  struct cell {
    cell_job job;
    /// Whether the worker has begun it.
    bool begun = false;
    /// How far it is, and since when.
    std::uint32_t permille = 0;
    time_point moved = {};
    /// How often it was said to lack a trace.
    std::size_t lacks = 0;
  };
  struct greeting {};
  /// A job was begun, asked for or dropped.
  struct talk {
    std::size_t cell;
  };
  struct upload {
    std::uint64_t hash;
    /// How often the worker had less than before.
    std::uint32_t setbacks;
    std::uint64_t have;
  };
  struct farewell {};
  using request = std::variant<greeting, talk, upload, farewell>;

  void ask(const request& r, caf::message content);
  void greet();
  void greeted(const worker_welcome& x);
  void fill();
  void begin(std::size_t cell);
  void query(std::size_t cell);
  void heard(std::size_t cell, const job_state& x);
  void under_way(std::size_t cell, const job_state& x);
  void finish(std::size_t cell, const job_state& x);
  void need(std::size_t cell, const job_state& x);
  void send_part(upload u);
  void sent(const upload& u, const trace_have& x);
  void give_up(std::size_t cell, bool lost);
  void lose(worker_presence p, std::string why);
  void answered(const request& r, const caf::message& content);
  void end();
  void leave_if_done();

  caf::actor gate_;
  cell_dispatcher_config config_;
  cell_source& source_;
  std::shared_ptr<worker_record> record_;

  std::uint32_t cores_ = 0;
  std::map<std::size_t, cell> cells_;
  /// Cells that wait for a trace.
  std::map<std::uint64_t, std::vector<std::size_t>> waiting_;
  /// What was asked and not answered yet, by key. Forgotten when the worker is
  /// lost, so that late answers mean nothing.
  std::map<std::uint64_t, request> asked_;
  std::uint64_t next_key_ = 1;
  /// No further cell is offered before this.
  time_point pause_until_;
  bool ending_ = false;
};

} // namespace caisson::sim
