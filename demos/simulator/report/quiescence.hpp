// Quiescence check: leaked calls and permits after the load.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/world/result.hpp>
#include <simulator/world/world.hpp>

#include <vector>

namespace caisson::sim {

/// How long a world may take to become quiescent after its loads and its work.
inline constexpr std::chrono::hours quiescence_timeout{24};

/// Work that lasts longer after the loads is not waited for.
inline constexpr std::chrono::hours max_remaining_work{1000};

/// Continues without load until every request is answered, no service works,
/// and no gate holds a call, a permit or a place. Returns what does not become
/// quiescent, and counts that do not add up then; nothing if the watch of the
/// world's time has stopped it.
///
/// A call whose message was lost is never answered unless it has a deadline,
/// and keeps everything before it: a world where messages may be lost and not
/// every call has a deadline is not checked, nor one with work that takes too
/// long.
[[nodiscard]] std::vector<violation> check_quiescence(world& w,
                                                      const arm_config& arm);

/// Whether each call has a deadline: by the client's timeout, if services pass
/// that on, by its own timeout, or by the stack in front of it.
[[nodiscard]] bool all_calls_have_deadlines(const arm_config& arm);

} // namespace caisson::sim
