#include <caisson/gate/detail/guard/loop_clocks.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

// One more call of a loop that is known. Returns whether it is.
bool loop_clocks::count(const event_loop* x) noexcept {
  for (auto& y : loops_)
    if (y.loop.get() == x) {
      ++y.calls;
      return true;
    }
  return false;
}

void loop_clocks::add(const std::shared_ptr<event_loop>& x,
                      std::function<void()> on_alarm) {
  // Loops that have ended do not sweep.
  std::erase_if(loops_, [](const auto& y) { return y.calls == 0; });
  auto timer = x->make_timer(std::move(on_alarm));
  loops_.push_back({x, std::move(timer), 1, never, false});
}

// Without calls it has no timer, as a loop may run until it has none. But the
// next call often begins with the end of this one, and to set a timer anew
// takes longer than all else.
event_loop* loop_clocks::release(const event_loop* x) {
  auto i = std::find_if(loops_.begin(), loops_.end(),
                        [&](const auto& y) { return y.loop.get() == x; });
  CAISSON_ENSURE(i != loops_.end() && i->calls > 0,
                 "a call ends in an event loop that has no calls");
  if (--i->calls > 0 || std::exchange(i->sweeps, true))
    return nullptr;
  return i->loop.get();
}

void loop_clocks::sweep(const event_loop* x) {
  std::erase_if(loops_, [&](auto& y) {
    if (y.loop.get() != x)
      return false;
    y.sweeps = false;
    return y.calls == 0;
  });
}

void loop_clocks::on_alarm(const event_loop* x) {
  for (auto& y : loops_)
    if (y.loop.get() == x)
      y.set = never;
}

// One that is set to an earlier instant stays, and is set again when it comes.
void loop_clocks::set(time_point at) {
  for (auto& x : loops_)
    if (at < x.set) {
      x.set = at;
      x.timer->set(at);
    }
}

} // namespace caisson::detail
