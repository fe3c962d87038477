#include <sim/tune/confidence.hpp>

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

// The sum of a column over some rows, in which numbers that are not there, or
// are infinite, are counted apart.
struct column_sum {
  double sum = 0;
  std::size_t missing = 0;

  void add(double x) {
    if (std::isfinite(x))
      sum += x;
    else
      ++missing;
  }

  // Less is better.
  [[nodiscard]] tune_estimate estimate(std::size_t trials,
                                       tune_sense sense) const {
    auto there = trials - missing;
    if (there == 0)
      return {1, 0};
    auto mean = sum / static_cast<double>(there);
    return {static_cast<double>(missing) / static_cast<double>(trials),
            sense == tune_sense::more ? -mean : mean};
  }
};

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
    column_sum of_a;
    column_sum of_b;
    for (auto i : drawn) {
      of_a.add(a[i][column]);
      of_b.add(b[i][column]);
    }
    auto x = of_a.estimate(trials_, target.sense);
    auto y = of_b.estimate(trials_, target.sense);
    better += x < y ? 1 : x == y ? 0.5 : 0;
    means.push_back((of_a.sum - of_b.sum) / static_cast<double>(trials_));
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
  std::size_t met = 0;
  each_resample([&](const auto& drawn) {
    met += std::ranges::all_of(targets.needs, [&](const tune_target& need) {
      column_sum sum;
      for (auto i : drawn)
        sum.add(rows[i][need.column]);
      return sum.missing == 0
             && shortfall(sum.sum / static_cast<double>(trials_), need) == 0;
    });
  });
  return static_cast<double>(met) / static_cast<double>(resamples);
}

} // namespace caisson::sim
