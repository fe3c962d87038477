// Sends writes that a cache has acknowledged to the worker.
#pragma once

#include <caisson/policies/cache/cache_config.hpp>
#include <caisson/policies/cache/cache_writes.hpp>
#include <caisson/policy/policy.hpp>

namespace caisson::detail {

/// Starts the flushes that are due, as children without parents.
void send_writes(cache_writes& writes, const cache_config& c, env& e);

/// How a flush has ended.
struct flush_end {
  /// `success`; `failure` if the write is lost; otherwise it is sent again.
  verdict what = verdict::success;
  /// What that means for its key.
  cache_writes::result rest = {};
};

/// The flush `child` has ended. Sends an event if the write is lost.
[[nodiscard]] flush_end end_flush(cache_writes& writes, const cache_config& c,
                                  call_id child, const outcome& result, env& e);

} // namespace caisson::detail
