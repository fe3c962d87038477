// Whom a gate watches, and the callers of calls that wait.
#include <caisson/detail/gate_actor.hpp>

#include <utility>

namespace caisson::detail {

namespace {

// So many callers that have no call here at present stay watched, because they
// will probably wait here again.
constexpr std::size_t max_idle_callers = 1024;

} // namespace

// -- one watch for all reasons ------------------------------------------------

void gate_actor::watch_for(const caf::strong_actor_ptr& who) {
  if (++watched_[caf::actor_cast<caf::actor_addr>(who)] == 1)
    watch(who);
}

void gate_actor::unwatch_for(const caf::actor_addr& who) {
  auto i = watched_.find(who);
  if (i == watched_.end())
    return; // It has ended.
  if (--i->second > 0)
    return;
  watched_.erase(i);
  unwatch(who);
}

// -- callers ------------------------------------------------------------------

// Watches the caller of a call that waits here: if it dies, the call gives back
// what it holds.
void gate_actor::mind_caller(call_record& r) {
  const auto& from = r.from.sender();
  if (r.watched || !from)
    return;
  auto who = caf::actor_cast<caf::actor_addr>(from);
  auto [i, fresh] = callers_.try_emplace(who);
  auto& c = i->second;
  if (fresh) {
    c.who = who;
    watch_for(from);
  } else if (c.calls.empty()) {
    c.unlink();
    --idle_caller_count_;
  }
  c.calls.push_back(r);
  r.watched = &c;
}

void gate_actor::release_caller(call_record& r) {
  if (!r.watched)
    return;
  r.link<of_caller>::unlink();
  auto& c = *std::exchange(r.watched, nullptr);
  if (!c.calls.empty())
    return;
  idle_callers_.push_back(c);
  if (++idle_caller_count_ <= max_idle_callers)
    return;
  --idle_caller_count_;
  auto who = idle_callers_.pop_front().who;
  unwatch_for(who);
  callers_.erase(who);
}

void gate_actor::caller_down(const caf::actor_addr& who) {
  auto i = callers_.find(who);
  if (i == callers_.end())
    return;
  auto& c = i->second;
  while (!c.calls.empty())
    cancel(c.calls.front());
  // The last one has made it idle; unless it was that already.
  c.unlink();
  --idle_caller_count_;
  callers_.erase(i);
}

} // namespace caisson::detail
