#include <sim/report/numbers.hpp>

#include <fmt/format.h>

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

std::string hundredths(std::uint64_t n) {
  return fmt::format("{}.{:02} %", n / 100, n % 100);
}

} // namespace

std::string grouped(std::uint64_t n) {
  auto out = std::to_string(n);
  for (auto i = out.size(); i > 3; i -= 3)
    out.insert(i - 3, 1, ',');
  return out;
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "-" : hundredths(part * 10'000 / whole);
}

std::string percent(double share) {
  if (!(share >= 0))
    return "-";
  // A share that was a fraction with a few digits must not lose its last one.
  return hundredths(static_cast<std::uint64_t>(share * 10'000 + 1e-9));
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
