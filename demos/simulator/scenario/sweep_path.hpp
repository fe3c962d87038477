// Settings of a scenario by their path.
#pragma once

#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting.hpp>
#include <caisson/settings/setting_path.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// Reads `service.db.workers`, `edge[0].latency`, or
/// `load.users.mix."web.home"`. Nothing if it is none.
[[nodiscard]] std::optional<setting_path> parse_path(std::string_view text);

/// What is wrong with setting the value at `path` in the scenario `root`:
/// everything around it must be there, but not the value itself, which may have
/// a default. An arm may also set what only the world around it has. Nothing
/// about the value, nor whether there is such a key.
[[nodiscard]] std::optional<problem> path_problem(const settings& root,
                                                  const setting_path& path);

/// Sets it; `path_problem` has found nothing. As in an arm, what it excludes in
/// its load or service is taken out: with a new `order`, what belongs to
/// another one. Throws `config_error` if what was set since then has left no
/// place for it.
void set_at(settings& root, const setting_path& path, setting value);

/// Whether setting `value` at `path` takes out what is set at `other`, as
/// `set_at` does with alternatives.
[[nodiscard]] bool excludes(const setting_path& path, const setting& value,
                            const setting_path& other);

/// A value and where it is set; what it refers to is kept elsewhere.
struct chosen_setting {
  const setting_path& path;
  const setting& value;
};

/// Throws `config_error`, which names both, if one of them excludes another.
void check_together(const std::vector<chosen_setting>& all);

/// Sets all of them but those that another one excludes, so that their order
/// does not decide which is lost.
void set_all(settings& root, const std::vector<chosen_setting>& all);

/// The value at the path; null if there is none.
[[nodiscard]] const setting* value_at_path(const settings& root,
                                           const setting_path& path);

/// Whether there is a value at the path.
[[nodiscard]] bool has_value_at(const settings& root, const setting_path& path);

} // namespace caisson::sim
