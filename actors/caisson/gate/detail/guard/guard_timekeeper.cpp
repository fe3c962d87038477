#include <caisson/gate/detail/guard/guard_timekeeper.hpp>

#include <utility>

namespace caisson::detail {

bool guard_timekeeper::arm(time_point at) {
  auto sooner = at < armed_;
  armed_ = at;
  if (sooner && keeper_ && keeper_->place)
    keeper_->changed.notify_one();
  return sooner;
}

bool guard_timekeeper::wait(std::unique_lock<std::mutex>& lock,
                            thread_caller& caller) {
  caller.place = waiting_.size();
  waiting_.push_back(&caller);
  if (!keeper_)
    keeper_ = &caller;
  auto keeps = keeper_ == &caller;
  clock_.wait(lock, caller.changed, keeps ? armed_ : never);
  return keeps;
}

void guard_timekeeper::remove(thread_caller& caller) {
  waiting_.back()->place = caller.place;
  std::swap(waiting_[*caller.place], waiting_.back());
  waiting_.pop_back();
  caller.place.reset();
}

void guard_timekeeper::wait_for(std::unique_lock<std::mutex>& lock,
                                std::condition_variable& changed) {
  clock_.wait(lock, changed, keeper_ ? never : armed_);
}

bool guard_timekeeper::pass_on() {
  keeper_ = waiting_.empty() ? nullptr : waiting_.back();
  if (keeper_)
    keeper_->changed.notify_one();
  return keeper_ != nullptr;
}

void guard_timekeeper::wake_all() {
  for (auto* x : waiting_)
    x->changed.notify_one();
}

} // namespace caisson::detail
