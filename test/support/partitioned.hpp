// Semaphores with partitions in tests.
#pragma once

#include <caisson/policies/semaphore.hpp>

#include <support/rig.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

using share_list = std::vector<limit_partition>;

inline semaphore_config partitioned(share_list list,
                                    std::uint32_t permits = 10) {
  semaphore_config c;
  c.permits = permits;
  c.max_waiters = 1'000;
  c.partitions.list = std::move(list);
  return c;
}

inline const share_list two = {{"live", 0.7}, {"batch", 0.2}};

/// Calls are named by their keys.
struct shared_rig : rig<semaphore> {
  using rig::rig;

  call_id of(const std::string& key, std::uint32_t permits = 1) {
    auto c = heavy(permits);
    c.key = key;
    return arrive(c);
  }

  std::vector<call_id> flood(const std::string& key, int n) {
    return arrive_together(n, of_key(key));
  }
};

} // namespace caisson::test
