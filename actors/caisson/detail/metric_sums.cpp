#include <caisson/detail/metric_sums.hpp>

#include <algorithm>
#include <cstddef>

namespace caisson::detail {

namespace {

// Of a level the largest says something, of a number of things the sum.
bool is_level(std::string_view name) {
  return name == "state" || name == "automatic_state" || name == "alarm"
         || name.starts_with("longest_") || name.ends_with("_permille")
         || name.ends_with("_in_a_row");
}

} // namespace

metric_sums::metric_sums(const policy& pattern) {
  pattern.list_metrics(all_);
  for (auto& m : all_)
    m.value = 0;
}

// Policies of one kind list the same numbers in the same order, as a rule.
metric* metric_sums::named(std::string_view name, std::size_t likely) {
  if (likely < all_.size() && all_[likely].name == name)
    return &all_[likely];
  auto i = std::find_if(all_.begin(), all_.end(),
                        [&](const metric& x) { return x.name == name; });
  return i != all_.end() ? &*i : nullptr;
}

void metric_sums::add(const policy& p, bool counters_only) {
  one_.clear();
  p.list_metrics(one_);
  for (std::size_t i = 0; i < one_.size(); ++i) {
    const auto& m = one_[i];
    auto* sum = counters_only && m.gauge ? nullptr : named(m.name, i);
    if (!sum)
      continue;
    if (!m.gauge || !is_level(m.name))
      sum->value += m.value;
    else
      sum->value = has_gauges_ ? std::max(sum->value, m.value) : m.value;
  }
  has_gauges_ = has_gauges_ || !counters_only;
}

} // namespace caisson::detail
