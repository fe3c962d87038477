#include <caisson/settings/settings.hpp>

#include <set>
#include <string>
#include <utility>

namespace caisson {

problems with_places(problems found, const section& from) {
  auto outer = from.path.parts().size();
  for (auto& p : found) {
    if (!p.place.empty())
      continue;
    if (p.key.starts_with(from.path)) {
      auto inner = as_written(from.table, p.key.without_first(outer));
      p.place = place_of(from.table, inner);
      p.key = from.path.joined_with(inner);
    }
    if (p.place.empty())
      p.place = from.place;
  }
  return found;
}

void add_problems(problems more, const section& from, problems& out) {
  if (more.empty())
    return;
  std::set<setting_path> known;
  for (const auto& p : out)
    known.insert(p.key);
  for (auto& p : with_places(std::move(more), from))
    if (!known.contains(p.key))
      out.push_back(std::move(p));
}

} // namespace caisson
