// Draws the arrival times of an open loop.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace caisson::sim {

/// The instants at which a load begins requests, in order, as durations since
/// the start of the run. A function of the load's configuration and of the key
/// alone.
///
/// With a rate r(t), requests come where its integral R(t) passes 0, 1, 2, …
/// (`constant`) or the points of a Poisson process of rate 1 (`poisson`). This
/// gives a Poisson process of rate r(t) exactly, whatever the shape of r. With
/// bursts, r is multiplied by the state of a Markov chain: a Markov-modulated
/// Poisson process.
class arrival_times {
public:
  /// `end`: of the run, after which there are no bursts.
  arrival_times(const load_config& load, draw_key key, duration end);

  /// The next instant; nothing after the load's `stop`, nor after `end`.
  [[nodiscard]] std::optional<duration> next(duration end);

private:
  // From `at` on the rate is `rate` and changes by `slope` per second.
  struct piece {
    long double at;
    long double rate;
    long double slope;
    // The integral of the rate up to `at`.
    long double sum;
  };

  void add_pieces(const load_config& load);
  void add_bursts(const load_config& load, draw_key key, duration end);
  static long double passed_before(const rate_point& p, double scale,
                                   long double sum);
  [[nodiscard]] std::optional<long double> when(long double sum);

  std::vector<piece> pieces_;
  std::vector<duration> arrivals_;
  std::size_t next_arrival_ = 0;
  std::size_t piece_ = 0;
  bool poisson_;
  duration start_;
  duration stop_;
  keyed_random random_;
  long double sum_ = 0;
  bool first_ = true;
};

} // namespace caisson::sim
