// Reads how busy the CPUs are, and how full the memory is, on Linux.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/base/usage_share.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// How loaded a machine, or a part of it, is.
struct load_reading {
  /// Share of the CPU time in use, 0 to 1; nothing if it is unknown.
  std::optional<double> cpu = {};

  /// Share of the memory in use, 0 to 1; nothing if it is unknown.
  std::optional<double> memory = {};
};

/// Reads the load that this process is subject to: that of its cgroup (version
/// 1 or 2) if one limits it, otherwise that of the machine.
///
/// - CPU: what the cgroup with the smallest quota, its own or one above it, has
///   used of that; otherwise the time in which the machine's CPUs were not
///   idle. From the differences between readings, smoothed over a second, so
///   it is unknown at the first reading, after a pause of more than ten seconds
///   and after the quota has changed.
/// - Memory: that of the cgroup that is fullest, without pages of files, which
///   the kernel can drop; otherwise what is not available on the machine.
///
/// What is missing or makes no sense is unknown; nothing throws but what
/// allocates. Opens up to a few dozen files. Not safe for concurrent use.
class system_load {
public:
  /// Reads `/proc` and `/sys` below `root`, which ends without a slash.
  explicit system_load(std::string root = {}) : root_(std::move(root)) {}

  /// The load at `now`, an instant of any clock that does not step back.
  [[nodiscard]] load_reading read(time_point now);

private:
  // Where CPU time was counted, what it was, and what there is of it.
  struct cpu_usage {
    std::string where;
    // Seconds.
    double used = 0;
    // CPUs.
    double capacity = 0;
  };

  [[nodiscard]] std::optional<cpu_usage> cpu_of_cgroup() const;
  [[nodiscard]] std::optional<cpu_usage> cpu_of_machine() const;
  [[nodiscard]] std::optional<double> memory_of_cgroup() const;
  [[nodiscard]] std::optional<double> memory_of_machine() const;
  // The folders of the cgroup and of those above it, for a controller.
  struct folders {
    bool second_version = false;
    std::vector<std::string> paths;
  };
  [[nodiscard]] folders folders_of(std::string_view controller) const;

  std::string root_;
  std::string where_;
  double capacity_ = 0;
  usage_share cpu_;
};

} // namespace caisson
