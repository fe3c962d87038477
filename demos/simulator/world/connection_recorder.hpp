// Records the connections of a route: counts, and means over time.
#pragma once

#include <simulator/world/result.hpp>

#include <caisson/base/time.hpp>

#include <cstdint>

namespace caisson::sim {

/// Counts for all connections of a route, of each replica of the caller to each
/// replica of the service. Times are since the start of the run; what is before
/// `from` or after `to` counts in no mean.
class connection_recorder {
public:
  connection_recorder(duration from, duration to)
    : from_(from), to_(to), integrated_to_(from) {}

  // -- what happens to a call -------------------------------------------------

  void asked(duration now) { total_.asked += counts(now); }
  void waits(duration now);
  /// It has a connection; `asked_at`: since when it has needed one.
  void began(duration now, duration asked_at, bool waited);
  void opened(duration now) { total_.opened += counts(now); }
  /// No place to wait.
  void refused(duration now);
  /// It has waited for too long.
  void expired(duration asked_at);
  /// Its caller has given up before it had one that was open.
  void abandoned(duration asked_at, bool waited);

  // -- what happens to a connection -------------------------------------------

  /// It is in use from now on, or not any more.
  void used_changed(duration now, int by);

  // -- what comes of it -------------------------------------------------------

  /// Ends the present second.
  connection_row end_second();
  [[nodiscard]] connection_summary summary(duration end);
  [[nodiscard]] std::uint64_t used() const noexcept { return now_.used; }
  [[nodiscard]] std::uint64_t waiting() const noexcept { return now_.waiting; }

private:
  [[nodiscard]] bool counts(duration now) const { return now >= from_; }
  void integrate(duration now);

  connection_summary total_;
  connection_row now_;
  duration from_;
  duration to_;
  duration integrated_to_;
  // Nanoseconds times connections.
  long double used_area_ = 0;
  long double wait_sum_ = 0;
  std::uint64_t began_ = 0;
};

} // namespace caisson::sim
