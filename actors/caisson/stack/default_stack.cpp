#include <caisson/stack/default_stack.hpp>

#include <caisson/settings/setting_tables.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace caisson::detail {

namespace {

// The names of layers as a stack gives them.
std::vector<std::string> names_of(const std::vector<setting>& layers) {
  std::vector<std::string> out;
  auto taken = [&](const std::string& name) {
    return std::find(out.begin(), out.end(), name) != out.end();
  };
  for (const auto& x : layers) {
    auto* table = table_in(&x);
    auto* name = table ? text_in(find_in(*table, "name")) : nullptr;
    auto* kind = table ? text_in(find_in(*table, "kind")) : nullptr;
    auto named = name && !name->empty();
    auto result = named ? *name : kind ? *kind : std::string{};
    if (!named)
      for (int i = 2; taken(result); ++i)
        result = fmt::format("{}-{}", kind ? *kind : std::string{}, i);
    out.push_back(std::move(result));
  }
  return out;
}

} // namespace

void inherit_from(const settings& base, settings& gate) {
  auto own_layers = gate.contains("layer") || gate.contains("preset");
  for (const auto& [key, value] : base)
    if (key != "worker" && !(own_layers && (key == "layer" || key == "preset")))
      gate.try_emplace(key, value);
}

void apply_overrides(settings& gate, const setting_path& path, bool inherits,
                     problems& out) {
  auto found = gate.find("override");
  if (found == gate.end())
    return;
  auto overrides = std::move(found->second);
  gate.erase(found);
  auto at = path / "override";
  auto* all = table_in(overrides, at, out);
  if (!all)
    return;
  auto* layers = inherits ? list_in(gate, "layer") : nullptr;
  if (!layers) {
    out.push_back({problem_kind::relation, at,
                   "changes the layers of `default`: there are none, or the "
                   "gate has its own",
                   overrides.place});
    return;
  }
  auto names = names_of(*layers);
  for (const auto& [name, value] : *all) {
    auto* change = table_in(value, at / name, out);
    auto i = std::find(names.begin(), names.end(), name);
    if (i == names.end()) {
      out.push_back({problem_kind::unknown, at / name,
                     "no layer of `default` has this name"
                       + hint(nearest(name, names))
                       + " known layers: " + listed_names(names),
                     value.place});
      continue;
    }
    if (!change)
      continue;
    for (auto* fixed : {"kind", "name"})
      if (auto* x = find_in(*change, fixed))
        out.push_back({problem_kind::relation, at / name / fixed,
                       "cannot be changed", x->place});
    auto& changed = (*layers)[static_cast<std::size_t>(i - names.begin())];
    if (auto* table = std::get_if<settings>(&changed.value))
      merge_tables(*table, *change);
  }
}

} // namespace caisson::detail
