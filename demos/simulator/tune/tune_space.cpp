#include <simulator/tune/tune_space.hpp>

#include <simulator/scenario/value_range.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace caisson::sim {

namespace {

bool in_order(const std::vector<sweep_value>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i].number) || values[i].unit != values[0].unit
        || (i > 0 && !(values[i - 1].number < values[i].number)))
      return false;
  return true;
}

// By Box and Muller.
double normal(keyed_random& random) {
  auto u = 1 - random.uniform();
  auto v = random.uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

// The value at a distance, but another one; the same if there is none.
std::uint32_t stepped_to(const tune_axis& axis, std::uint32_t from,
                         double distance) {
  auto to = value_near(axis, axis.positions[from] + distance);
  if (to != from)
    return to;
  if (distance < 0)
    return from == 0 ? from : from - 1;
  return from + 1 < axis.size ? from + 1 : from;
}

std::uint32_t other_value(const tune_axis& axis, std::uint32_t from,
                          keyed_random& random) {
  if (axis.size == 1)
    return from;
  auto i = static_cast<std::uint32_t>(random.below(axis.size - 1));
  return i < from ? i : i + 1;
}

} // namespace

tune_axis axis_of(const std::vector<sweep_value>& values) {
  tune_axis axis{.size = values.size()};
  if (!in_order(values))
    return axis;
  auto lo = values.front().number;
  auto hi = values.back().number;
  auto ratios = lo > 0 && hi / lo >= static_cast<double>(wide_range);
  auto place = [&](double x) {
    if (hi == lo)
      return 0.0;
    return ratios ? std::log(x / lo) / std::log(hi / lo) : (x - lo) / (hi - lo);
  };
  for (const auto& v : values)
    axis.positions.push_back(place(v.number));
  return axis;
}

std::uint32_t value_near(const tune_axis& axis, double x) {
  const auto& all = axis.positions;
  auto above = std::ranges::lower_bound(all, x);
  if (above == all.end()
      || (above != all.begin() && x - *(above - 1) <= *above - x))
    --above;
  return static_cast<std::uint32_t>(above - all.begin());
}

std::size_t tune_space::points(std::size_t most) const {
  std::size_t out = 1;
  for (const auto& a : axes_) {
    if (out > most / a.size)
      return most;
    out *= a.size;
  }
  return std::min(out, most);
}

tune_point tune_space::nth(std::size_t i) const {
  tune_point out(axes_.size());
  for (auto k = axes_.size(); k-- > 0;) {
    out[k] = static_cast<std::uint32_t>(i % axes_[k].size);
    i /= axes_[k].size;
  }
  return out;
}

tune_point tune_space::at(const std::vector<double>& place) const {
  tune_point out;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    // Each value has an equal share, whether or not there is an order, except
    // that those of an order have shares by their distances.
    const auto& a = axes_[i];
    auto n = static_cast<double>(a.size);
    auto equal = std::min(static_cast<std::uint32_t>(place[i] * n),
                          static_cast<std::uint32_t>(a.size - 1));
    out.push_back(a.ordered() ? value_near(a, place[i]) : equal);
  }
  return out;
}

std::vector<tune_point> tune_space::around(const tune_point& p,
                                           double distance) const {
  std::vector<tune_point> out;
  auto add = [&](std::size_t axis, std::uint32_t value) {
    if (value == p[axis])
      return;
    out.push_back(p);
    out.back()[axis] = value;
  };
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const auto& a = axes_[i];
    if (a.ordered()) {
      add(i, stepped_to(a, p[i], distance));
      add(i, stepped_to(a, p[i], -distance));
    } else {
      for (std::uint32_t value = 0; value < a.size; ++value)
        add(i, value);
    }
  }
  return out;
}

tune_point tune_space::near(const tune_point& p, double distance,
                            keyed_random& random) const {
  auto out = p;
  // Half of the settings on average, so that it is seen which one matters.
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const auto& a = axes_[i];
    if (!a.ordered()) {
      if (random.uniform() < distance)
        out[i] = other_value(a, p[i], random);
    } else if (random.below(2) == 0) {
      out[i] = stepped_to(a, p[i], distance * normal(random));
    }
  }
  return out;
}

} // namespace caisson::sim
