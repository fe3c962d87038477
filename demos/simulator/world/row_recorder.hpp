// Records each second of a run, in rows.
#pragma once

#include <simulator/world/result.hpp>

#include <caisson/base/time.hpp>

#include <cstdint>
#include <vector>

namespace caisson::sim {

/// Makes rows, sums over ranges and tallies of what happened in each second.
/// Memory is that of the rows and the ranges, and 32 bytes per second of the
/// load.
class row_recorder {
public:
  /// `length`: of the load, whose seconds have tallies.
  explicit row_recorder(duration length);

  /// Seconds per row, at least 1; before the first second has ended.
  void set_step(std::uint32_t step) { step_ = step; }
  [[nodiscard]] std::uint32_t step() const noexcept { return step_; }
  /// Sums up these, which must be different; before the first second has ended.
  void watch(const std::vector<second_range>& ranges);

  /// How many seconds have ended.
  [[nodiscard]] std::uint32_t seconds() const noexcept { return seconds_; }

  /// A second has ended: what happened in it, without latencies, and of how
  /// many requests that begun in it and were answered promptly it was not
  /// notified yet. Returns whether the row is complete.
  bool end_second(result_row second, const second_tally& tally);
  /// A request that began in the second `i`, which has ended, was answered
  /// promptly.
  void prompt(std::uint32_t i, bool in_drain);
  /// Ends the row with these latencies; nothing if no second of it has ended.
  void end_row(const latency_summary& latency);
  [[nodiscard]] bool row_open() const noexcept { return open_; }

  /// Rows, tallies and ranges, which are not here any more then.
  void move_to(arm_result& r);

private:
  std::uint32_t step_ = 1;
  std::uint32_t seconds_ = 0;
  bool open_ = false;
  result_row row_;
  std::vector<result_row> rows_;
  std::size_t most_tallies_;
  std::vector<second_tally> tallies_;
  std::vector<range_sums> ranges_;
};

} // namespace caisson::sim
