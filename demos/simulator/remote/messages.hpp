// Messages between a sweep and its workers.
#pragma once

#include <simulator/remote/build_identity.hpp>
#include <simulator/world/messages.hpp>

#include <caisson/caf/caf.hpp>
#include <caisson/messages.hpp>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

CAISSON_MESSAGE(build_identity, version, program, arithmetic)

/// The build of the sweep. The answer is `handshake_reply`, also for another
/// build.
struct handshake_request {
  build_identity build = {};
};
CAISSON_MESSAGE(handshake_request, build)

/// The build of the worker, and what it can do.
struct handshake_reply {
  build_identity build = {};
  /// How many runs it executes at a time.
  std::uint32_t cores = 0;
};
CAISSON_MESSAGE(handshake_reply, build, cores)

// How CAF 0.17 names them on the wire; workers of other builds know no others.
using worker_hello = handshake_request;
using worker_welcome = handshake_reply;

/// The content of a recording, which a scenario calls `path`.
struct recording_ref {
  std::string path = {};
  std::uint64_t hash = 0;
  std::uint64_t size = 0;
};
CAISSON_MESSAGE(recording_ref, path, hash, size)

/// One run to execute. The answer is a `job_state`, at once. The same job may
/// be sent again: it is then executed only once.
struct run_job {
  /// Unlike that of any other run of any sweep.
  std::string id = {};
  build_identity build = {};
  /// What problems call the scenario.
  std::string file = {};
  /// The scenario with all values set, and the name of the arm to run.
  std::string text = {};
  std::string arm = {};
  std::uint64_t seed = 1;
  std::vector<std::string> metrics = {};
  /// The `world_hash` that the worker must come to, too.
  std::uint64_t world = 0;
  std::vector<recording_ref> recordings = {};
};
CAISSON_MESSAGE(run_job, id, build, file, text, arm, seed, metrics, world,
                recordings)

/// Asks what has become of a job. The answer is a `job_state`: once it has
/// ended, or after a second. Who does not ask for long loses the job.
struct job_query {
  std::string id = {};
};
CAISSON_MESSAGE(job_query, id)

/// Nobody wants the result any more. The answer is a `job_state`.
struct job_drop {
  std::string id = {};
};
CAISSON_MESSAGE(job_drop, id)

enum class job_stage : std::uint8_t {
  /// Being executed; `permille` says how far it is.
  running,
  /// `text` is that of the result, `failures` are checks that failed.
  done,
  /// It cannot be executed, by nobody; `text` says why.
  refused,
  /// Not begun, as all cores are taken.
  busy,
  /// There is no such job.
  unknown,
  /// Not begun: the recording `recording` is missing, of which there are `have`
  /// bytes.
  needs_recording,
  /// Not begun: the worker is another build.
  other_build,
  /// It was not executed, for want of memory or the like.
  failed,
};

[[nodiscard]] constexpr std::string_view name_of(job_stage x) noexcept {
  constexpr std::string_view names[] = {
    "running",         "done",        "refused", "busy", "unknown",
    "needs_recording", "other_build", "failed"};
  auto i = static_cast<std::size_t>(x);
  return i < std::size(names) ? names[i] : "unknown";
}

CAISSON_ENUM(job_stage, job_stage::failed)

struct job_state {
  job_stage stage = job_stage::unknown;
  std::uint32_t permille = 0;
  std::string text = {};
  std::vector<std::string> failures = {};
  std::uint64_t recording = 0;
  std::uint64_t have = 0;
};
CAISSON_MESSAGE(job_state, stage, permille, text, failures, recording, have)

/// A part of a recording, in its place only if the worker has all before
/// `offset`. The answer is a `recording_progress`.
struct recording_part {
  std::uint64_t hash = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
  std::string text = {};
};
CAISSON_MESSAGE(recording_part, hash, size, offset, text)

struct recording_progress {
  std::uint64_t have = 0;
  bool complete = false;
  /// Why no more is taken; empty if it is.
  std::string refused = {};
};
CAISSON_MESSAGE(recording_progress, have, complete, refused)

// -- within a process ---------------------------------------------------------

/// A thread of a worker has ended a job, or all jobs are due for a check.
struct check_jobs {};
CAISSON_MESSAGE(check_jobs)

/// Stops a dispatcher: it begins no further runs.
struct dispatcher_end {};
CAISSON_MESSAGE(dispatcher_end)

} // namespace caisson::sim

CAF_BEGIN_TYPE_ID_BLOCK(caisson_remote, caf::id_block::caisson_sim::end)

CAF_ADD_TYPE_ID(caisson_remote, (caisson::sim::build_identity))
CAF_ADD_TYPE_ID(caisson_remote, (caisson::sim::worker_hello))
CAF_ADD_TYPE_ID(caisson_remote, (caisson::sim::worker_welcome))
CAF_ADD_TYPE_ID(caisson_remote, (caisson::sim::recording_ref))
CAF_ADD_TYPE_ID(caisson_remote, (caisson::sim::run_job))
CAF_ADD_TYPE_ID(caisson_remote, (caisson::sim::job_query))
CAF_ADD_TYPE_ID(caisson_remote, (caisson::sim::job_drop))
CAF_ADD_TYPE_ID(caisson_remote, (caisson::sim::job_stage))
CAF_ADD_TYPE_ID(caisson_remote, (caisson::sim::job_state))
CAF_ADD_TYPE_ID(caisson_remote, (caisson::sim::recording_part))
CAF_ADD_TYPE_ID(caisson_remote, (caisson::sim::recording_progress))
CAF_ADD_TYPE_ID(caisson_remote, (caisson::sim::check_jobs))
CAF_ADD_TYPE_ID(caisson_remote, (caisson::sim::dispatcher_end))

CAF_END_TYPE_ID_BLOCK(caisson_remote)

namespace caisson::sim {

/// Registers these messages with CAF 1.x. Call it before any config is made;
/// does nothing on 0.17, or a second time.
inline void init_remote_types() {
  static const bool done = [] {
    portable::init_types<caf::id_block::caisson_remote>();
    return true;
  }();
  static_cast<void>(done);
}

/// Adds these messages to a config of CAF 0.17.
inline void add_remote_types(caf::actor_system_config& cfg) {
  portable::add_types<caf::id_block::caisson_remote>(cfg);
}

} // namespace caisson::sim
