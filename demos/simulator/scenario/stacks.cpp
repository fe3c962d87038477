#include <simulator/scenario/stacks.hpp>

#include <caisson/config/stack_toml.hpp>
#include <caisson/settings/settings_text.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace caisson::sim {

std::string stacks_value::text() const {
  std::string out;
  for (const auto& [name, entry] : x_)
    out += (out.empty() ? "" : ", ") + name;
  return out;
}

void stacks_value::read(const setting& from, const setting_path& path,
                        problems& out) {
  auto all = detail::table_in(from, path, out);
  if (!all)
    return;
  for (const auto& [name, value] : *all) {
    detail::check_name(name, value.place, path / name, out);
    auto table = detail::table_in(value, path / name, out);
    auto entry = table ? stack_from(*table, name, path / name, value.place, out)
                       : std::nullopt;
    // An invalid stack still exists for its users, so that they report no
    // further problem.
    x_.insert_or_assign(name,
                        std::make_shared<const stack_entry>(
                          entry ? std::move(*entry) : stack_entry{stack{}}));
  }
}

} // namespace caisson::sim
