#include <simulator/tune/tune_fronts.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace caisson::sim {

namespace {

std::vector<std::size_t> by_trade(const std::vector<tune_trade>& all) {
  std::vector<std::size_t> out(all.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::ranges::stable_sort(
    out, [&](std::size_t a, std::size_t b) { return all[a] < all[b]; });
  return out;
}

double gap(const tune_estimate& a, const tune_estimate& b, double whole) {
  return whole > 0 && a.missing == b.missing
           ? std::max(0.0, b.mean - a.mean) / whole
           : 0;
}

} // namespace

std::vector<std::size_t> fronts_of(const std::vector<tune_trade>& all) {
  std::vector<std::size_t> out(all.size());
  // The smallest second number of each front so far, ascending.
  std::vector<tune_estimate> least;
  const tune_trade* before = nullptr;
  std::size_t front = 0;
  for (auto i : by_trade(all)) {
    if (!before || *before != all[i]) {
      front = static_cast<std::size_t>(
        std::ranges::upper_bound(least, all[i].second) - least.begin());
      if (front == least.size())
        least.push_back(all[i].second);
      least[front] = all[i].second;
    }
    before = &all[i];
    out[i] = front;
  }
  return out;
}

std::vector<double> room_on_fronts(const std::vector<tune_trade>& all,
                                   const std::vector<std::size_t>& fronts) {
  std::map<std::size_t, std::vector<std::size_t>> members;
  std::vector<double> out(all.size(), 0);
  const tune_trade* before = nullptr;
  for (auto i : by_trade(all)) {
    if (!before || *before != all[i])
      members[fronts[i]].push_back(i);
    before = &all[i];
  }
  for (const auto& [front, line] : members) {
    const auto& a = all[line.front()];
    const auto& z = all[line.back()];
    // The second number falls where the first one grows.
    auto width = z.first.mean - a.first.mean;
    auto height = a.second.mean - z.second.mean;
    out[line.front()] = out[line.back()] = std::numeric_limits<
      double>::infinity();
    for (std::size_t k = 1; k + 1 < line.size(); ++k)
      out[line[k]] = gap(all[line[k - 1]].first, all[line[k + 1]].first, width)
                     + gap(all[line[k + 1]].second, all[line[k - 1]].second,
                           height);
  }
  return out;
}

} // namespace caisson::sim
