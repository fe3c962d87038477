// Progress bar of a run on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace caisson::sim {

/// What is being run just now, or which file is being read.
struct progress_step {
  std::string_view arm;
  /// From 0 on.
  std::size_t arm_index = 0;
  std::size_t arms = 1;
  /// Nothing where it does not matter.
  std::optional<std::uint64_t> seed = 1;
  /// How many workers on other machines take part, if any are to.
  std::optional<std::size_t> workers = {};
};

/// `naive (2/3, seed 1)  [#####.....]  52 %  3 s left`. `share` is that of the
/// whole command, 0 to 1; what is left is shown once it can be guessed. Less of
/// it, down to nothing, if it would not fit into `columns` with one to spare,
/// as terminals go on to the next line when the last column is full.
[[nodiscard]] std::string progress_line(const progress_step& step, double share,
                                        std::chrono::nanoseconds elapsed,
                                        std::size_t columns = 80);

/// How many columns the terminal behind a file descriptor has: the environment
/// variable `COLUMNS` if that is a number, otherwise what the terminal says,
/// and 80 if it says nothing.
[[nodiscard]] std::size_t columns_of(int descriptor);

/// A line that is drawn over and over, at most ten times a second.
class progress_bar {
public:
  using clock = std::chrono::steady_clock;

  /// Draws nothing unless `enabled`. `columns` is asked for each line.
  progress_bar(std::ostream& out, bool enabled,
               std::function<std::size_t()> columns,
               std::function<clock::time_point()> now = clock::now);
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  void show(const progress_step& step, double share);

  /// Leaves an empty line, with the cursor at its begin.
  void clear();

private:
  std::ostream& out_;
  bool enabled_;
  bool drawn_ = false;
  std::function<std::size_t()> columns_;
  std::function<clock::time_point()> now_;
  clock::time_point start_;
  std::optional<clock::time_point> last_;
};

} // namespace caisson::sim
