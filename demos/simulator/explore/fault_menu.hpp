// Faults that an exploration can give a world.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// What `caisson explore` may do to a world.
struct fault_bounds {
  /// All if empty.
  std::vector<fault_kind> kinds = {};
  /// Names of loads, services, replicas and zones; all if empty. Faults of
  /// messages need one of them on either side.
  std::vector<std::string> targets = {};
  /// How many faults a run has, at most: 1 to 20.
  std::uint32_t most = 3;
  /// Faults begin and end in [from, to]. The defaults are the end of the
  /// warm-up, but at least a tenth of the length, and three quarters of it.
  std::optional<duration> from = {};
  std::optional<duration> to = {};
  /// How long one lasts, at most; half of the time from `from` to `to` if
  /// absent.
  std::optional<duration> longest = {};
  /// How large they are, at most.
  double factor = 20;
  double rate = 1;
  duration delay = std::chrono::seconds(1);
};

/// All faults that an arm can be given within bounds, as choices.
struct fault_menu {
  /// Throws `config_error` if nothing is left: an unknown target, or no time.
  fault_menu(const arm_config& arm, const fault_bounds& bounds);

  /// A service or a zone that can be hit.
  struct service_choice {
    /// As a whole first, if that is allowed, then single replicas.
    std::vector<std::string> names;
    /// In a zone: the most of any service there.
    std::uint32_t servers = 1;
    bool has_cache = false;
    bool is_zone = false;
  };
  /// Messages that can be hit.
  struct message_choice {
    /// As above; a load has only one name.
    std::vector<std::string> callers;
    std::vector<std::string> services;
    /// The only caller is a zone, and what is in `services` are all others, to
    /// be hit together.
    bool cuts_zone_off = false;

    /// What is hit as a whole.
    [[nodiscard]] std::vector<std::string> all_services() const;
  };

  /// What there is of each kind in `kinds` that hits something.
  std::vector<fault_kind> kinds;
  std::vector<service_choice> services;
  std::vector<message_choice> messages;
  /// Faults begin at multiples of `unit`.
  duration unit{1};
  duration from = duration::zero();
  duration to = duration::zero();
  duration longest = duration::zero();
  fault_bounds bounds;

  /// Lengths of a fault that begins at `at`, ascending; at least one.
  [[nodiscard]] std::vector<duration> lengths(duration at) const;
  /// How large a fault can be, ascending in severity; empty if its kind has no
  /// size.
  [[nodiscard]] std::vector<fault_config> sizes(const fault_config& f) const;
  /// Indexes of the services and zones that such a fault can hit.
  [[nodiscard]] std::vector<std::size_t> services_for(fault_kind kind) const;
  /// The choice that `f` hits; null if it hits messages or something else.
  [[nodiscard]] const service_choice* service_of(const fault_config& f) const;
  /// The same fault of less: of one replica, or of messages one way.
  [[nodiscard]] std::vector<fault_config>
  smaller_places(const fault_config& f) const;
};

} // namespace caisson::sim
