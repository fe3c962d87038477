// The numbers of several policies of one kind, taken together.
#pragma once

#include <caisson/policy.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// Adds up what policies of one kind list. Of gauges that are levels, such as a
/// state, a share or the longest wait, it takes the largest.
class metric_sums {
public:
  metric_sums() = default;

  /// Zeros, under the names that `pattern` lists. It must outlive this.
  explicit metric_sums(const policy& pattern);

  /// Adds what `p` lists under these names; with `counters_only` no gauges.
  void add(const policy& p, bool counters_only = false);

  [[nodiscard]] const std::vector<metric>& all() const noexcept { return all_; }

private:
  metric* named(std::string_view name, std::size_t likely);

  std::vector<metric> all_;
  // The metrics of the current policy; kept to reuse its memory.
  std::vector<metric> one_;
  bool has_gauges_ = false;
};

} // namespace caisson::detail
