#include <caisson/gate/detail/guard/guard_events.hpp>

#include <cstddef>
#include <utility>

namespace caisson::detail {

void guard_events::add(const event& what) {
  constexpr std::size_t most = 10'000;
  if (events_.size() < most)
    events_.push_back(what);
}

void guard_events::swap_listener(lock_type& lock,
                                 std::shared_ptr<const listener>& next) {
  std::deque<event> old_events;
  listener_.swap(next);
  events_.swap(old_events);
  if (delivering_thread_ != std::this_thread::get_id())
    returned_.wait(lock, [&] { return !listening_; });
  lock.unlock();
}

bool guard_events::deliver(lock_type& lock) {
  constexpr int most_at_once = 100;
  if (!are_waiting())
    return false;
  delivering_thread_ = std::this_thread::get_id();
  for (int count = 0; !events_.empty() && count < most_at_once; ++count) {
    auto f = listener_;
    auto x = std::move(events_.front());
    events_.pop_front();
    if (!f)
      continue;
    listening_ = true;
    lock.unlock();
    try {
      (*f)(x);
    } catch (...) {
      // No call is at fault for that.
    }
    f = nullptr;
    lock.lock();
    listening_ = false;
    returned_.notify_all();
  }
  delivering_thread_ = {};
  return true;
}

} // namespace caisson::detail
