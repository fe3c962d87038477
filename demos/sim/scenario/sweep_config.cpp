#include <sim/scenario/sweep_config.hpp>

#include <sim/scenario/metric_names.hpp>
#include <sim/scenario/sweep_path.hpp>

#include <caisson/detail/file_order.hpp>
#include <caisson/detail/settings_text.hpp>
#include <caisson/settings.hpp>

#include <fmt/format.h>

#include <algorithm>
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
  if (*name == "arm" && parts.size() < 3)
    return "an arm has settings, such as arm.NAME.service.SERVICE.workers";
  return {};
}

// The path that a name stands for; nothing if it cannot be set.
std::optional<setting_path> checked_path(std::string_view name,
                                         std::string_view place,
                                         const settings& root, problems& out) {
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
       fmt::format("{} is no path to a setting, such as service.db.workers or "
                   "fault[0].factor",
                   detail::quoted(name)),
       {}});
  if (auto objection = objection_to(*path); !objection.empty())
    return wrong({problem_kind::relation, *path, std::string{objection}, {}});
  if (auto found = path_problem(root, *path))
    return wrong(std::move(*found));
  return path;
}

// A list of values, or a text that stands for some.
std::vector<sweep_value> values_in(const setting& s, const setting_path& path,
                                   problems& out) {
  if (auto text = std::get_if<std::string>(&s.value))
    return read_sweep_values(*text, path, s.place, out);
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

void read_set(const setting& s, const settings& root, sweep_config& config,
              problems& out) {
  auto at = setting_path{} / "sweep" / "set";
  auto table = detail::table_in(s, at, out);
  if (!table)
    return;
  for (const auto& [name, value] : detail::in_file_order(*table)) {
    auto path = checked_path(name, value->place, root, out);
    auto values = values_in(*value, at / name, out);
    if (path && !values.empty())
      config.parameters.push_back(
        {std::string{name}, std::move(*path), std::move(values)});
  }
}

} // namespace

sweep_config read_sweep(const section& from, const settings& root,
                        problems& out) {
  sweep_config config;
  settings_reader fields{from, out};
  std::int64_t seeds = 0;
  fields.on({"seeds", "how many seeds each setting is played with"}, seeds,
            {1, most_sweep_seeds});
  if (from.table.contains("seeds"))
    config.seeds = static_cast<std::uint32_t>(seeds);
  fields.on({"metrics", "which numbers of the results are shown"},
            config.metrics);
  if (auto set = fields.take("set"))
    read_set(*set, root, config, out);
  fields.finish();
  for (auto& name : config.metrics)
    name = full_metric_name(name);
  return config;
}

std::optional<sweep_parameter>
read_sweep_parameter(std::string_view text, std::string_view place,
                     const settings& root, problems& out) {
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
  auto path = checked_path(name, place, root, out);
  auto values = read_sweep_values(
    text.substr(equals + 1), path.value_or(setting_path{} / name), place, out);
  if (!path || values.empty())
    return std::nullopt;
  return sweep_parameter{std::string{name}, std::move(*path),
                         std::move(values)};
}

std::string full_metric_name(std::string_view name) {
  auto is_latency = std::ranges::find(latency_metric_names, name)
                    != latency_metric_names.end();
  return is_latency ? "latency." + std::string{name} : std::string{name};
}

} // namespace caisson::sim
