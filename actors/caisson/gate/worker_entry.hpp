// Reads the table of a gate file that describes the worker of a gate.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/supervision_config.hpp>
#include <caisson/gate/worker_names.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/settings/section.hpp>
#include <caisson/settings/setting.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace caisson::detail {

/// What a gate alone says of its worker, besides the settings of supervision.
struct stated_worker {
  std::optional<setting> name;
  /// The table, if it describes the worker itself: it has a `kind`.
  std::optional<setting> described;
  /// `group` and `rank`.
  settings membership;
};

/// Takes that out of the table of a gate, and leaves the settings of
/// supervision, over those of `base`. `path` is the gate's. Appends a problem
/// for each key that was probably meant to be one of a gate's alone. Of a
/// worker that is described it leaves nothing: see `read_supervision`.
[[nodiscard]] stated_worker take_worker(settings& gate, const settings& base,
                                        const setting_path& path,
                                        problems& found);

/// The name of a worker that there is; otherwise appends a problem. `at` is the
/// gate.
[[nodiscard]] std::string
read_worker(const std::optional<setting>& stated, const section& at,
            const worker_names& known, caf::actor_system& sys, problems& out);

/// The settings of supervision in the table of a worker that is described, over
/// those of `base`, which is the table of all gates, and of `kind`; appends
/// problems.
[[nodiscard]] supervision_config
read_supervision(const setting& described, const settings& base,
                 const section& at, const supervision_config& kind,
                 problems& out);

struct membership {
  std::string group;
  std::uint32_t rank = 0;
};

/// The place of a worker in one of the groups; appends problems.
[[nodiscard]] membership
read_membership(const stated_worker& stated, const section& at,
                const std::vector<std::string>& groups, problems& out);

} // namespace caisson::detail
