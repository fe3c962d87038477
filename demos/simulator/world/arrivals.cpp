#include <simulator/world/arrivals.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace caisson::sim {

namespace {

long double in_seconds(duration d) {
  return static_cast<long double>(d.count()) / 1e9L;
}

// A sum of rates times widths is whole only up to rounding. A request that is
// due where the rate ends must not come because of that.
long double whole_if_close(long double sum) {
  constexpr long double rounding = 1e-14L;
  auto whole = std::round(sum);
  return std::abs(sum - whole) <= rounding * std::max(1.0L, whole) ? whole
                                                                   : sum;
}

} // namespace

arrival_times::arrival_times(const load_config& load, draw_key key,
                             duration end)
  : arrivals_(load.arrivals), poisson_(load.kind == load_kind::poisson),
    start_(load.start), stop_(load.stop), random_(key) {
  add_pieces(load);
  if (load.burst != 1)
    add_bursts(load, key.with("burst"), end);
}

void arrival_times::add_pieces(const load_config& load) {
  if (load.profile.empty()) {
    pieces_.push_back({0, load.rate, 0, 0});
    return;
  }
  long double sum = 0;
  for (std::size_t i = 0; i < load.profile.size(); ++i) {
    const auto& p = load.profile[i];
    piece x{in_seconds(p.at), p.rate * load.scale, 0, sum};
    if (i + 1 < load.profile.size()) {
      auto width = in_seconds(load.profile[i + 1].at) - x.at;
      if (load.ramps && width > 0)
        x.slope = (load.profile[i + 1].rate * load.scale - x.rate) / width;
      sum += width * (x.rate + x.slope * width / 2);
      if (!poisson_)
        sum = passed_before(load.profile[i + 1], load.scale, sum);
    }
    pieces_.push_back(x);
  }
}

// Cuts the pieces where bursts begin and end.
void arrival_times::add_bursts(const load_config& load, draw_key key,
                               duration end) {
  keyed_random random{key};
  auto draw = [&](duration mean) {
    return in_seconds(distribution::exponential(mean).draw(random));
  };
  auto base = std::exchange(pieces_, {});
  auto last = in_seconds(end - load.start);
  bool burst = false;
  long double next = draw(load.burst_every);
  long double at = 0;
  long double sum = 0;
  for (std::size_t i = 0; at < last;) {
    const auto& p = base[i];
    auto stop = std::min(next, last);
    if (i + 1 < base.size())
      stop = std::min(stop, base[i + 1].at);
    auto times = burst ? static_cast<long double>(load.burst) : 1;
    piece x{at, (p.rate + p.slope * (at - p.at)) * times, p.slope * times, sum};
    auto width = stop - at;
    sum += width * (x.rate + x.slope * width / 2);
    pieces_.push_back(x);
    at = stop;
    if (at >= next) {
      burst = !burst;
      next = at + draw(burst ? load.burst_for : load.burst_every);
    }
    if (i + 1 < base.size() && at >= base[i + 1].at)
      ++i;
  }
  // Nothing comes after the end.
  pieces_.push_back({at, 0, 0, sum});
}

// How many requests come before the point; `sum` by the rates.
long double arrival_times::passed_before(const rate_point& p, double scale,
                                         long double sum) {
  if (p.before)
    sum = static_cast<long double>(*p.before) * scale;
  return whole_if_close(sum);
}

// The instant at which the integral of the rate reaches `sum`.
std::optional<long double> arrival_times::when(long double sum) {
  while (piece_ + 1 < pieces_.size() && pieces_[piece_ + 1].sum <= sum)
    ++piece_;
  const auto& p = pieces_[piece_];
  auto rest = sum - p.sum;
  if (p.slope == 0)
    return p.rate > 0 ? std::optional{p.at + std::max(rest, 0.0L) / p.rate}
                      : std::nullopt;
  if (rest <= 0)
    return p.at;
  // rate · t + slope · t² / 2 = rest; written so that nothing cancels.
  auto root = p.rate * p.rate + 2 * p.slope * rest;
  return p.at + 2 * rest / (p.rate + std::sqrt(std::max(root, 0.0L)));
}

std::optional<duration> arrival_times::next(duration end) {
  std::optional<duration> at;
  if (!arrivals_.empty()) {
    if (next_arrival_ < arrivals_.size())
      at = arrivals_[next_arrival_++];
  } else {
    if (poisson_)
      sum_ -= std::log1p(-static_cast<long double>(random_.uniform()));
    else if (!first_)
      sum_ += 1;
    first_ = false;
    // Beyond a century there is no run any more.
    if (auto t = when(sum_); t && *t < 3e9L)
      at = duration{std::llround(*t * 1e9L)};
  }
  if (!at)
    return {};
  auto t = duration_sum(start_, *at);
  if (t >= end || t >= stop_)
    return {};
  return t;
}

} // namespace caisson::sim
