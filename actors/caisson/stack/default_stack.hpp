// The settings that the gates of a file have in common.
#pragma once

#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting.hpp>

namespace caisson::detail {

/// Gives a gate what `base` says and it does not, but for the worker: the
/// layers, or the preset, unless it has its own.
void inherit_from(const settings& base, settings& gate);

/// Changes settings of the layers, which the gate has from the default stack if
/// it `inherits`, as its table `override` says, and takes that away. `path` is
/// that of the gate.
void apply_overrides(settings& gate, const setting_path& path, bool inherits,
                     problems& out);

} // namespace caisson::detail
