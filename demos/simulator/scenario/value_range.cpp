#include <simulator/scenario/value_range.hpp>

#include <caisson/base/time.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace caisson::sim {

namespace {

// -- decimals -----------------------------------------------------------------

// value / 10^digits, exactly.
struct decimal {
  std::int64_t value = 0;
  int digits = 0;
};

// At most 15 digits, so that nothing that is done with them overflows.
std::optional<decimal> decimal_in(std::string_view text) {
  decimal out;
  auto negative = text.starts_with('-');
  if (negative)
    text.remove_prefix(1);
  std::size_t count = 0;
  auto point = false;
  for (auto c : text) {
    if (c == '.' && !std::exchange(point, true))
      continue;
    if (c < '0' || c > '9' || ++count > 15)
      return std::nullopt;
    out.value = out.value * 10 + (c - '0');
    out.digits += point;
  }
  if (count == 0 || text.ends_with('.') || text.starts_with('.'))
    return std::nullopt;
  if (negative)
    out.value = -out.value;
  return out;
}

std::string decimal_text(std::int64_t value, int digits) {
  auto magnitude = fmt::format("{:0{}}", value < 0 ? -value : value,
                               digits + 1);
  if (digits > 0) {
    magnitude.insert(magnitude.size() - static_cast<std::size_t>(digits), ".");
    magnitude.erase(magnitude.find_last_not_of('0') + 1);
    if (magnitude.ends_with('.'))
      magnitude.pop_back();
  }
  return value < 0 ? "-" + magnitude : magnitude;
}

// -- ranges -------------------------------------------------------------------

struct range_texts {
  std::string_view from;
  std::string_view to;
  // Empty if there is none.
  std::string_view step;
};

range_texts parts_of(std::string_view item, std::size_t dots) {
  auto rest = item.substr(dots + 2);
  auto slash = rest.find('/');
  return {detail::trimmed(item.substr(0, dots)),
          detail::trimmed(rest.substr(0, slash)),
          slash == rest.npos ? std::string_view{}
                             : detail::trimmed(rest.substr(slash + 1))};
}

// From, to and step in some unit.
struct number_range {
  std::int64_t from = 0;
  std::int64_t to = 0;
  // 0: none is written.
  std::int64_t step = 0;
  // Digits behind the point; negative: nanoseconds.
  int digits = 0;
};

std::optional<number_range> decimal_range(const range_texts& r) {
  auto from = decimal_in(r.from);
  auto to = decimal_in(r.to);
  auto step = r.step.empty() ? decimal{} : decimal_in(r.step);
  if (!from || !to || !step)
    return std::nullopt;
  number_range out;
  out.digits = std::max({from->digits, to->digits, step->digits});
  std::int64_t* const into[] = {&out.from, &out.to, &out.step};
  const decimal* const parts[] = {&*from, &*to, &*step};
  for (std::size_t i = 0; i < 3; ++i) {
    auto x = parts[i]->value;
    for (int k = parts[i]->digits; k < out.digits; ++k) {
      constexpr auto most = std::numeric_limits<std::int64_t>::max() / 100;
      if (x > most || x < -most)
        return std::nullopt;
      x *= 10;
    }
    *into[i] = x;
  }
  return out;
}

std::optional<number_range> duration_range(const range_texts& r) {
  auto from = parse_duration(r.from);
  auto to = parse_duration(r.to);
  auto step = r.step.empty() ? duration::zero() : parse_duration(r.step);
  if (!from || !to || !step)
    return std::nullopt;
  for (auto d : {*from, *to, *step})
    if (d > duration::max() / 4)
      return std::nullopt;
  return number_range{from->count(), to->count(), step->count(), -1};
}

// Whether it is a number, but written as 1e3.
bool has_exponent(std::string_view text) {
  double ignored = 0;
  return text.find_first_of("eE") != text.npos
         && detail::read_number(text, ignored) == detail::read_result::good;
}

std::string no_range(std::string_view text, const range_texts& r) {
  for (auto part : {r.from, r.to, r.step})
    if (has_exponent(part))
      return fmt::format("{} has a number with an exponent, {}, allowed in a "
                         "range: numbers without one, as in 1000 or 0.001",
                         detail::quoted(text), part);
  return fmt::format("{} is not a range, allowed: numbers as in 5..20/5, or "
                     "durations as in 10ms..50ms/10ms",
                     detail::quoted(text));
}

sweep_value value_at(const number_range& r, std::int64_t x) {
  setting s;
  if (r.digits < 0) {
    s.value = to_text(duration{x});
  } else if (r.digits == 0) {
    s.value = x;
  } else {
    double number = 0;
    (void)detail::read_number(decimal_text(x, r.digits), number);
    s.value = number;
  }
  return sweep_value_of(std::move(s));
}

// -- values -------------------------------------------------------------------

using instants = std::vector<std::int64_t>;

instants spaced_by_step(const number_range& r, std::int64_t step) {
  instants out;
  auto count = (r.to - r.from) / step + 1;
  for (std::int64_t i = 0; i < count; ++i)
    out.push_back(r.from + i * step);
  return out;
}

// All with two significant digits, and both ends.
instants spaced_by_ratio(const number_range& r) {
  instants out;
  std::int64_t unit = 1;
  for (auto x = r.from; x < r.to; x = (x / unit + 1) * unit) {
    while (x / unit >= 100)
      unit *= 10;
    out.push_back(x);
  }
  out.push_back(r.to);
  return out;
}

// 1, 2, 5, 10, 20 and so on, so that some dozens of them fit.
std::int64_t round_step(std::int64_t span) {
  constexpr std::int64_t fewest = 50;
  std::int64_t unit = 1;
  while (span / 10 / unit >= fewest)
    unit *= 10;
  for (std::int64_t f : {5, 2})
    if (span / f / unit >= fewest)
      return unit * f;
  return unit;
}

// Multiples of a round number, and both ends.
instants spaced_by_difference(const number_range& r) {
  auto step = round_step(r.to - r.from);
  instants out{r.from};
  // Not the quotient, which is rounded up below 0.
  auto x = r.from - (r.from % step + step) % step;
  while ((x += step) < r.to)
    out.push_back(x);
  out.push_back(r.to);
  return out;
}

// More digits than are written, so that there is something between the ends.
number_range with_more_digits(number_range r) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / 1000;
  for (int i = 0; i < 2 && r.digits > 0; ++i)
    if (std::abs(r.from) < most && std::abs(r.to) < most) {
      r.from *= 10;
      r.to *= 10;
      ++r.digits;
    }
  return r;
}

instants round_ones(number_range& r) {
  constexpr std::int64_t most_by_one = 1000;
  if (r.digits == 0 && r.to - r.from < most_by_one)
    return spaced_by_step(r, 1);
  if (r.from == r.to)
    return {r.from};
  r = with_more_digits(r);
  return r.from > 0 && r.to / r.from >= wide_range ? spaced_by_ratio(r)
                                                   : spaced_by_difference(r);
}

std::string step_problem(std::string_view text, const range_texts& parts,
                         const number_range& r, range_steps steps) {
  auto chosen = parts.step.empty()
                && (steps == range_steps::round || r.digits == 0);
  if (!chosen && r.step <= 0)
    return fmt::format("{} has no step above 0, allowed: {}..{}/STEP",
                       detail::quoted(text), parts.from, parts.to);
  if (r.from > r.to)
    return fmt::format("{} ends before it begins", detail::quoted(text));
  if (chosen && steps == range_steps::round)
    return {};
  auto count = static_cast<std::uint64_t>((r.to - r.from)
                                          / std::max<std::int64_t>(1, r.step))
               + 1;
  return count > most_sweep_values
           ? fmt::format("{} has {} values, allowed: at most {}",
                         detail::quoted(text), count, most_sweep_values)
           : std::string{};
}

} // namespace

value_range read_value_range(std::string_view text, std::size_t dots,
                             range_steps steps) {
  auto parts = parts_of(text, dots);
  auto r = decimal_range(parts);
  if (!r)
    r = duration_range(parts);
  if (!r)
    return {{}, no_range(text, parts)};
  if (auto wrong = step_problem(text, parts, *r, steps); !wrong.empty())
    return {{}, std::move(wrong)};
  value_range out;
  auto rounded = parts.step.empty() && steps == range_steps::round;
  for (auto x : rounded
                  ? round_ones(*r)
                  : spaced_by_step(*r, std::max<std::int64_t>(1, r->step)))
    out.values.push_back(value_at(*r, x));
  return out;
}

} // namespace caisson::sim
