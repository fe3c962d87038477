// The workers of a sweep on other machines.
#pragma once

#include <simulator/remote/build_identity.hpp>
#include <simulator/remote/remote_network.hpp>
#include <simulator/remote/run_source.hpp>
#include <simulator/remote/worker_address.hpp>
#include <simulator/remote/worker_record.hpp>

#include <caisson/base/time.hpp>

#include <chrono>
#include <memory>
#include <vector>

namespace caisson::sim {

struct remote_options {
  std::vector<worker_address> workers = {};
  remote_certificates certificates = {};
  /// What to say about a plain connection to another machine.
  bool insecure = false;
  /// A worker that says nothing for so long is lost.
  duration timeout = std::chrono::seconds(10);
  /// How long to wait while there is no worker, if nobody else executes runs.
  duration wait = std::chrono::seconds(60);
};

/// Gives the runs of a source to workers. Each worker is behind a gate of its
/// own, which connects to it, and again whenever the connection is lost, with a
/// deadline and a breaker; a `run_dispatcher` uses it.
class remote_workers {
public:
  /// Throws `config_error` if the options are not right. `source` must outlive
  /// this.
  remote_workers(const remote_options& o, const build_identity& build,
                 run_source& source);

  /// Stops the dispatchers, and waits for that for
  /// a second or two. What still blocks then, such as an attempt to connect to
  /// a worker that has been stopped, is left to the end of the process; see
  /// `leaves_threads`.
  ~remote_workers();
  remote_workers(const remote_workers&) = delete;
  remote_workers& operator=(const remote_workers&) = delete;

  /// In the order of the options.
  [[nodiscard]] std::vector<worker_view> workers() const;

  /// Whether remote workers have left threads behind, so that the process
  /// should end without destroying what they may use.
  [[nodiscard]] static bool leaves_threads() noexcept;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace caisson::sim
