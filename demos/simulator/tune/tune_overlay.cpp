#include <simulator/tune/tune_overlay.hpp>

#include <simulator/scenario/sweep_path.hpp>
#include <simulator/scenario/toml_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace caisson::sim {

namespace {

// The path in the world of the arm.
setting_path within_arm(const setting_path& path) {
  auto in_arm = path.parts().front() == setting_path::part{"arm"};
  return in_arm ? path.without_first(2) : path;
}

// Whether an arm can say it: lists of edges and faults are added to those of
// the file, only those of stacks are replaced.
bool is_expressible(const setting_path& path) {
  const auto& parts = path.parts();
  return parts.front() == setting_path::part{"arm"}
         || parts.front() == setting_path::part{"stack"}
         || std::ranges::all_of(parts, [](const auto& part) {
              return std::holds_alternative<std::string>(part);
            });
}

std::string free_name(const std::string& base, const settings& root) {
  auto names = arm_names(root);
  auto out = base;
  for (int i = 2; std::ranges::find(names, out) != names.end(); ++i)
    out = fmt::format("{}-{}", base, i);
  return out;
}

const settings& table_of(const settings& in, const std::string& key) {
  return std::get<settings>(in.at(key).value);
}

} // namespace

tune_overlay overlay_of(const tune_plan& p, const tune_candidate& c) {
  tune_overlay out;
  auto values = p.values_of(c);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i])
      out.lines.push_back(fmt::format("{} = {}", to_text(p.parameters[i].path),
                                      written_text(values[i]->value)));
  if (!std::ranges::all_of(p.parameters, is_expressible,
                           &sweep_parameter::path))
    return out;
  auto name = free_name(p.arm_is_named ? p.arm.name + "-tuned" : "tuned",
                        p.root);
  auto root = p.root;
  auto [arms, fresh] = root.try_emplace("arm");
  if (fresh)
    arms->second.value = settings{};
  auto& all = std::get<settings>(arms->second.value);
  // What belongs to the arm stays; what it is called does not.
  auto own = p.arm_is_named ? table_of(all, p.arm.name) : settings{};
  own.erase("title");
  all[name] = {std::move(own), {}};
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i])
      set_at(root,
             (setting_path{} / "arm" / name)
               .joined_with(within_arm(p.parameters[i].path)),
             values[i]->value);
  settings added;
  if (!p.arm_is_named)
    added["present"] = {settings{}, {}, {.line = 1, .column = 1}};
  added[name] = table_of(root, "arm").at(name);
  settings whole;
  whole["arm"] = {std::move(added), {}};
  out.arms = toml_text(whole);
  out.arms.erase(0, out.arms.find_first_not_of('\n'));
  if (p.root.contains("tune") && !table_of(p.root, "tune").contains("arm"))
    out.tune_arm = p.arm_is_named ? p.arm.name : "present";
  return out;
}

} // namespace caisson::sim
