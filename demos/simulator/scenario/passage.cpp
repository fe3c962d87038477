#include <simulator/scenario/passage.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace caisson::sim {

namespace {

constexpr std::string_view passage_head = "first(";

// Where the comparison begins: the last one, as names of edges have arrows.
std::size_t comparison_in(std::string_view text) {
  auto at = text.find_last_of("<>");
  while (at != text.npos && at > 0 && text[at] == '>' && text[at - 1] == '-')
    at = text.find_last_of("<>", at - 1);
  return at;
}

[[noreturn]] void wrong_passage(std::string_view name, std::string_view why) {
  throw std::invalid_argument{
    fmt::format("{} {}, allowed: first(NAME OP NUMBER) with <, <=, > or >=, "
                "such as first(service.db.queue >= 100)",
                detail::quoted(name), why)};
}

passage::comparison comparison_of(char sign, bool equal) {
  if (sign == '<')
    return equal ? passage::comparison::at_most : passage::comparison::less;
  return equal ? passage::comparison::at_least : passage::comparison::more;
}

std::uint64_t least_count(const passage& p) {
  auto x = p.is == passage::comparison::more ? std::floor(p.bound) + 1
                                             : std::ceil(p.bound);
  constexpr double most = 1e18;
  if (x > most)
    return std::numeric_limits<std::uint64_t>::max();
  return x < 0 ? 0 : static_cast<std::uint64_t>(x);
}

} // namespace

bool passage::holds(double x) const {
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

bool is_passage(std::string_view name) {
  return name.starts_with(passage_head);
}

passage read_passage(std::string_view name) {
  if (!is_passage(name) || !name.ends_with(')'))
    wrong_passage(name, "has no closing bracket at its end");
  auto text = name.substr(passage_head.size());
  text.remove_suffix(1);
  auto at = comparison_in(text);
  if (at == text.npos)
    wrong_passage(name, "compares nothing");
  auto equal = at + 1 < text.size() && text[at + 1] == '=';
  passage out;
  out.metric = detail::trimmed(text.substr(0, at));
  out.is = comparison_of(text[at], equal);
  if (out.metric.empty())
    wrong_passage(name, "has no name before its comparison");
  if (is_passage(out.metric))
    wrong_passage(name, "is about a passage itself");
  auto number = detail::trimmed(text.substr(at + (equal ? 2 : 1)));
  if (detail::read_number(number, out.bound) != detail::read_result::good
      || !std::isfinite(out.bound))
    wrong_passage(
      name, fmt::format("has {} in place of a number", detail::quoted(number)));
  auto rises = out.is == passage::comparison::more
               || out.is == passage::comparison::at_least;
  if (!rises && !level_of(out).target.empty())
    wrong_passage(name, fmt::format("asks when {} is small, which it is at the "
                                    "start: it may have > and >= only",
                                    out.metric));
  return out;
}

level level_of(const passage& p) {
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
