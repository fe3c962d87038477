#include <caisson/base/time.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace caisson {

namespace {

struct unit {
  std::string_view name;
  std::int64_t ns;
};

// Longest first, so that `ms` is not read as `m` followed by rubbish.
constexpr std::array<unit, 8> units{{
  {"min", 60'000'000'000},
  {"ns", 1},
  {"us", 1'000},
  {"ms", 1'000'000},
  {"s", 1'000'000'000},
  {"m", 60'000'000'000},
  {"h", 3'600'000'000'000},
  {"d", 86'400'000'000'000},
}};

constexpr std::array<unit, 7> output_units{{
  {"d", 86'400'000'000'000},
  {"h", 3'600'000'000'000},
  {"min", 60'000'000'000},
  {"s", 1'000'000'000},
  {"ms", 1'000'000},
  {"us", 1'000},
  {"ns", 1},
}};

// From which length on `rounded_text` uses a unit. Below a second that is where
// three digits of the unit below would become a thousand; a minute and more
// begin late, so that two digits do not stand for many of the unit below.
constexpr std::array<std::int64_t, 7> rounded_from{
  2 * output_units[0].ns,
  2 * output_units[1].ns,
  2 * output_units[2].ns,
  999'500'000,
  999'500,
  1'000,
  0,
};

duration clamped(long double ns) noexcept {
  if (!(ns > 0))
    return duration::zero();
  // 2^63 is the first value that does not fit.
  if (ns >= 9223372036854775808.0L)
    return unlimited;
  return duration{static_cast<std::int64_t>(ns)};
}

// Takes one `<number><unit>` from the front of `text`.
std::optional<long double> take_part(std::string_view& text) {
  // Wide enough for every count of nanoseconds.
  long double value = 0;
  auto [rest, ec] = std::from_chars(text.data(), text.data() + text.size(),
                                    value, std::chars_format::fixed);
  if (ec != std::errc{} || !(value >= 0) || std::signbit(value))
    return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  for (const auto& u : units) {
    if (text.starts_with(u.name)) {
      text.remove_prefix(u.name.size());
      return std::round(value * static_cast<long double>(u.ns));
    }
  }
  return std::nullopt;
}

} // namespace

duration duration_times(duration d, double factor) noexcept {
  if (d == unlimited && factor > 0)
    return unlimited;
  return clamped(static_cast<long double>(d.count()) * factor);
}

duration from_seconds(double s) noexcept {
  return clamped(std::round(static_cast<long double>(s) * 1e9L));
}

std::optional<duration> parse_duration(std::string_view text) {
  if (text == "unlimited")
    return unlimited;
  if (text == "0")
    return duration::zero();
  if (text.empty())
    return std::nullopt;
  long double sum = 0;
  while (!text.empty()) {
    auto part = take_part(text);
    if (!part)
      return std::nullopt;
    sum += *part;
  }
  if (sum >= 9223372036854775807.0L)
    return std::nullopt;
  return duration{static_cast<std::int64_t>(sum)};
}

std::string to_text(duration d) {
  if (d == unlimited)
    return "unlimited";
  if (d.count() == 0)
    return "0s";
  for (const auto& u : output_units)
    if (d.count() % u.ns == 0)
      return fmt::format("{}{}", d.count() / u.ns, u.name);
  return {}; // Unreachable: every count is a multiple of 1 ns.
}

std::string rounded_text(duration d) {
  if (d < duration::zero())
    return "-"
           + rounded_text(d == duration::min() ? unlimited - duration{1} : -d);
  auto exact = to_text(d);
  if (d == unlimited)
    return exact;
  if (auto digits = exact.find_first_not_of("0123456789"); digits <= 3)
    return exact.insert(digits, 1, ' ');
  std::size_t i = 0;
  while (d.count() < rounded_from[i])
    ++i;
  const auto& u = output_units[i];
  auto x = static_cast<double>(d.count()) / static_cast<double>(u.ns);
  auto number = fmt::format("{:.{}f}", x, x < 9.995 ? 2 : x < 99.95 ? 1 : 0);
  if (parse_duration(fmt::format("{}{}", number, u.name)) != d)
    return fmt::format("{} {}", number, u.name);
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.ends_with('.'))
      number.pop_back();
  }
  return fmt::format("{} {}", number, u.name);
}

} // namespace caisson
