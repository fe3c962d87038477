// Times to threshold, as names of numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace caisson::sim {

/// What `first(NAME OP NUMBER)` asks for: when that was so for the first time.
struct threshold {
  enum class comparison : std::uint8_t { less, at_most, more, at_least };

  /// What is compared, without spaces around it.
  std::string metric;
  comparison is = comparison::at_least;
  double bound = 0;

  /// Whether the metric may be `x`.
  [[nodiscard]] bool holds(double x) const;
};

/// Whether a name of a number begins as a time to threshold does.
[[nodiscard]] bool is_time_to_threshold(std::string_view name);

/// Reads `first(service.db.queue >= 100)`. Spaces do not matter around the
/// operator and the brackets. Throws `std::invalid_argument` with what is
/// wrong.
[[nodiscard]] threshold read_threshold(std::string_view name);

/// How many are there at this moment at a service or one of its replicas, which
/// times to threshold alone ask for.
struct level {
  /// Those that wait for a server, or all that are inside.
  enum class kind : std::uint8_t { queue, inside };

  /// `db` or `db#3`; empty if the threshold asks for no level.
  std::string_view target;
  kind of = kind::queue;
  /// How many there must be, or more; the largest number for more than there
  /// ever are.
  std::uint64_t count = 0;
};

/// The level that `p` asks for, which refers to it.
[[nodiscard]] level level_of(const threshold& p);

} // namespace caisson::sim
