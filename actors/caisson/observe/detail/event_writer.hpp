// The thread that writes events, and those that wait for it.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/observe/detail/event_targets.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace caisson::detail {

/// Takes events from any thread and writes them from one of its own. It keeps a
/// bounded number of them.
class event_writer : public std::enable_shared_from_this<event_writer> {
public:
  /// `now` is the clock of the gates; where it is not in real time, it is asked
  /// only here.
  event_writer(std::unique_ptr<event_target> target, std::size_t backlog,
               std::function<time_point()> now, bool real_time);
  ~event_writer();

  event_writer(const event_writer&) = delete;
  event_writer& operator=(const event_writer&) = delete;

  /// Starts the thread, which keeps this object alive.
  void start();

  /// Takes a message that consists of an event. Never waits for a target.
  void offer(caf::message what);

  /// Waits until what has arrived is written, and not for what comes after.
  void flush();
  void close();

  [[nodiscard]] std::uint64_t written() const;
  [[nodiscard]] std::uint64_t dropped() const;
  [[nodiscard]] std::uint64_t failed() const;

private:
  struct entry {
    caf::message what;
    /// How many events before it were dropped.
    std::uint64_t lost = 0;
  };

  void run();
  void write(const std::vector<entry>& xs);
  void write_lost(std::uint64_t count, utc_time at);
  void note_offset();

  template <class F>
  bool attempt(F f);

  const std::unique_ptr<event_target> target_;
  const std::size_t backlog_;
  const std::function<time_point()> now_;
  const bool real_time_;
  /// What the calendar is ahead of the gates' clock.
  std::chrono::nanoseconds offset_{};
  /// When the last event was.
  utc_time last_{};

  mutable std::mutex mutex_;
  std::condition_variable work_available_;
  std::condition_variable written_;
  std::deque<entry> waiting_;
  /// How many the thread is writing.
  std::size_t in_flight_ = 0;
  std::uint64_t accepted_ = 0;
  std::uint64_t handled_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t dropped_ = 0;
  /// Dropped since the last one was accepted, or noted.
  std::uint64_t lost_ = 0;
  /// How many of those dropped have been noted in the target.
  std::uint64_t noted_ = 0;
  bool resting_ = true;
  bool closed_ = false;
  std::thread thread_;
  std::thread::id writer_;
};

} // namespace caisson::detail
