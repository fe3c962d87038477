#include <caisson/caf/error.hpp>
#include <caisson/gate/detail/async_call.hpp>
#include <caisson/gate/detail/guard_host.hpp>
#include <caisson/gate/detail/guard_step.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace caisson::detail {

// -- operation ----------------------------------------------------------------

status guard_host::get_status() {
  auto lock = enter();
  if (stopped_)
    return {};
  stay here{*this};
  status out;
  {
    step running{*this};
    out = engine_.make_status(running.now());
  }
  hand_out_events(lock);
  return out;
}

caf::error guard_host::apply(const reconfigure& x) {
  return operate(
    [&](time_point now) { return engine_.on_reconfigure(x, now); });
}

caf::error guard_host::apply(const command& x) {
  return operate([&](time_point now) { return engine_.on_command(x, now); });
}

template <class F>
caf::error guard_host::operate(F f) {
  auto lock = enter();
  if (stopped_)
    return end_error();
  stay here{*this};
  caf::error out;
  {
    step running{*this};
    out = f(running.now());
  }
  hand_out_events(lock);
  return out;
}

// Readers ask for what has happened since the last call. If a call is in
// progress, that publishes.
void guard_host::refresh(guard_link& link) {
  if (link.is_stepping())
    return;
  // Destroyed without the mutexes.
  std::vector<std::shared_ptr<void>> old;
  std::unique_lock end{link.mutex, std::try_to_lock};
  if (!end || link.ended)
    return;
  auto& host = link.host;
  lock_type lock{host.mutex_, std::try_to_lock};
  if (!lock || host.stopped_)
    return;
  stay here{host};
  step running{host};
  old.swap(host.released_);
}

// When this returns, no other thread is in the old listener any more.
void guard_host::listen_to_events(listener f) {
  auto next = f ? std::make_shared<const listener>(std::move(f)) : nullptr;
  std::deque<event> old_events;
  auto lock = enter();
  listener_.swap(next);
  events_.swap(old_events);
  if (handing_out_ != std::this_thread::get_id())
    returned_.wait(lock, [&] { return !listening_; });
  // What the old one holds may use the guard at its end.
  lock.unlock();
}

void guard_host::drain() {
  auto lock = enter();
  stay here{*this};
  if (!stopped_) {
    step running{*this};
    engine_.on_drain({}, running.now());
  }
  hand_out_events(lock);
  awaits_end_ = true;
  // Calls may end by their deadlines alone, when no other thread looks at the
  // clock.
  while (!stopped_ && engine_.live() > 0) {
    clock_.wait(lock, left_, timekeeper_ ? never : armed_);
    if (!stopped_ && !timekeeper_ && armed_ <= clock_.now())
      step running{*this};
    hand_out_events(lock);
  }
}

void guard_host::stop() {
  auto lock = enter();
  if (std::exchange(stopped_, true))
    return;
  {
    step running{*this};
    engine_.stop();
  }
  for (auto* x : waiting_)
    x->changed.notify_one();
  left_.notify_all();
  hand_out_events(lock);
}

// What users have made is destroyed without the mutex.
void guard_host::let_go(lock_type& lock) {
  if (released_.empty())
    return;
  auto old = std::exchange(released_, {});
  lock.unlock();
  old.clear();
  lock.lock();
}

// The threads that cause events hand them out, one thread at a time, so that
// they come in order, and without the mutex, so that a listener may call. None
// does so for ever while others cause more.
void guard_host::hand_out_events(lock_type& lock) {
  constexpr int most_at_once = 100;
  let_go(lock);
  if (events_.empty() || handing_out_ != std::thread::id{})
    return;
  handing_out_ = std::this_thread::get_id();
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
  handing_out_ = {};
  if (awaits_end_)
    left_.notify_all();
}

} // namespace caisson::detail
