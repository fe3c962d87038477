#include <simulator/report/numbers.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace caisson::sim {

namespace {

std::string without_zeros(std::string text) {
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.'))
    text.pop_back();
  return text;
}

// A number with so many digits behind the point.
std::string percent_digits(double share, int digits) {
  auto steps = 100 * std::pow(10, digits);
  // What is half a step in decimals may be a bit less in binary. The pages of
  // results round in the same way.
  auto n = std::floor(share * steps + 0.5 + 1e-9);
  if (share < 1)
    n = std::min(n, steps - 1);
  if (share > 0)
    n = std::max(n, 1.0);
  return fmt::format("{:.{}f}", n / steps * 100, digits);
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

} // namespace

std::string grouped(std::uint64_t n) {
  auto out = std::to_string(n);
  for (auto i = out.size(); i > 3; i -= 3)
    out.insert(i - 3, 1, ',');
  return out;
}

std::string percent_to(double share, int digits) {
  return share >= 0 ? percent_digits(share, digits) + " %" : "-";
}

std::string percent(double share) {
  return percent_to(share, 2);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "-" : percent(share_of(part, whole));
}

std::string short_percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0
           ? "-"
           : without_zeros(percent_digits(share_of(part, whole), 2)) + " %";
}

std::string percent_text(double share) {
  return without_zeros(percent_digits(share, 6)) + " %";
}

std::string short_time(duration d) {
  struct unit {
    std::string_view name;
    double ns;
  };
  constexpr unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  if (d <= duration::zero())
    return "0 s";
  for (const auto& u : units) {
    auto x = static_cast<double>(d.count()) / u.ns;
    // As 999.5 would become 1000.
    if (x >= 999.5 && u.name != "s")
      continue;
    auto digits = x < 9.995 ? 2 : x < 99.95 ? 1 : 0;
    if (u.name == "ns")
      digits = 0;
    return fmt::format("{:.{}f} {}", x, digits, u.name);
  }
  return {}; // Unreachable: seconds take everything.
}

std::string short_seconds(duration d) {
  return without_zeros(fmt::format("{:.1f}", to_seconds(d))) + " s";
}

std::string exact_seconds(duration d) {
  constexpr std::int64_t second = 1'000'000'000;
  return without_zeros(
    fmt::format("{}.{:09}", d.count() / second, d.count() % second));
}

} // namespace caisson::sim
