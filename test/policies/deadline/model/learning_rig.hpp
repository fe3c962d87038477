// A deadline that learns, and a worker whose durations are known.
#pragma once

#include <caisson/base/random.hpp>

#include <policies/deadline/model/deadline_rig.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace caisson::test {

/// A limit of `factor` times the quantile, of the last ten seconds.
inline deadline_config learning(double quantile, double factor = 1,
                                double deviations = 0) {
  using namespace std::chrono_literals;
  deadline_config c;
  c.learned.on = true;
  c.learned.quantile = quantile;
  c.learned.factor = factor;
  c.learned.deviations = deviations;
  c.learned.window = 10s;
  c.learned.minimum_samples = 100;
  return c;
}

/// Calls one after the other, each cut off at its limit. They take time by a
/// distribution whose quantiles a test can work out.
class learning_rig : public deadline_rig {
public:
  /// Draws how long the next call takes.
  using drawer = std::function<duration(random_source&)>;

  using deadline_rig::deadline_rig;

  /// Exponentially distributed: 95 % take at most 2.9957 times the mean.
  static drawer exponential(duration mean) {
    return [mean](random_source& r) {
      return duration_times(mean, -std::log(1 - r.uniform()));
    };
  }

  /// One in `n` calls never ends; the others take that long.
  static drawer hanging(int n, duration usual) {
    return [n, usual](random_source& r) {
      return r.uniform() * n < 1 ? std::chrono::hours(24) : usual;
    };
  }

  /// Returns whether it ended in time.
  bool call(duration takes) {
    auto id = arrive_with(unlimited);
    auto limit = left(id);
    auto ends = takes < limit;
    e.now += std::min(takes, limit);
    if (ends)
      finish(id);
    else
      expire(id);
    calls.erase(id);
    return ends;
  }

  /// Calls for so long. Returns the share that ended in time.
  double run(const drawer& draw, duration time) {
    auto end = e.now + time;
    auto n = 0.0;
    auto good = 0.0;
    while (e.now < end) {
      good += call(draw(drawn_)) ? 1 : 0;
      ++n;
    }
    return good / n;
  }

  [[nodiscard]] duration limit() const { return policy.present_timeout(); }

private:
  random_source drawn_{42};
};

} // namespace caisson::test
