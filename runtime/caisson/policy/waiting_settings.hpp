// Rules for settings of policies at which calls wait for permits.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/waiting_queue.hpp>
#include <caisson/settings/settings.hpp>

#include <cstdint>

namespace caisson::detail {

/// Reports settings about waiting without effect: those given although no call
/// may wait, and a `max_wait` of 0 although some may.
void check_waiting(std::uint32_t max_waiters, duration max_wait,
                   wait_order order, const setting_path& path, problems& out);

} // namespace caisson::detail
