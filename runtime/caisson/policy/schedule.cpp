#include <caisson/policy/schedule.hpp>

#include <caisson/base/random.hpp>
#include <caisson/settings/setting.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace caisson {

namespace {

using segment = schedule::segment;
using shape = schedule::shape;

// -- delays -------------------------------------------------------------------

duration times(duration d, std::int64_t n) {
  if (d.count() > 0 && n > unlimited.count() / d.count())
    return unlimited;
  return d * n;
}

// 1, 1, 2, 3, 5 …; clamped to the largest value there is.
std::int64_t fibonacci_number(std::uint32_t n) {
  std::int64_t last = 0;
  std::int64_t now = 1;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (last > std::numeric_limits<std::int64_t>::max() - now)
      return std::numeric_limits<std::int64_t>::max();
    last = std::exchange(now, last + now);
  }
  return now;
}

// Uniform in [lo, hi); `lo` if that is empty.
duration between(duration lo, duration hi, random_source& random) {
  if (hi <= lo)
    return lo;
  auto width = static_cast<std::uint64_t>((hi - lo).count());
  return lo + duration{static_cast<std::int64_t>(random.below(width))};
}

duration decorrelated_delay(const segment& s, const schedule::cursor& at,
                            random_source& random) {
  if (at.index == 0)
    return s.base;
  return between(s.base, duration_times(at.previous, s.factor), random);
}

// The delay before limit and jitter.
std::optional<duration> plain_delay(const segment& s,
                                    const schedule::cursor& at,
                                    random_source& random) {
  switch (s.kind) {
    case shape::constant:
      return s.base;
    case shape::linear:
      return duration_sum(s.base, times(s.step, at.index));
    case shape::exponential:
      return duration_times(s.base, std::pow(s.factor, at.index));
    case shape::fibonacci:
      return times(s.base, fibonacci_number(at.index));
    case shape::decorrelated:
      return decorrelated_delay(s, at, random);
    case shape::list:
      return at.index < s.delays.size() ? std::optional{s.delays[at.index]}
                                        : std::nullopt;
    case shape::custom:
      return s.custom ? s.custom(at.index) : std::nullopt;
  }
  return std::nullopt;
}

duration spread_out(const segment& s, duration d, random_source& random) {
  switch (s.spread) {
    case jitter::none:
      return d;
    case jitter::full:
      return between(duration::zero(), d, random);
    case jitter::equal:
      return between(d / 2, d, random);
    case jitter::factor: {
      // `scaled` takes `unlimited` for endless; here it is a number.
      auto width = duration_times(std::min(d, unlimited - duration{1}),
                                  s.spread_factor);
      return between(d - width, std::min(s.max, duration_sum(d, width)),
                     random);
    }
  }
  return d;
}

std::optional<duration> next_in(const segment& s, schedule::cursor& at,
                                random_source& random) {
  if (s.take != 0 && at.index >= s.take)
    return std::nullopt;
  auto plain = plain_delay(s, at, random);
  if (!plain)
    return std::nullopt;
  auto bounded = std::max(std::min(*plain, s.max), duration::zero());
  auto delay = spread_out(s, bounded, random);
  auto sum = duration_sum(at.elapsed, delay);
  if (sum > s.until)
    return std::nullopt;
  at.previous = bounded;
  at.elapsed = sum;
  // At the last index a schedule without an end repeats its last delay.
  if (at.index < std::numeric_limits<std::uint32_t>::max())
    ++at.index;
  return delay;
}

schedule single(segment s) {
  return schedule{std::vector<segment>{std::move(s)}};
}

} // namespace

// -- building -----------------------------------------------------------------

schedule schedule::constant(duration delay) {
  return single({.kind = shape::constant, .base = delay});
}

schedule schedule::linear(duration base, duration step) {
  return single({.kind = shape::linear, .base = base, .step = step});
}

schedule schedule::exponential(duration base, double factor) {
  return single({.kind = shape::exponential, .base = base, .factor = factor});
}

schedule schedule::fibonacci(duration base) {
  return single({.kind = shape::fibonacci, .base = base});
}

schedule schedule::decorrelated(duration base, duration max, double factor) {
  return single(
    {.kind = shape::decorrelated, .base = base, .factor = factor, .max = max});
}

schedule schedule::custom(function f) {
  return single(
    {.kind = shape::custom, .custom = custom_function{std::move(f)}});
}

schedule schedule::list(std::vector<duration> delays) {
  segment s;
  s.kind = shape::list;
  s.delays = std::move(delays);
  return single(std::move(s));
}

schedule schedule::limit(duration max) const {
  auto out = *this;
  if (!out.segments_.empty())
    out.segments_.back().max = max;
  return out;
}

schedule schedule::jittered(jitter spread, double f) const {
  auto out = *this;
  if (!out.segments_.empty()) {
    out.segments_.back().spread = spread;
    out.segments_.back().spread_factor = f;
  }
  return out;
}

schedule schedule::take(std::uint32_t n) const {
  auto out = *this;
  if (out.segments_.empty())
    return out;
  // In a segment 0 means "no limit", which is not what was asked for.
  if (n == 0)
    out.segments_.pop_back();
  else
    out.segments_.back().take = n;
  return out;
}

schedule schedule::until(duration sum) const {
  auto out = *this;
  if (!out.segments_.empty())
    out.segments_.back().until = sum;
  return out;
}

schedule schedule::then(const schedule& next) const {
  auto out = *this;
  out.segments_.insert(out.segments_.end(), next.segments_.begin(),
                       next.segments_.end());
  return out;
}

// -- functions ----------------------------------------------------------------

schedule::custom_function schedule::custom_function::detached() const {
  auto out = *this;
  if (called_)
    out.called_ = std::make_shared<const function>(*called_);
  return out;
}

schedule schedule::detached() const {
  auto out = *this;
  for (auto& s : out.segments_)
    s.custom = s.custom.detached();
  return out;
}

bool take_over_schedule(schedule& next, const schedule& present) {
  auto same = next == present;
  next = same ? present : next.detached();
  return same;
}

// -- running ------------------------------------------------------------------

bool schedule::random() const noexcept {
  return std::any_of(segments_.begin(), segments_.end(), [](const segment& s) {
    return s.kind == shape::decorrelated || s.spread != jitter::none;
  });
}

std::optional<duration> schedule::next(cursor& at,
                                       random_source& random) const {
  while (at.segment < segments_.size()) {
    if (auto delay = next_in(segments_[at.segment], at, random))
      return delay;
    at = cursor{.segment = at.segment + 1};
  }
  return std::nullopt;
}

// -- printing -----------------------------------------------------------------

namespace {

// Shapes that come from code only are all called custom.
std::string_view name_of(shape kind) {
  const auto& names = enum_names<shape>::value;
  auto n = static_cast<std::size_t>(kind);
  return n < std::size(names) ? names[n] : "custom";
}

std::string_view name_of(jitter spread) {
  const auto& names = enum_names<jitter>::value;
  auto n = static_cast<std::size_t>(spread);
  return n < std::size(names) ? names[n] : "unknown";
}

// `list 1s, 2s`; of very many the first ones: `list 1s, 2s … (40 delays)`.
std::string listed_delays(const std::vector<duration>& delays) {
  constexpr std::size_t most = 16;
  std::string out = "list";
  for (std::size_t i = 0; i < std::min(delays.size(), most); ++i)
    out += (i == 0 ? " " : ", ") + to_text(delays[i]);
  if (delays.size() > most)
    out += fmt::format(" … ({} delays)", delays.size());
  return out;
}

std::string growth(const segment& s) {
  switch (s.kind) {
    case shape::constant:
    case shape::fibonacci:
      return fmt::format("{} {}", name_of(s.kind), to_text(s.base));
    case shape::linear:
      return fmt::format("linear {} +{}", to_text(s.base), to_text(s.step));
    case shape::exponential:
    case shape::decorrelated:
      return fmt::format("{} {} ×{}", name_of(s.kind), to_text(s.base),
                         to_text(s.factor));
    case shape::list:
      return listed_delays(s.delays);
    case shape::custom:
      break;
  }
  return "custom function";
}

std::string segment_text(const segment& s) {
  auto out = growth(s);
  if (s.max != unlimited)
    out += fmt::format(" up to {}", to_text(s.max));
  if (s.spread == jitter::factor)
    out += fmt::format(", jitter ±{} of the delay", to_text(s.spread_factor));
  else if (s.spread != jitter::none)
    out += fmt::format(", {} jitter", name_of(s.spread));
  if (s.take == 1)
    out += ", once";
  else if (s.take != 0)
    out += fmt::format(", {} times", s.take);
  if (s.until != unlimited)
    out += fmt::format(", {} in total", to_text(s.until));
  return out;
}

} // namespace

std::string schedule::text() const {
  std::string out;
  for (const auto& part : segments_) {
    if (!out.empty())
      out += "; then ";
    out += segment_text(part);
  }
  return out.empty() ? "none" : out;
}

} // namespace caisson
