// A sweep's record of one of its workers.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace caisson::sim {

enum class worker_presence {
  /// It has not answered yet.
  expected,
  connected,
  /// It was connected, and does not answer any more.
  disconnected,
  /// It is connected and cannot be used.
  refused,
};

struct worker_view {
  /// As it was given on the command line.
  std::string name;
  worker_presence presence = worker_presence::expected;
  /// Why it is not connected.
  std::string text = {};
  std::uint32_t cores = 0;
  /// How many runs it has executed.
  std::uint64_t played = 0;
};

/// Written by the dispatcher of a worker, read by the progress report. May be
/// used from several threads.
class worker_record {
public:
  explicit worker_record(std::string name) : view_{.name = std::move(name)} {}

  [[nodiscard]] worker_view view() const {
    std::lock_guard guard{mutex_};
    return view_;
  }

  template <class F>
  void change(F f) {
    std::lock_guard guard{mutex_};
    f(view_);
  }

private:
  mutable std::mutex mutex_;
  worker_view view_;
};

} // namespace caisson::sim
