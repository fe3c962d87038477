// Notices when a number rises to one of several levels.
#pragma once

#include <caisson/base/time.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace caisson::sim {

/// Notes when a number that goes up and down is at least so high for the first
/// time. Costs a comparison where nobody waits for it.
class level_watch {
public:
  struct goal {
    std::uint64_t count = 0;
    /// It counts only before that.
    duration until = unlimited;
    /// Where to note it.
    std::shared_ptr<std::optional<duration>> at;
  };

  /// Begins to look for `g`, now that the number is `level`.
  void add(const goal& g, std::uint64_t level, duration now);

  /// The number has gone up to `level`.
  void risen(std::uint64_t level, duration now) {
    if (level >= next_)
      close_goals(level, now);
  }

private:
  static constexpr auto no_level = std::numeric_limits<std::uint64_t>::max();

  void close_goals(std::uint64_t level, duration now);

  /// The lowest one that is still open.
  std::uint64_t next_ = no_level;
  /// Those that are open, from the highest one to the lowest one.
  std::vector<goal> open_;
};

} // namespace caisson::sim
