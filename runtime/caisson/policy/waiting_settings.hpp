// Settings of policies at which calls wait for permits.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/wait_order.hpp>
#include <caisson/settings/settings.hpp>

#include <cstdint>

namespace caisson::detail {

/// Lists the order and what belongs to it.
void describe_order(field_visitor& v, wait_order& order, queue_settings& q);

/// Reports settings about waiting without effect: those given although no call
/// may wait, and a `max_wait` of 0 although some may.
void check_waiting(std::uint32_t max_waiters, duration max_wait,
                   const setting_path& path, problems& out);

/// Reports settings of the order without effect, as `check_waiting` does.
void check_order(std::uint32_t max_waiters, wait_order order,
                 const queue_settings& q, const setting_path& path,
                 problems& out);

/// Reports an order by keys where all calls of a queue have the same key.
void check_order_per_key(wait_order order, const setting_path& path,
                         problems& out);

} // namespace caisson::detail
