#include <simulator/scenario/tune_config.hpp>

#include <caisson/settings.hpp>
#include <caisson/settings/file_order.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace caisson::sim {

namespace {

setting_path tune_key(std::string_view key) {
  return setting_path{} / "tune" / key;
}

std::string_view place_of_key(const section& at, std::string_view key) {
  auto found = at.table.find(key);
  return found == at.table.end() ? at.place
                                 : std::string_view{found->second.place};
}

// The arm whose settings are varied; empty if the file has none.
std::string chosen_arm(const tune_config& config, const section& at,
                       const settings& root, const std::string& arm,
                       problems& out) {
  auto names = arm_names(root);
  std::vector<std::string_view> known{names.begin(), names.end()};
  if (config.arm && std::ranges::find(known, *config.arm) == known.end()) {
    // A file without arms has one of this name.
    if (!known.empty() || *config.arm != "default")
      out.push_back(
        {problem_kind::unknown, tune_key("arm"),
         known.empty()
           ? fmt::format("{} is not an arm: there is only the arm default",
                         detail::quoted(*config.arm))
           : detail::not_one_of(detail::quoted(*config.arm), known),
         std::string{place_of_key(at, "arm")}});
    return {};
  }
  if (!arm.empty())
    return arm;
  if (!config.arm && known.size() > 1)
    out.push_back({problem_kind::missing, tune_key("arm"),
                   fmt::format("is missing: which of the arms is tuned? "
                               "There are {}",
                               fmt::join(known, ", ")),
                   std::string{at.place}});
  if (config.arm && !known.empty())
    return *config.arm;
  return known.size() == 1 ? names.front() : std::string{};
}

void read_counts(settings_reader& fields, const section& from,
                 tune_config& config) {
  auto read = [&](const char* key, const char* help, std::int64_t lo,
                  std::int64_t hi, std::optional<std::uint32_t>& into) {
    std::int64_t x = lo;
    fields.on({key, help}, x, {lo, hi});
    if (from.table.contains(key))
      into = static_cast<std::uint32_t>(x);
  };
  read("budget", "how many runs the search may execute", 1, most_tune_runs,
       config.budget);
  read("seeds", "how many seeds candidates are run with", 1, most_tune_seeds,
       config.seeds);
  read("unseen", "how many other seeds the best candidates are tested with", 0,
       most_tune_seeds, config.unseen);
}

} // namespace

tune_config read_tune(const section& from, const settings& root,
                      const std::string& arm, problems& out) {
  tune_config config;
  settings_reader fields{from, out};
  std::string name;
  fields.on({"arm", "the arm whose settings are tuned"}, name);
  if (from.table.contains("arm"))
    config.arm = name;
  std::vector<std::string> needs;
  std::vector<std::string> best;
  fields.on({"need", "bounds on numbers of the results"}, needs);
  fields.on({"best", "what to optimise"}, best);
  fields.on({"metrics", "which other numbers are shown"}, config.metrics);
  read_counts(fields, from, config);
  auto vary = fields.take("vary");
  fields.finish();
  for (auto& x : config.metrics)
    x = full_metric_name(x);
  for (const auto& text : needs)
    if (auto g = read_tune_need(text, tune_key("need"),
                                place_of_key(from, "need"), out))
      config.needs.push_back(std::move(*g));
  for (const auto& text : best)
    if (auto g = read_tune_objective(text, tune_key("best"),
                                     place_of_key(from, "best"), out))
      config.objectives.push_back(std::move(*g));
  if (best.size() > most_objectives)
    out.push_back({problem_kind::range, tune_key("best"),
                   too_many_objectives(best.size()),
                   std::string{place_of_key(from, "best")}});
  auto tuned = chosen_arm(config, from, root, arm, out);
  if (vary)
    config.parameters = read_sweep_parameters(*vary, tune_key("vary"), root,
                                              out, tune_reading(tuned));
  return config;
}

std::vector<std::string> arm_names(const settings& root) {
  auto arms = root.find("arm");
  auto table = arms == root.end() ? nullptr
                                  : std::get_if<settings>(&arms->second.value);
  std::vector<std::string> out;
  if (table)
    for (const auto& [name, arm] : detail::in_file_order(*table))
      out.emplace_back(name);
  return out;
}

parameter_reading tune_reading(const std::string& arm) {
  return {range_steps::round, arm};
}

} // namespace caisson::sim
