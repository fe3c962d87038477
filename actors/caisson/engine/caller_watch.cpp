#include <caisson/engine/caller_watch.hpp>

#include <caisson/base/ensure.hpp>

#include <utility>

namespace caisson::detail {

void caller_watch::watch(call_record& r) {
  auto caller = r.from.caller();
  if (r.watched || caller == 0)
    return;
  auto [i, fresh] = callers_.try_emplace(caller);
  auto& c = i->second;
  if (fresh) {
    c.caller = caller;
    host_.watch_caller(r.from);
  } else if (c.calls.empty()) {
    CAISSON_ENSURE(idle_count_ > 0, "{} callers are watched", callers_.size());
    c.unlink();
    --idle_count_;
  }
  c.calls.push_back(r);
  r.watched = &c;
}

void caller_watch::release(call_record& r) {
  if (!r.watched)
    return;
  r.link<by_caller>::unlink();
  auto& c = *std::exchange(r.watched, nullptr);
  CAISSON_ENSURE(c.caller == r.from.caller() || r.from.caller() == 0,
                 "the watch of another caller");
  if (!c.calls.empty())
    return;
  CAISSON_ENSURE(idle_count_ < callers_.size(),
                 "{} of {} callers are idle, and one more", idle_count_,
                 callers_.size());
  idle_.push_back(c);
  if (++idle_count_ <= max_idle)
    return;
  --idle_count_;
  auto caller = idle_.pop_front().caller;
  host_.unwatch_caller(caller);
  callers_.erase(caller);
}

} // namespace caisson::detail
