#include <simulator/scenario/tune_goal.hpp>

#include <caisson/base/time.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace caisson::sim {

namespace {

std::optional<double> bound_in(std::string_view text) {
  auto share = text.ends_with('%');
  double x = 0;
  if (detail::read_number(share ? text.substr(0, text.size() - 1) : text, x)
        == detail::read_result::good
      && std::isfinite(x))
    return share ? x / 100 : x;
  auto d = share ? std::nullopt : parse_duration(text);
  if (d && *d != unlimited)
    return to_seconds(*d);
  return std::nullopt;
}

std::nullopt_t wrong_goal(std::string message, const setting_path& key,
                          std::string_view place, problems& out) {
  out.push_back(
    {problem_kind::syntax, key, std::move(message), std::string{place}});
  return std::nullopt;
}

} // namespace

std::optional<tune_goal> read_tune_need(std::string_view text,
                                        const setting_path& key,
                                        std::string_view place, problems& out) {
  // The names of gates have arrows, so the last one counts.
  auto at = std::max({text.rfind("<=") + 1, text.rfind(">=") + 1});
  // What is compared within first(...) is part of the name.
  if (at < text.rfind(')') + 1)
    at = 0;
  if (at == 0)
    return wrong_goal(fmt::format("{} is not a need, such as success>=99.9% or "
                                  "p99<=250ms",
                                  detail::quoted(text)),
                      key, place, out);
  --at;
  auto name = detail::trimmed(text.substr(0, at));
  auto limit = detail::trimmed(text.substr(at + 2));
  auto bound = bound_in(limit);
  if (name.empty())
    return wrong_goal(
      fmt::format("{} has no name before its bound", detail::quoted(text)), key,
      place, out);
  if (!bound)
    return wrong_goal(fmt::format("{} is not a bound, allowed: a number, a "
                                  "share such as 99.9%, or a duration such as "
                                  "250ms",
                                  detail::quoted(limit)),
                      key, place, out);
  return tune_goal{std::string{text}, full_metric_name(name),
                   text[at] == '<' ? tune_sense::less : tune_sense::more,
                   bound};
}

std::string too_many_objectives(std::size_t n) {
  return fmt::format("{} goals to optimise, allowed: one or two", n);
}

std::optional<tune_goal>
read_tune_objective(std::string_view text, const setting_path& key,
                    std::string_view place, problems& out) {
  tune_goal g{std::string{text}, {}, {}, {}};
  auto name = detail::trimmed(text);
  if (name.starts_with("min:"))
    g.sense = tune_sense::less;
  if (name.starts_with("max:"))
    g.sense = tune_sense::more;
  if (g.sense)
    name = detail::trimmed(name.substr(4));
  if (name.empty())
    return wrong_goal("a name is empty", key, place, out);
  g.name = full_metric_name(name);
  return g;
}

} // namespace caisson::sim
