#include <simulator/scenario/groups.hpp>

#include <simulator/scenario/edges.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson::sim {

// -- as configuration ---------------------------------------------------------

std::string groups_value::text() const {
  std::string out;
  for (const auto& g : x_)
    out += (out.empty() ? "" : ", ") + g.name;
  return out;
}

void groups_value::read(const setting& from, const setting_path& path,
                        problems& out) {
  auto all = detail::table_in(from, path, out);
  if (!all)
    return;
  for (const auto& [name, value] : *all) {
    detail::check_name(name, value.place, path / name, out);
    group_config g;
    g.name = name;
    names_value{g.members, false}.read(value, path / name, out);
    x_.push_back(std::move(g));
  }
}

// -- as sets of names ---------------------------------------------------------

group_map::group_map(const arm_config& arm) {
  for (const auto& x : arm.groups)
    all_.emplace(x.name, &x);
}

const group_config* group_map::find(std::string_view name) const {
  auto i = all_.find(name);
  return i != all_.end() ? i->second : nullptr;
}

group_members::group_members(const std::vector<std::string>& names,
                             const group_map& groups) {
  for (const auto& name : names) {
    if (const auto* group = groups.find(name))
      for (const auto& member : group->members)
        add(member);
    else
      add(name);
  }
  std::ranges::sort(names_);
}

void group_members::add(std::string_view name) {
  all_ = all_ || name == "*";
  names_.push_back(name);
}

bool group_members::touches(std::string_view name,
                            const std::vector<std::string_view>& zones) const {
  if (contains(name, 0, {}) || std::ranges::any_of(zones, [&](auto zone) {
        return contains(name, 0, zone);
      }))
    return true;
  auto prefix = fmt::format("{}#", name);
  auto next = std::ranges::lower_bound(names_, std::string_view{prefix});
  return next != names_.end() && next->starts_with(prefix);
}

bool group_members::contains(std::string_view name, std::uint32_t number,
                             std::string_view zone) const {
  if (all_ || std::ranges::binary_search(names_, name)
      || (!zone.empty() && std::ranges::binary_search(names_, zone)))
    return true;
  return number > 0
         && std::ranges::binary_search(
           names_, std::string_view{fmt::format("{}#{}", name, number)});
}

} // namespace caisson::sim
