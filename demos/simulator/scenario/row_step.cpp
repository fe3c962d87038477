#include <simulator/scenario/row_step.hpp>

#include <simulator/scenario/fields.hpp>

#include <caisson/settings/read_value.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <chrono>

namespace caisson::sim {

namespace {

using std::chrono::seconds;

constexpr std::int64_t most_usual_rows = 10'000;

} // namespace

std::optional<std::uint32_t> read_step(std::string_view text) {
  auto d = parse_duration(text);
  if (!d || *d < seconds{1} || *d > longest_time
      || *d % seconds{1} != duration::zero())
    return std::nullopt;
  return static_cast<std::uint32_t>(*d / seconds{1});
}

std::uint32_t next_step(std::uint32_t step, std::uint32_t unit) {
  for (std::uint32_t x : {1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800})
    if (x > step && x % unit == 0)
      return x;
  if (step < 3600 && 3600 % unit == 0)
    return 3600;
  return 2 * step;
}

std::uint32_t usual_step(duration longest) {
  std::uint32_t step = 1;
  auto whole = std::chrono::ceil<seconds>(longest).count();
  while (whole > most_usual_rows * step)
    step = next_step(step, 1);
  return step;
}

std::string step_value::text() const {
  return x_ ? to_text(duration{seconds{*x_}}) : std::string{};
}

void step_value::read(const setting& from, const setting_path& path,
                      problems& out) {
  auto text = detail::text_in(from);
  x_ = text ? read_step(*text) : std::nullopt;
  if (x_)
    return;
  auto time = text && parse_duration(*text).has_value();
  out.push_back(
    {time ? problem_kind::range : problem_kind::type, path,
     fmt::format("{} {}, allowed: {}", to_text(from),
                 time ? "is out of range" : "is not a duration", allowed()),
     from.place});
}

void step_value::check(const setting_path&, problems&) const {}

} // namespace caisson::sim
