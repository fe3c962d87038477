#include <simulator/report/metric_parts.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace caisson::sim {

namespace {

std::int64_t whole_seconds(duration d, std::string_view what) {
  auto s = std::chrono::floor<std::chrono::seconds>(d);
  if (s != d || d < duration::zero())
    throw std::invalid_argument{fmt::format(
      "{} is {}, allowed: whole seconds, not negative", what, to_text(d))};
  return s.count();
}

} // namespace

void throw_no_such(std::string_view what, std::string_view name,
                   std::span<const std::string_view> known) {
  if (known.empty())
    throw std::invalid_argument{fmt::format(
      "{} {} does not exist: this run has none", what, detail::quoted(name))};
  throw std::invalid_argument{fmt::format(
    "{} {}", what, detail::not_one_of(detail::quoted(name), known))};
}

void throw_not_per_second(std::string_view name) {
  throw std::invalid_argument{
    fmt::format("{} is not kept per second: it cannot have from and to, nor "
                "be within first(...)",
                name)};
}

second_range span_of_time::seconds() const {
  auto second = [](std::int64_t s) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(s, 0, one_row));
  };
  return {second(from), second(to)};
}

span_of_time span_between(duration length, std::optional<duration> from,
                          duration to) {
  if (!from && to == unlimited)
    return {};
  span_of_time out;
  out.whole = false;
  out.from = whole_seconds(from.value_or(duration::zero()), "from");
  // Without an end it is that of the load, as rates would make no sense else.
  auto end = std::chrono::ceil<std::chrono::seconds>(length).count();
  out.to = to == unlimited ? end : whole_seconds(to, "to");
  if (out.from >= end)
    throw std::invalid_argument{
      fmt::format("from is {}s and must be before {}s, the end of the load",
                  out.from, end)};
  if (out.from >= out.to)
    throw std::invalid_argument{
      fmt::format("from is {}s and must be before to, {}s", out.from, out.to)};
  return out;
}

} // namespace caisson::sim
