#include <simulator/world/connection_pool.hpp>

namespace caisson::sim {

// Those that have been idle for longer are closed, too, if the last one is.
bool connection_pool::take_idle(time_point now) {
  if (idle_.empty())
    return false;
  if (time_after(idle_.back(), config_->idle) <= now) {
    idle_.clear();
    return false;
  }
  idle_.pop_back();
  return true;
}

connection_pool::grant connection_pool::take(std::uint64_t call,
                                             time_point now) {
  if (used_ < config_->most) {
    ++used_;
    return take_idle(now) ? grant::open : grant::fresh;
  }
  if (config_->pending != no_limit && waiting_.size() >= config_->pending)
    return grant::refused;
  waiting_.emplace(++places_, call);
  place_of_.emplace(call, places_);
  return grant::waits;
}

void connection_pool::stop_waiting(std::uint64_t call) {
  auto found = place_of_.find(call);
  if (found == place_of_.end())
    return;
  waiting_.erase(found->second);
  place_of_.erase(found);
}

std::optional<connection_pool::next_call>
connection_pool::give_back(std::uint32_t age, bool open, time_point now) {
  open = open && age == age_ && down_ == 0;
  if (waiting_.empty()) {
    --used_;
    if (open)
      idle_.push_back(now);
    return std::nullopt;
  }
  auto call = waiting_.begin()->second;
  stop_waiting(call);
  return next_call{call, open ? grant::open : grant::fresh};
}

void connection_pool::reset(bool down) {
  ++age_;
  down_ += down ? 1 : 0;
  down_ -= !down && down_ > 0 ? 1 : 0;
  idle_.clear();
}

} // namespace caisson::sim
