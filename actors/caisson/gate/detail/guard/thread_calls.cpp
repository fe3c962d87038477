#include <caisson/gate/detail/guard/thread_calls.hpp>

#include <caisson/base/ensure.hpp>

#include <optional>
#include <utility>

namespace caisson::detail {

call_end thread_calls::call(call_options* options, attempt_maker& maker) {
  auto lock = core_.enter();
  return finish(lock, options, maker);
}

call_end thread_calls::finish(lock_type& lock, call_options* options,
                              attempt_maker& maker) noexcept {
  thread_caller own;
  core_.presence().enter();
  if (core_.is_stopped()) {
    own.answer = caf::make_message(core_.end_error());
  } else {
    auto running = core_.fire_due_timers_and_step();
    core_.send(own, options, 0, 0, running.now());
  }
  core_.deliver_events(lock);
  while (!own.answer) {
    if (own.next)
      make_attempt(lock, own, maker);
    else
      wait(lock, own);
    core_.deliver_events(lock);
  }
  leave(own);
  lock.unlock();
  return end_of(own);
}

void thread_calls::make_attempt(lock_type& lock, thread_caller& caller,
                                attempt_maker& maker) {
  // It may have taken a while until this thread came to it.
  if (core_.timekeeper().is_due()) {
    core_.fire_due_timers();
    if (!caller.next)
      return;
  }
  auto key = *std::exchange(caller.next, std::nullopt);
  std::optional<call_options> options;
  if (maker.takes_options())
    options = core_.shared_engine().options_of(key);
  caller.abandoned = false;
  lock.unlock();
  if (!is_plain(caller.discarded))
    caller.discarded = {};
  static const call_options none;
  auto result = maker.make(options ? *options : none, caller.abandoned);
  caller.executed = caller.executed || !result.meaning
                    || result.meaning->may_have_executed;
  lock.lock();
  // What is thrown away is destroyed without the mutex.
  if (!caller.abandoned && is_plain(result) && is_plain(caller.last)) {
    caller.last.meaning = result.meaning;
  } else {
    if (!caller.abandoned)
      std::swap(caller.last, result);
    caller.discarded = std::move(result);
  }
  if (core_.is_stopped())
    return;
  const auto& reply = caller.abandoned ? caller.discarded : caller.last;
  auto running = core_.fire_due_timers_and_step();
  core_.report(key, reply.meaning,
               reply.thrown ? failure_of(reply) : caf::message{},
               running.now());
}

// One of the waiting threads looks at the clock for all of them.
void thread_calls::wait(lock_type& lock, thread_caller& caller) {
  auto& time = core_.timekeeper();
  if (time.wait(lock, caller) && !core_.is_stopped() && time.is_due())
    core_.fire_due_timers();
  time.remove(caller);
  // This thread is going to do something else, perhaps for long: it runs the
  // user's function, a listener, or leaves.
  auto hands_out = core_.has_let_go() || core_.events().are_waiting();
  if (time.keeps_time(caller)
      && (caller.answer || caller.next || core_.is_stopped() || hands_out))
    core_.hand_over_timer();
}

void thread_calls::leave(thread_caller& caller) {
  CAISSON_ENSURE(!core_.timekeeper().keeps_time(caller),
                 "a thread leaves the guard and still keeps its timer");
  core_.presence().leave();
}

} // namespace caisson::detail
