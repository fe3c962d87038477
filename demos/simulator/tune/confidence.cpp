#include <simulator/tune/confidence.hpp>

#include <algorithm>
#include <cmath>

namespace caisson::sim {

namespace {

// The middle 95 %, by rank.
confidence_interval middle_of(std::vector<double> means) {
  std::ranges::sort(means);
  auto cut = means.size() / 40;
  return {means[cut], means[means.size() - 1 - cut]};
}

} // namespace

bootstrap::bootstrap(std::size_t trials, draw_key key)
  : trials_(trials), key_(key.with("bootstrap")) {}

template <class F>
void bootstrap::each_resample(const F& f) const {
  keyed_random random{key_};
  std::vector<std::size_t> drawn(trials_);
  for (std::size_t i = 0; i < resamples; ++i) {
    for (auto& x : drawn)
      x = random.below(trials_);
    f(drawn);
  }
}

confidence_interval bootstrap::interval(const tune_rows& rows,
                                        std::size_t column) const {
  for (std::size_t i = 0; i < trials_; ++i)
    if (!std::isfinite(rows[i][column]))
      return {};
  std::vector<double> means;
  each_resample([&](const auto& drawn) {
    double sum = 0;
    for (auto i : drawn)
      sum += rows[i][column];
    means.push_back(sum / static_cast<double>(trials_));
  });
  return middle_of(std::move(means));
}

paired_difference bootstrap::difference(const tune_rows& a, const tune_rows& b,
                                        const tune_target& target) const {
  auto column = target.column;
  paired_difference out;
  out.mean = mean_of(a, trials_, column) - mean_of(b, trials_, column);
  std::vector<double> means;
  double better = 0;
  each_resample([&](const auto& drawn) {
    target_sum of_a{target};
    target_sum of_b{target};
    for (auto i : drawn) {
      of_a.add(a[i]);
      of_b.add(b[i]);
    }
    auto x = of_a.estimate();
    auto y = of_b.estimate();
    better += x < y ? 1 : x == y ? 0.5 : 0;
    means.push_back((of_a.sum() - of_b.sum()) / static_cast<double>(trials_));
  });
  out.sure = better / static_cast<double>(resamples);
  if (std::isfinite(out.mean))
    out.interval = middle_of(std::move(means));
  return out;
}

double bootstrap::sure_of_needs(const tune_rows& rows,
                                const tune_targets& targets) const {
  if (targets.needs.empty())
    return 1;
  std::size_t successes = 0;
  each_resample([&](const auto& drawn) {
    successes += std::ranges::all_of(targets.needs,
                                     [&](const tune_target& need) {
                                       target_sum sum{need};
                                       for (auto i : drawn)
                                         sum.add(rows[i]);
                                       return sum.shortfall() == 0;
                                     });
  });
  return static_cast<double>(successes) / static_cast<double>(resamples);
}

} // namespace caisson::sim
