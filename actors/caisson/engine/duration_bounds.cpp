#include <caisson/engine/duration_bounds.hpp>

#include <caisson/base/histogram.hpp>

#include <cstdint>
#include <vector>

namespace caisson::detail {

std::span<const duration> duration_bounds() {
  static const auto bounds = [] {
    std::vector<duration> out;
    for (auto bits = 14; bits <= 35; bits += bits < 20 ? 2 : 1)
      out.push_back(
        wide_histogram::bucket_end(duration{(std::int64_t{1} << bits) - 1}));
    return out;
  }();
  return bounds;
}

} // namespace caisson::detail
