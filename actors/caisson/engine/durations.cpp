#include <caisson/engine/durations.hpp>

namespace caisson::detail {

std::vector<duration_summary> durations::list() const {
  std::vector<duration_summary> out;
  for_each([&](measured what, bool ok, const wide_histogram& h) {
    auto share = [&h](double q) { return h.quantile(q).value_or(h.max()); };
    out.push_back(
      {what, ok, h.count(), share(0.5), share(0.9), share(0.99), h.max()});
  });
  return out;
}

} // namespace caisson::detail
