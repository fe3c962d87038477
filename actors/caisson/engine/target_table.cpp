#include <caisson/engine/target_table.hpp>

#include <caisson/base/ensure.hpp>

#include <utility>

namespace caisson::detail {

target_table::target_table() {
  add({});
}

target_id target_table::next() const {
  return free_.empty() ? static_cast<target_id>(entries_.size()) : free_.back();
}

target_id target_table::add(const target_info& x) {
  auto number = next();
  if (free_.empty()) {
    entries_.push_back({x, {}});
  } else {
    free_.pop_back();
    entries_[number].info = x;
  }
  CAISSON_ENSURE(number < entries_.size() && entries_[number].calls.empty(),
                 "target {} of {} has calls before it is there", number,
                 entries_.size());
  return number;
}

void target_table::drop(target_id x) {
  CAISSON_ENSURE(x != worker_target && x < entries_.size()
                   && entries_[x].calls.empty(),
                 "target {} of {} has calls", x, entries_.size());
  free_.push_back(x);
  CAISSON_ENSURE(free_.size() < entries_.size(), "of {} targets {} are dropped",
                 entries_.size(), free_.size());
}

target_calls target_table::take_calls(target_id x) {
  CAISSON_ENSURE(x < entries_.size(), "target {} of {} is lost", x,
                 entries_.size());
  return std::move(entries_[x].calls);
}

} // namespace caisson::detail
