// Plays a world until nothing is left in it, or says what is left.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/world/result.hpp>
#include <simulator/world/world.hpp>

#include <vector>

namespace caisson::sim {

/// How long a world may take to come to rest after its loads and its work.
inline constexpr std::chrono::hours longest_way_to_rest{24};

/// Work that lasts longer after the loads is not waited for.
inline constexpr std::chrono::hours longest_work{1000};

/// Plays on, without load, until every request is answered, no service works,
/// and no gate holds a call, a permit or a place. Returns what does not come to
/// rest, and counts that do not add up then; nothing if the watch of the
/// world's time has stopped it.
///
/// A call whose message was lost is never answered unless something ends it,
/// and keeps everything before it: nothing is said of a world where messages
/// may be lost and not every call has an end, and of one with work that takes
/// too long.
[[nodiscard]] std::vector<violation> violations_at_rest(world& w,
                                                        const arm_config& arm);

/// Whether each call has a deadline: by the client's timeout, if services pass
/// that on, by its own timeout, or by the stack in front of it.
[[nodiscard]] bool every_call_ends(const arm_config& arm);

} // namespace caisson::sim
