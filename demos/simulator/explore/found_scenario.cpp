#include <simulator/explore/found_scenario.hpp>

#include <simulator/explore/fault_texts.hpp>
#include <simulator/scenario/overlay.hpp>
#include <simulator/scenario/toml_text.hpp>

#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace caisson::sim {

namespace fs = std::filesystem;

namespace {

// After everything that a file has.
constexpr std::string_view place_at_end = "end:4000000000:1";

settings* table_at(settings& in, std::string_view key) {
  auto found = in.find(key);
  return found == in.end() ? nullptr
                           : std::get_if<settings>(&found->second.value);
}

// The table of the arm in the file, if there is one.
const settings* own_table(const settings& root, const std::string& name) {
  auto arms = root.find("arm");
  if (arms == root.end())
    return nullptr;
  auto all = std::get_if<settings>(&arms->second.value);
  auto own = all ? all->find(name) : settings::const_iterator{};
  return all && own != all->end() ? std::get_if<settings>(&own->second.value)
                                  : nullptr;
}

settings without(settings table, std::initializer_list<const char*> keys) {
  for (auto key : keys)
    table.erase(key);
  return table;
}

std::string path_from(const fs::path& directory, const fs::path& file) {
  std::error_code failed;
  auto out = fs::proximate(fs::absolute(file), fs::absolute(directory), failed);
  return failed ? fs::absolute(file).string() : out.string();
}

void name_recordings(settings& world, const fs::path& base,
                     const fs::path& directory) {
  auto loads = table_at(world, "load");
  if (!loads)
    return;
  for (auto& [name, load] : *loads) {
    auto table = std::get_if<settings>(&load.value);
    auto recording = table ? table_at(*table, "trace") : nullptr;
    auto file = recording ? recording->find("file") : settings::iterator{};
    if (!recording || file == recording->end())
      continue;
    if (auto text = std::get_if<std::string>(&file->second.value))
      if (fs::path path{*text}; path.is_relative())
        *text = path_from(directory, base / path);
  }
}

void add_faults(settings& world, const std::vector<fault_config>& faults) {
  if (faults.empty())
    return;
  auto [at, fresh] = world.try_emplace("fault");
  if (fresh)
    at->second = {std::vector<setting>{}, std::string{place_at_end}};
  auto& list = std::get<std::vector<setting>>(at->second.value);
  for (const auto& f : faults)
    list.push_back(fault_setting(f));
}

} // namespace

std::string
found_scenario(const settings& root, const fs::path& base,
               const arm_config& arm, const std::vector<fault_config>& faults,
               std::uint64_t seed, const fs::path& directory, bool recovery) {
  auto world = without(root, {"title", "seed", "sweep", "tune", "arm"});
  auto own = own_table(root, arm.name);
  if (own)
    world = overlaid(world, without(*own, {"title"}));
  name_recordings(world, base, directory);
  add_faults(world, faults);
  if (recovery) {
    auto [at, fresh] = world.try_emplace("expect");
    if (fresh)
      at->second = {settings{}, std::string{place_at_end}};
    std::get<settings>(at->second.value)["verdict"] = {
      std::string{verdict_name(verdict_kind::recovered)}, {}};
  }
  world["seed"] = {static_cast<std::int64_t>(seed), {}};
  if (auto title = root.find("title"); title != root.end())
    world["title"] = {title->second.value, {}};
  if (own) {
    settings name_only;
    if (!arm.title.empty())
      name_only["title"] = {arm.title, {}};
    settings arms;
    arms[arm.name] = {std::move(name_only), {}};
    world["arm"] = {std::move(arms), std::string{place_at_end}};
  }
  return toml_text(world);
}

} // namespace caisson::sim
