#include <simulator/scenario/scenario.hpp>

#include <simulator/scenario/edges.hpp>
#include <simulator/scenario/expect.hpp>
#include <simulator/scenario/fields.hpp>
#include <simulator/scenario/hints.hpp>
#include <simulator/scenario/loads.hpp>
#include <simulator/scenario/overlay.hpp>
#include <simulator/scenario/recorded_loads.hpp>
#include <simulator/scenario/row_step.hpp>
#include <simulator/scenario/services.hpp>

#include <caisson/settings/file_order.hpp>
#include <caisson/settings/settings_text.hpp>
#include <caisson/settings/toml.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace caisson::sim {

namespace {

// -- a world ------------------------------------------------------------------

// Puts what has been read into the form in which it is executed.
void resolve(arm_config& arm, const section& at) {
  for (auto& load : arm.loads)
    if (!load.target.empty())
      load.mix = {{load.target, 1.0}};
  if (auto found = at.table.find("expect"); found != at.table.end())
    if (auto table = std::get_if<settings>(&found->second.value))
      resolve_bounds(arm.expect, {*table, "expect", found->second.place});
}

problems read_world(const section& at, const recording_source& recordings,
                    arm_config& arm) {
  problems out;
  read_fields(at, arm, out);
  check_relations(at, arm, out);
  resolve(arm, at);
  read_recordings(arm, recordings, at, out);
  return out;
}

// -- a file -------------------------------------------------------------------

// The keys of a world.
std::vector<std::string> part_keys() {
  std::vector<std::string> out;
  for (auto& row : rows_of(arm_config{}))
    out.push_back(std::move(row.key));
  return out;
}

class scenario_reader {
public:
  scenario_reader(const settings& root, std::string_view source,
                  const recording_source& recordings, problems& out)
    : root_(root), source_(source), recordings_(recordings), out_(out),
      found_(root) {}

  scenario read() {
    settings_reader top{{root_, {}, source_}, out_};
    top.on({"title", "what the scenario is about"}, result_.title);
    std::int64_t seed = 1;
    top.on({"seed", "the seed of all random numbers"}, seed,
           {0, std::numeric_limits<std::int64_t>::max()});
    result_.seed = static_cast<std::uint64_t>(seed);
    step_value rows{result_.rows};
    top.on({"rows", "how long a row of the results is"}, rows);
    take_parts(top);
    auto sweep = top.take("sweep");
    auto tune = top.take("tune");
    // What differs from the world in the file. They are read when it is known
    // which of its keys are misspelled.
    std::vector<std::pair<std::string, section>> arms;
    top.named_tables({"arm", "what differs in each arm"},
                     [&](const std::string& name, const section& at) {
                       arms.emplace_back(name, at);
                     });
    finish(top);
    for (const auto& [name, at] : arms)
      read_arm(name, at);
    if (result_.arms.empty())
      read_arm_world({}, {{}, {}});
    if (sweep)
      read_sweep_table(*sweep);
    if (tune)
      read_tune_table(*tune);
    for (auto& p : found_.take())
      if (p.kind != problem_kind::missing || !misspelled_.contains(p.key))
        out_.push_back(std::move(p));
    return std::move(result_);
  }

private:
  void read_sweep_table(const setting& s) {
    auto path = setting_path{} / "sweep";
    if (auto table = detail::table_in(s, path, out_))
      result_.sweep = read_sweep({*table, path, s.place}, root_, out_);
  }

  void read_tune_table(const setting& s) {
    auto path = setting_path{} / "tune";
    if (auto table = detail::table_in(s, path, out_))
      result_.tune = read_tune({*table, path, s.place}, root_, {}, out_);
  }

  // Takes the keys of a world; they are looked at when it is read.
  void take_parts(settings_reader& from) const {
    for (const auto& key : parts_)
      from.take(key);
  }

  // What is there under another name is not missing in the world.
  void finish(settings_reader& from) {
    from.finish();
    for (const auto& key : from.misspelled())
      misspelled_.insert(setting_path{} / key);
  }

  [[nodiscard]] settings parts_in(const settings& from) const {
    settings out;
    for (const auto& key : parts_)
      if (auto found = from.find(key); found != from.end())
        out.insert(*found);
    return out;
  }

  void read_arm(const std::string& name, const section& at) {
    detail::check_name(name, at.place, at.path, out_);
    arm_config arm;
    arm.name = name;
    settings_reader fields{at, out_};
    fields.on({"title", "what is different in this arm"}, arm.title);
    take_parts(fields);
    finish(fields);
    read_arm_world(std::move(arm), {parts_in(at.table), std::string{at.place}});
  }

  void read_arm_world(arm_config arm, const setting& from) {
    auto parts = std::get_if<settings>(&from.value);
    auto root = overlaid(parts_in(root_), parts ? *parts : settings{});
    auto found = read_world({root, {}, source_}, recordings_, arm);
    for (auto& bound : arm.expect.bounds)
      bound.key = key_in_file(bound.key, bound.place, arm.name, from);
    found_.add(std::move(found), arm.name, from);
    result_.arms.push_back(std::move(arm));
  }

  const settings& root_;
  std::string_view source_;
  const recording_source& recordings_;
  problems& out_;
  arm_problems found_;
  const std::vector<std::string> parts_ = part_keys();
  std::set<setting_path> misspelled_;
  scenario result_;
};

// What is wrong with the scenario itself comes first, in the order of the file;
// then what is wrong with other files.
problems sorted_by_place(problems found, std::string_view source) {
  struct ranked {
    bool elsewhere;
    detail::file_position at;
    problem* what;
  };
  auto prefix = fmt::format("{}:", source);
  std::vector<ranked> order;
  for (auto& p : found) {
    auto here = p.place == source || p.place.starts_with(prefix);
    order.push_back(
      {!here, here ? detail::position_of(p.place) : detail::file_position{},
       &p});
  }
  std::stable_sort(
    order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::tie(a.elsewhere, a.at) < std::tie(b.elsewhere, b.at);
    });
  problems out;
  for (const auto& x : order)
    out.push_back(std::move(*x.what));
  return out;
}

} // namespace

scenario scenario_from(const settings& root, std::string_view source_name,
                       const recording_source& recordings, problems found) {
  problems more;
  auto result = scenario_reader{root, source_name, recordings, more}.read();
  // A value that cannot be read is reported already and missing from `root`,
  // which must not be reported again.
  add_problems(std::move(more), {root, {}, source_name}, found);
  if (found.empty())
    return result;
  add_hints(found);
  throw config_error{sorted_by_place(std::move(found), source_name)};
}

scenario parse_scenario(std::string_view text, std::string_view source_name,
                        const std::filesystem::path& base) {
  problems found;
  auto root = parse_toml(text, source_name, found);
  if (root.empty() && !found.empty())
    throw config_error{std::move(found)};
  return scenario_from(root, source_name, base, std::move(found));
}

scenario load_scenario(const std::filesystem::path& path) {
  problems found;
  auto root = read_toml_file(path, found);
  if (root.empty() && !found.empty())
    throw config_error{std::move(found)};
  return scenario_from(root, path.string(), path.parent_path(),
                       std::move(found));
}

} // namespace caisson::sim
