// Settings of the expectations of a run.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings/section.hpp>

namespace caisson::sim {

/// Puts the bounds that have keys of their own before the others, and gives
/// each its place and its key in the table `at`.
void resolve_bounds(expectation& c, const section& at);

/// Adds a problem of `path` if no world has a metric of this name, in full, or
/// with other names of services, gates and so on.
void check_metric(const std::string& name, const setting_path& path,
                  problems& out);

} // namespace caisson::sim
