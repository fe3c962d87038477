#include <simulator/report/shown_faults.hpp>

#include <simulator/scenario/faults.hpp>

namespace caisson::sim {

std::vector<fault_time> shown_fault_times(const arm_config& arm,
                                          std::size_t index,
                                          const arm_result& r) {
  if (!counts_requests(arm.faults[index]))
    return all_fault_times(arm, index, r.seed);
  if (index >= r.counted_faults.size())
    return {};
  return r.counted_faults[index].times;
}

} // namespace caisson::sim
