#include <caisson/policies/keyed/keyed_changes.hpp>

namespace caisson::detail {

// Of changes that come faster than the keys can follow, some are replaced by
// later ones.
void keyed_changes::add(key_change c) {
  constexpr std::size_t most = 16;
  if (changes_.size() >= most)
    std::erase_if(changes_,
                  [&](const key_change& x) { return x.what == c.what; });
  c.epoch = ++epoch_;
  changes_.push_back(c);
}

void keyed_changes::clear() {
  changes_.clear();
  round_ = epoch_;
}

key_change keyed_changes::order(operator_command c, time_point until) {
  key_change order{.command = c, .until = until, .epoch = epoch_ + 1};
  if (c == operator_command::force_open || c == operator_command::force_closed)
    order_ = order;
  else if (c == operator_command::enable)
    order_.reset();
  return order;
}

// An order that is over is forgotten here, and not before.
const key_change* keyed_changes::order_at(time_point now) {
  if (order_ && order_->until <= now)
    order_.reset();
  return order_ ? &*order_ : nullptr;
}

} // namespace caisson::detail
