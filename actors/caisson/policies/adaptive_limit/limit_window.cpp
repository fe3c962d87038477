#include <caisson/policies/adaptive_limit/limit_window.hpp>

namespace caisson::detail {

namespace {

// A product such as 100 * 0.29 can miss a whole number by a rounding error.
constexpr double share_rounding = 1e-9;

} // namespace

limit_window::results limit_window::sums(const adaptive_limit_config& c) const {
  auto all = static_cast<double>(outcomes());
  return {.latency = latency(c),
          .samples = static_cast<std::int64_t>(samples()),
          .dropped = static_cast<double>(drops_)
                     > c.drop_share * all + share_rounding};
}

void limit_window::clear(std::int64_t in_use, std::int64_t limit) noexcept {
  latencies_.clear();
  drops_ = 0;
  used_ = 2 * in_use > limit;
}

} // namespace caisson::detail
