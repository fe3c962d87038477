#include <simulator/scenario/count_value.hpp>

#include <caisson/settings/read_value.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

namespace caisson::sim {

using detail::read_result;

std::string count_value::type() const {
  return "count";
}

std::string count_value::allowed() const {
  return fmt::format("{} to {}, or \"unlimited\"", range_.lo, range_.hi);
}

std::string count_value::text() const {
  return x_ == unlimited ? "unlimited" : std::to_string(x_);
}

void count_value::read(const setting& from, const setting_path& path,
                       problems& out) {
  auto text = detail::text_in(from);
  if (text && *text == "unlimited") {
    x_ = unlimited;
    return;
  }
  std::int64_t value = 0;
  auto result = read_result::wrong_type;
  if (auto integer = std::get_if<std::int64_t>(&from.value)) {
    value = *integer;
    result = read_result::good;
  } else if (std::holds_alternative<setting::raw>(from.value)) {
    result = detail::read_number(*text, value);
  }
  if (result == read_result::wrong_type)
    out.push_back(
      {problem_kind::type, path,
       fmt::format("{} is not a count, allowed: {}", to_text(from), allowed()),
       from.place});
  else if (result == read_result::too_large || value < range_.lo
           || value > range_.hi)
    out.push_back(
      {problem_kind::range, path,
       fmt::format("{} is out of range, allowed: {}", to_text(from), allowed()),
       from.place});
  else
    x_ = static_cast<std::uint32_t>(value);
}

void count_value::check(const setting_path& path, problems& out) const {
  if (x_ != unlimited && (x_ < range_.lo || x_ > range_.hi))
    out.push_back(
      {problem_kind::range, path,
       fmt::format("{} is out of range, allowed: {}", x_, allowed())});
}

} // namespace caisson::sim
