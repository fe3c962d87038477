// Formats the upper end of a range of times, for errors.
#pragma once

#include <caisson/base/time.hpp>

#include <string>

namespace caisson::detail {

/// `most` as people write it; without a limit, the longest time that can be
/// written.
[[nodiscard]] inline std::string longest_time(duration most) {
  return most == unlimited ? "2562047h, or unlimited" : to_text(most);
}

} // namespace caisson::detail
