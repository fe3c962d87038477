// Settings of a scenario by their path.
#pragma once

#include <caisson/problem.hpp>
#include <caisson/setting.hpp>
#include <caisson/setting_path.hpp>

#include <optional>
#include <string_view>

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
/// another one.
void set_at(settings& root, const setting_path& path, setting value);

/// The value at the path; null if there is none.
[[nodiscard]] const setting* value_at_path(const settings& root,
                                           const setting_path& path);

/// Whether there is a value at the path.
[[nodiscard]] bool has_value_at(const settings& root, const setting_path& path);

} // namespace caisson::sim
