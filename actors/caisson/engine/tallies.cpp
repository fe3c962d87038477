#include <caisson/engine/tallies.hpp>

#include <numeric>

namespace caisson::detail {

std::vector<tally_summary> tallies::list() const {
  std::vector<tally_summary> out;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    auto what = static_cast<tallied>(i / 2);
    const auto& x = all_[i];
    auto end = x.counts.begin()
               + static_cast<std::ptrdiff_t>(bounds_of(what).size() + 1);
    auto n = std::accumulate(x.counts.begin(), end, std::uint64_t{0});
    if (n > 0)
      out.push_back({what, i % 2 == 0, n, x.sum, {x.counts.begin(), end}});
  }
  return out;
}

} // namespace caisson::detail
