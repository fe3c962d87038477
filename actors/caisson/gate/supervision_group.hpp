// Workers of several gates that are restarted together.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/settings/fwd.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace caisson {

/// Whose workers restart when a worker of the group is lost.
enum class group_strategy : std::uint8_t {
  /// Only the lost one.
  one_for_one,
  /// All of them.
  one_for_all,
  /// The lost one and those with a higher rank.
  rest_for_one,
};

template <>
struct enum_names<group_strategy> {
  static constexpr std::string_view value[] = {"one_for_one", "one_for_all",
                                               "rest_for_one"};
};

/// The settings of a group.
struct supervision_group_config {
  /// Default: one_for_all.
  group_strategy strategy = group_strategy::one_for_all;

  /// How many workers of the group may be lost within `period`: 0 to 1000,
  /// default 5. At one more, all are given up. A worker that the group stops
  /// itself does not count.
  std::uint32_t max_restarts = 5;

  /// 1us to 365d, default 30s.
  duration period = std::chrono::seconds(30);
};

void describe(field_visitor& v, supervision_group_config& c);

/// A handle of a group, which lives as long as a handle or a gate in it.
/// Copies are handles of the same group. Safe to use from any thread.
class supervision_group {
public:
  supervision_group() = default;

  /// Takes `reconfigure` with the fields of `supervision_group_config`, and no
  /// layer, for what happens from then on. The answer is empty, or
  /// `invalid_config` and nothing has changed. Not to be published to other
  /// nodes.
  ///
  /// Takes `get_status`, too. In the answer `worker` describes all workers:
  /// `up`, `restarting` if some are not, `given_up`, `ended` if all members
  /// have ended for good, or `none` without members. Its metrics are `members`,
  /// `members_up`, `members_ended`, and `losses` since the group was spawned.
  /// The settings are those of its only layer, `supervision_group`.
  [[nodiscard]] const caf::actor& handle() const noexcept { return handle_; }

private:
  friend supervision_group spawn_supervision_group(caf::actor_system& sys,
                                                   supervision_group_config c);

  explicit supervision_group(caf::actor x) : handle_(std::move(x)) {}

  caf::actor handle_;
};

/// Spawns a group for the supervised workers of several gates of this system;
/// see `worker::in_group`. The strategies are those of Erlang/OTP's
/// supervisors.
///
/// When a worker is lost, its gate waits for the delay of its own schedule, and
/// the group stops the workers of the other gates concerned, the highest rank
/// first. Calls in flight to them end with `worker_down`; further calls wait as
/// for any restart. Then the workers start again one after the other, the
/// lowest rank first, each when the one before is up. A worker that its gate
/// gives up, and more losses than `max_restarts` in `period`, make all gates of
/// the group give theirs up, and those that join later. Only when all of them
/// have ended does the group begin anew.
///
/// Throws `config_error` if `c` is not valid.
supervision_group spawn_supervision_group(caf::actor_system& sys,
                                          supervision_group_config c = {});

} // namespace caisson
