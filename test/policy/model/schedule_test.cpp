#include <caisson/base/random.hpp>
#include <caisson/policy/schedule_settings.hpp>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace caisson {
namespace {

using namespace std::chrono_literals;
using segment = schedule::segment;
using shape = schedule::shape;

constexpr auto highest_index = std::numeric_limits<std::uint32_t>::max();
constexpr long double no_limit = 9223372036854775807.0L;

// -- drawing schedules --------------------------------------------------------

duration draw_duration() {
  return *rc::gen::oneOf(
    rc::gen::element<duration>(0ns, 1ns, 2ns, 3ns, 1s, unlimited / 2,
                               unlimited - 1ns, unlimited),
    rc::gen::map(rc::gen::inRange<std::int64_t>(0, 5'000'000),
                 [](std::int64_t n) { return duration{n}; }));
}

// Any segment that passes the checks.
segment draw_segment(bool with_jitter) {
  segment s;
  s.kind = *rc::gen::element(shape::constant, shape::linear, shape::exponential,
                             shape::fibonacci);
  s.base = draw_duration();
  s.step = draw_duration();
  s.factor = *rc::gen::element(1.0, 1.0 + 1e-9, 1.5, 2.0, 3.0, 1e6);
  if (s.kind == shape::exponential || s.kind == shape::fibonacci)
    s.base = std::max<duration>(s.base, 1ns);
  s.max = std::max(s.base, draw_duration());
  if (with_jitter) {
    s.spread = *rc::gen::element(jitter::none, jitter::full, jitter::equal,
                                 jitter::factor);
    s.spread_factor = *rc::gen::element(0.0, 1e-12, 0.25, 0.5, 1.0);
    if (*rc::gen::inRange(0, 5) == 0)
      s.kind = shape::decorrelated, s.spread = jitter::none,
      s.base = std::max<duration>(s.base, 1ns), s.max = std::max(s.base, s.max);
  }
  return s;
}

std::uint32_t draw_index() {
  return *rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 100),
                         rc::gen::element(highest_index - 1, highest_index));
}

// -- a slow model -------------------------------------------------------------

long double count(duration d) {
  return static_cast<long double>(d.count());
}

// The n-th delay without limit and jitter, by repeated addition and
// multiplication; not for `decorrelated`.
long double plain_delay(const segment& s, std::uint32_t n) {
  auto now = count(s.base);
  auto last = 0.0L;
  if (s.kind == shape::linear)
    return now + count(s.step) * n;
  for (std::uint32_t i = 0; i < n && now < no_limit && now > 0; ++i) {
    if (s.kind == shape::exponential && s.factor * s.factor > 1.1)
      now *= s.factor;
    else if (s.kind == shape::exponential)
      return now * std::pow(static_cast<long double>(s.factor), n);
    else if (s.kind == shape::fibonacci)
      last = std::exchange(now, now + last);
    else
      break;
  }
  return now;
}

long double model_delay(const segment& s, std::uint32_t n) {
  return std::min({plain_delay(s, n), count(s.max), no_limit});
}

// Whether `d` is `expected` but for rounding: delays are whole nanoseconds, and
// powers of a factor have 53 bits.
bool close(duration d, long double expected) {
  return std::abs(count(d) - expected) <= 1 + expected * 1e-14L;
}

std::string shown(const segment& s) {
  return to_text(schedule{{s}});
}

// -- properties ---------------------------------------------------------------

RC_GTEST_PROP(schedule_property, agrees_with_the_formula_at_any_index, ()) {
  for (int i = 0; i < 50; ++i) {
    auto s = draw_segment(false);
    random_source random{1};
    schedule::cursor at{.index = draw_index()};
    auto n = at.index;
    auto d = schedule{{s}}.next(at, random);
    RC_ASSERT(d.has_value());
    RC_LOG() << shown(s) << " at " << n << ": " << d->count() << std::endl;
    RC_ASSERT(close(*d, model_delay(s, n)));
  }
}

RC_GTEST_PROP(schedule_property, is_never_negative_and_never_above_max, ()) {
  for (int i = 0; i < 50; ++i) {
    auto s = draw_segment(true);
    schedule all{{s}};
    random_source random{*rc::gen::arbitrary<std::uint64_t>()};
    schedule::cursor at{.previous = draw_duration(), .index = draw_index()};
    for (int j = 0; j < 5; ++j) {
      auto d = all.next(at, random);
      RC_ASSERT(d.has_value());
      RC_LOG() << shown(s) << ": " << d->count() << std::endl;
      RC_ASSERT(*d >= 0ns);
      RC_ASSERT(*d <= s.max);
    }
  }
}

RC_GTEST_PROP(schedule_property, jitter_stays_in_its_interval, ()) {
  for (int i = 0; i < 50; ++i) {
    auto s = draw_segment(true);
    if (s.kind == shape::decorrelated)
      continue;
    random_source random{*rc::gen::arbitrary<std::uint64_t>()};
    schedule::cursor at{.index = draw_index()};
    auto n = at.index;
    auto x = count(schedule{{s}}.next(at, random).value());
    auto d = model_delay(s, n);
    auto f = static_cast<long double>(s.spread_factor);
    auto slack = 1 + d * 1e-14L;
    RC_LOG() << shown(s) << " at " << n << ": " << x << std::endl;
    switch (s.spread) {
      case jitter::none:
        RC_ASSERT(std::abs(x - d) <= slack);
        break;
      case jitter::full:
        RC_ASSERT(x < d + slack);
        break;
      case jitter::equal:
        RC_ASSERT(x >= d / 2 - slack);
        RC_ASSERT(x < d + slack);
        break;
      case jitter::factor:
        RC_ASSERT(x >= d - f * d - slack);
        RC_ASSERT(x <= d + f * d + slack);
        break;
    }
  }
}

RC_GTEST_PROP(schedule_property,
              decorrelated_is_between_base_and_factor_times_the_last, ()) {
  auto base = std::max<duration>(1ns, draw_duration());
  auto max = std::max(base, draw_duration());
  auto factor = *rc::gen::element(1.0, 1.5, 3.0, 1e6);
  auto s = schedule::decorrelated(base, max, factor);
  random_source random{*rc::gen::arbitrary<std::uint64_t>()};
  schedule::cursor at;
  auto last = s.next(at, random).value();
  RC_ASSERT(last == base);
  for (int i = 0; i < 100; ++i) {
    auto d = s.next(at, random).value();
    RC_ASSERT(d >= base);
    RC_ASSERT(d <= max);
    RC_ASSERT(count(d) <= std::max(count(base), count(last) * factor));
    last = d;
  }
}

RC_GTEST_PROP(schedule_property, the_same_seed_gives_the_same_delays, ()) {
  schedule s{{draw_segment(true), draw_segment(true)}};
  auto seed = *rc::gen::arbitrary<std::uint64_t>();
  random_source one{seed};
  random_source two{seed};
  schedule::cursor at_one;
  schedule::cursor at_two;
  for (int i = 0; i < 100; ++i)
    RC_ASSERT(s.next(at_one, one) == s.next(at_two, two));
}

// What a schedule without jitter does, computed naively: all its delays up to
// `most`, segment by segment.
std::vector<duration> model_run(const std::vector<segment>& segments,
                                std::size_t most) {
  std::vector<duration> out;
  for (const auto& s : segments) {
    long double sum = 0;
    for (std::uint32_t n = 0; s.take == 0 || n < s.take; ++n) {
      auto d = model_delay(s, n);
      if (out.size() == most
          || (s.until != unlimited && sum + d > count(s.until)))
        break;
      sum += d;
      out.push_back(duration{static_cast<std::int64_t>(d)});
    }
  }
  return out;
}

RC_GTEST_PROP(schedule_property, take_and_until_end_segments_exactly, ()) {
  std::vector<segment> segments(*rc::gen::inRange<std::size_t>(0, 5));
  for (auto& s : segments) {
    s.kind = *rc::gen::element(shape::constant, shape::linear,
                               shape::exponential, shape::fibonacci);
    s.base = duration{*rc::gen::inRange(1, 20)};
    s.step = duration{*rc::gen::inRange(0, 5)};
    s.max = std::max(s.base, duration{*rc::gen::inRange(1, 60)});
    s.take = *rc::gen::inRange<std::uint32_t>(0, 8);
    s.until = *rc::gen::oneOf(rc::gen::element<duration>(0ns, 1ns, unlimited),
                              rc::gen::map(rc::gen::inRange(0, 200),
                                           [](int n) { return duration{n}; }));
  }
  constexpr std::size_t most = 200;
  schedule s{segments};
  random_source random{1};
  schedule::cursor at;
  std::vector<duration> got;
  while (got.size() < most)
    if (auto d = s.next(at, random))
      got.push_back(*d);
    else
      break;
  RC_LOG() << to_text(s) << std::endl;
  RC_ASSERT(got == model_run(segments, most));
}

RC_GTEST_PROP(schedule_property, take_and_until_hold_with_jitter_too, ()) {
  auto s = draw_segment(true);
  s.take = *rc::gen::inRange<std::uint32_t>(1, 200);
  auto bounded = *rc::gen::arbitrary<bool>();
  if (bounded)
    s.until = draw_duration();
  schedule all{{s}};
  random_source random{*rc::gen::arbitrary<std::uint64_t>()};
  schedule::cursor at;
  std::uint32_t n = 0;
  long double sum = 0;
  while (auto d = all.next(at, random)) {
    ++n;
    sum += count(*d);
    RC_ASSERT(n <= s.take);
  }
  if (s.until == unlimited)
    RC_ASSERT(n == s.take);
  else
    RC_ASSERT(sum <= count(s.until));
}

// -- settings -----------------------------------------------------------------

RC_GTEST_PROP(schedule_property, what_is_drawn_here_passes_the_checks, ()) {
  problems found;
  check_schedule(schedule{{draw_segment(true)}}, "s", found);
  RC_ASSERT(to_text(found) == "");
}

RC_GTEST_PROP(schedule_property, a_text_is_taken_or_refused_as_a_whole, ()) {
  const auto before = schedule::exponential(1s).limit(9s);
  auto key = rc::gen::element<std::string>(
    "kind", "base", "step", "factor", "max", "jitter", "jitter_factor", "take",
    "until", "", "base.base", "other");
  auto text = rc::gen::oneOf(
    rc::gen::element<std::string>("constant", "linear", "decorrelated", "0",
                                  "1", "-1", "1e6", "nan", "5s", "unlimited",
                                  "full", "factor", "none", ""),
    rc::gen::arbitrary<std::string>());
  std::map<std::string, std::string> pairs;
  for (int i = *rc::gen::inRange(1, 5); i > 0; --i)
    pairs["s." + *key] = *text;
  auto after = before;
  problems found;
  read_schedule(settings_from_text(pairs).at("s"), "s", after, found);
  problems left;
  check_schedule(after, "s", left);
  RC_ASSERT(left.empty());
  RC_ASSERT(found.empty() || after == before);
}

} // namespace
} // namespace caisson
