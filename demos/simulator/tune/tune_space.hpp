// The settings that are searched.
#pragma once

#include <simulator/scenario/random.hpp>
#include <simulator/scenario/sweep_values.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace caisson::sim {

/// The values of one setting.
struct tune_axis {
  std::size_t size = 1;
  /// Where each of them lies, ascending from 0 to 1; empty if they have no
  /// order. The values of a wide range are spaced by ratios.
  std::vector<double> positions = {};

  [[nodiscard]] bool ordered() const noexcept { return !positions.empty(); }
};

/// Numbers and durations have an order if they are given in it.
[[nodiscard]] tune_axis axis_of(const std::vector<sweep_value>& values);

/// Which value each setting has.
using tune_point = std::vector<std::uint32_t>;

/// All combinations of the values of some settings.
class tune_space {
public:
  explicit tune_space(std::vector<tune_axis> axes) : axes_(std::move(axes)) {}

  [[nodiscard]] const std::vector<tune_axis>& axes() const noexcept {
    return axes_;
  }

  /// How many combinations there are; `most` if there are more.
  [[nodiscard]] std::size_t points(std::size_t most) const;
  /// The last setting changes fastest.
  [[nodiscard]] tune_point nth(std::size_t i) const;
  /// The point at a place of the unit cube.
  [[nodiscard]] tune_point at(const std::vector<double>& place) const;

  /// The points that differ in one setting only: by `distance` up and down, but
  /// at least by one value, and all others where there is no order.
  [[nodiscard]] std::vector<tune_point> around(const tune_point& p,
                                               double distance) const;
  /// A point near `p`: each setting is as it is there or differs by a normally
  /// distributed number with the standard deviation `distance`. Where there is
  /// no order, it is another one with the probability `distance`.
  [[nodiscard]] tune_point near(const tune_point& p, double distance,
                                keyed_random& random) const;

private:
  std::vector<tune_axis> axes_;
};

/// The value whose position is nearest to `x`; the smaller one if two are.
[[nodiscard]] std::uint32_t value_near(const tune_axis& axis, double x);

} // namespace caisson::sim
