#include <simulator/scenario/sweep_config.hpp>

#include <simulator/scenario/expect.hpp>
#include <simulator/scenario/metric_names.hpp>
#include <simulator/scenario/sweep_path.hpp>

#include <caisson/settings.hpp>
#include <caisson/settings/file_order.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace caisson::sim {

namespace {

// What cannot be swept, and why.
std::string_view objection_to(const setting_path& path) {
  const auto& parts = path.parts();
  auto name = std::get_if<std::string>(&parts.front());
  if (!name)
    return {};
  if (*name == "seed")
    return "seeds are not set but counted: see --seed and --seeds";
  if (*name == "sweep")
    return "a sweep does not change itself";
  if (*name == "tune")
    return "tuning does not change itself";
  if (*name == "arm" && parts.size() < 3)
    return "an arm has settings, such as arm.NAME.service.SERVICE.workers";
  return {};
}

// An arm that sets something itself is not affected by what is set around it,
// and it replaces a stack as a whole.
setting_path in_arm(const std::string& arm, setting_path path,
                    const settings& root) {
  const auto& parts = path.parts();
  if (arm.empty() || parts.front() == setting_path::part{"arm"})
    return path;
  auto own = setting_path{} / "arm" / arm;
  auto stack = parts.size() > 2 && parts[0] == setting_path::part{"stack"}
                   && std::holds_alternative<std::string>(parts[1])
                 ? own / "stack" / std::get<std::string>(parts[1])
                 : own.joined_with(path);
  own = own.joined_with(path);
  auto is_own = has_value_at(root, stack) || has_value_at(root, own)
                || (path_problem(root, path) && !path_problem(root, own));
  return is_own ? own : path;
}

// The path that a name stands for; nothing if it cannot be set.
std::optional<setting_path>
checked_path(std::string_view name, std::string_view place,
             const settings& root, const parameter_reading& how,
             problems& out) {
  auto wrong = [&](problem p) {
    p.place = place;
    out.push_back(std::move(p));
    return std::nullopt;
  };
  auto excess = detail::key_excess(name);
  if (!excess.empty())
    return wrong({problem_kind::syntax, {}, std::move(excess), {}});
  auto path = parse_path(name);
  if (!path)
    return wrong(
      {problem_kind::syntax,
       {},
       fmt::format(
         "{} is not a path to a setting, such as service.db.workers or "
         "fault[0].factor",
         detail::quoted(name)),
       {}});
  if (auto objection = objection_to(*path); !objection.empty())
    return wrong({problem_kind::relation, *path, std::string{objection}, {}});
  path = in_arm(how.arm, std::move(*path), root);
  if (auto found = path_problem(root, *path))
    return wrong(std::move(*found));
  return path;
}

// A list of values, or a text that stands for some.
std::vector<sweep_value> values_in(const setting& s, const setting_path& path,
                                   range_steps steps, problems& out) {
  if (auto text = std::get_if<std::string>(&s.value))
    return read_sweep_values(*text, path, s.place, out, steps);
  auto list = std::get_if<std::vector<setting>>(&s.value);
  if (!list)
    return {sweep_value_of(s)};
  std::vector<sweep_value> values;
  for (const auto& item : *list)
    values.push_back(sweep_value_of(item));
  if (values.empty() || values.size() > most_sweep_values)
    out.push_back({problem_kind::range, path,
                   fmt::format("{} values, allowed: 1 to {}", values.size(),
                               most_sweep_values),
                   s.place});
  return values;
}

// Whoever sets the whole of a table or list sets what was set in it before in
// vain.
void check_order(const std::vector<sweep_parameter>& all, problems& out) {
  for (auto later = all.begin(); later != all.end(); ++later)
    for (auto x = all.begin(); x != later; ++x)
      if (x->path.starts_with(later->path))
        out.push_back(
          {problem_kind::relation, later->path,
           fmt::format("replaces all of it, so {} would change nothing",
                       to_text(x->path)),
           later->values.front().value.place});
}

// Where only some values exclude the other setting, they are a grid with rows
// in which it has no effect.
void check_alternatives(const std::vector<sweep_parameter>& all,
                        problems& out) {
  auto always = [](const sweep_parameter& x, const sweep_parameter& other) {
    return values_excluding(x, other).size() == x.values.size();
  };
  for (auto later = all.begin(); later != all.end(); ++later)
    for (auto x = all.begin(); x != later; ++x)
      if (always(*x, *later) || always(*later, *x))
        out.push_back({problem_kind::relation, later->path,
                       fmt::format("cannot be set together with {}: one "
                                   "excludes the other",
                                   to_text(x->path)),
                       later->values.front().value.place});
}

} // namespace

sweep_config read_sweep(const section& from, const settings& root,
                        problems& out) {
  sweep_config config;
  settings_reader fields{from, out};
  std::int64_t seeds = 0;
  fields.on({"seeds", "how many seeds each setting is run with"}, seeds,
            {1, most_sweep_seeds});
  if (from.table.contains("seeds"))
    config.seeds = static_cast<std::uint32_t>(seeds);
  fields.on({"metrics", "which numbers of the results are shown"},
            config.metrics);
  if (auto set = fields.take("set"))
    config.parameters = read_sweep_parameters(
      *set, setting_path{} / "sweep" / "set", root, out);
  fields.finish();
  problems unknown;
  for (std::size_t i = 0; i < config.metrics.size(); ++i) {
    auto& name = config.metrics[i];
    name = full_metric_name(name);
    check_metric(name, setting_path{} / "sweep" / "metrics" / i, unknown);
  }
  for (auto& p : unknown) {
    p.place = from.table.at("metrics").place;
    out.push_back(std::move(p));
  }
  return config;
}

std::optional<sweep_parameter>
read_sweep_parameter(std::string_view text, std::string_view place,
                     const settings& root, problems& out,
                     const parameter_reading& how) {
  // No name of a service has an equals sign, but a key in quotes may.
  auto equals = text.find('=');
  auto name = detail::trimmed(text.substr(0, equals));
  if (equals == text.npos || name.empty()) {
    out.push_back({problem_kind::syntax,
                   {},
                   fmt::format("{} is not PATH=VALUES, such as "
                               "service.db.workers=5..20/5",
                               detail::quoted(text)),
                   std::string{place}});
    return std::nullopt;
  }
  auto path = checked_path(name, place, root, how, out);
  auto values = read_sweep_values(text.substr(equals + 1),
                                  path.value_or(setting_path{} / name), place,
                                  out, how.steps);
  if (!path || values.empty())
    return std::nullopt;
  return sweep_parameter{std::string{name}, std::move(*path),
                         std::move(values)};
}

std::vector<sweep_parameter>
read_sweep_parameters(const setting& table, const setting_path& at,
                      const settings& root, problems& out,
                      const parameter_reading& how) {
  std::vector<sweep_parameter> all;
  auto rows = detail::table_in(table, at, out);
  if (!rows)
    return all;
  for (const auto& [name, value] : detail::in_file_order(*rows)) {
    auto path = checked_path(name, value->place, root, how, out);
    auto values = values_in(*value, at / name, how.steps, out);
    if (path && !values.empty())
      all.push_back({std::string{name}, std::move(*path), std::move(values)});
  }
  return all;
}

std::vector<sweep_parameter>
with_parameters(std::vector<sweep_parameter> all,
                const std::vector<std::string>& texts,
                const std::string& option, const settings& root,
                const parameter_reading& how) {
  problems found;
  std::set<setting_path> paths;
  for (const auto& text : texts) {
    auto p = read_sweep_parameter(text, option, root, found, how);
    if (!p)
      continue;
    if (!paths.insert(p->path).second)
      found.push_back(
        {problem_kind::relation, p->path, "is given more than once", option});
    auto same = std::ranges::find(all, p->path, &sweep_parameter::path);
    if (same == all.end())
      all.push_back(std::move(*p));
    else
      *same = std::move(*p);
  }
  check_order(all, found);
  check_alternatives(all, found);
  if (!found.empty())
    throw config_error{std::move(found)};
  return all;
}

std::vector<std::string> values_excluding(const sweep_parameter& x,
                                          const sweep_parameter& other) {
  std::vector<std::string> out;
  for (const auto& v : x.values)
    if (excludes(x.path, v.value, other.path))
      out.push_back(v.text);
  return out;
}

} // namespace caisson::sim
