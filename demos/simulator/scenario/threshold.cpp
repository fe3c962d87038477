#include <simulator/scenario/threshold.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace caisson::sim {

namespace {

constexpr std::string_view threshold_head = "first(";

// Where the comparison begins: the last one, as names of edges have arrows.
std::size_t comparison_in(std::string_view text) {
  auto at = text.find_last_of("<>");
  while (at != text.npos && at > 0 && text[at] == '>' && text[at - 1] == '-')
    at = text.find_last_of("<>", at - 1);
  return at;
}

[[noreturn]] void wrong_threshold(std::string_view name, std::string_view why) {
  throw std::invalid_argument{
    fmt::format("{} {}, allowed: first(NAME OP NUMBER) with <, <=, > or >=, "
                "such as first(service.db.queue >= 100)",
                detail::quoted(name), why)};
}

threshold::comparison comparison_of(char sign, bool equal) {
  if (sign == '<')
    return equal ? threshold::comparison::at_most : threshold::comparison::less;
  return equal ? threshold::comparison::at_least : threshold::comparison::more;
}

std::uint64_t least_count(const threshold& p) {
  auto x = p.is == threshold::comparison::more ? std::floor(p.bound) + 1
                                               : std::ceil(p.bound);
  constexpr double most = 1e18;
  if (x > most)
    return std::numeric_limits<std::uint64_t>::max();
  return x < 0 ? 0 : static_cast<std::uint64_t>(x);
}

} // namespace

bool threshold::holds(double x) const {
  switch (is) {
    case comparison::less:
      return x < bound;
    case comparison::at_most:
      return x <= bound;
    case comparison::more:
      return x > bound;
    case comparison::at_least:
      break;
  }
  return x >= bound;
}

bool is_time_to_threshold(std::string_view name) {
  return name.starts_with(threshold_head);
}

threshold read_threshold(std::string_view name) {
  if (!is_time_to_threshold(name) || !name.ends_with(')'))
    wrong_threshold(name, "has no closing bracket at its end");
  auto text = name.substr(threshold_head.size());
  text.remove_suffix(1);
  auto at = comparison_in(text);
  if (at == text.npos)
    wrong_threshold(name, "compares nothing");
  auto equal = at + 1 < text.size() && text[at + 1] == '=';
  threshold out;
  out.metric = detail::trimmed(text.substr(0, at));
  out.is = comparison_of(text[at], equal);
  if (out.metric.empty())
    wrong_threshold(name, "has no name before its comparison");
  if (is_time_to_threshold(out.metric))
    wrong_threshold(name, "is a time to threshold itself");
  auto number = detail::trimmed(text.substr(at + (equal ? 2 : 1)));
  if (detail::read_number(number, out.bound) != detail::read_result::good
      || !std::isfinite(out.bound))
    wrong_threshold(
      name, fmt::format("has {} in place of a number", detail::quoted(number)));
  auto rises = out.is == threshold::comparison::more
               || out.is == threshold::comparison::at_least;
  if (!rises && !level_of(out).target.empty())
    wrong_threshold(name,
                    fmt::format("asks when {} is small, which it is at the "
                                "start: it may have > and >= only",
                                out.metric));
  return out;
}

level level_of(const threshold& p) {
  constexpr std::string_view family = "service.";
  std::string_view name = p.metric;
  auto dot = name.rfind('.');
  if (!name.starts_with(family) || dot < family.size())
    return {};
  auto last = name.substr(dot + 1);
  if (last != "queue" && last != "inside")
    return {};
  return {name.substr(family.size(), dot - family.size()),
          last == "queue" ? level::kind::queue : level::kind::inside,
          least_count(p)};
}

} // namespace caisson::sim
