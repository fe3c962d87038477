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
  core_.hand_out(lock);
  while (!own.answer) {
    if (own.next)
      make_attempt(lock, own, maker);
    else
      wait(lock, own);
    core_.hand_out(lock);
  }
  leave(own);
  lock.unlock();
  return end_of(own);
}

void thread_calls::make_attempt(lock_type& lock, thread_caller& who,
                                attempt_maker& maker) {
  // It may have taken a while until this thread came to it.
  if (core_.timekeeper().is_due()) {
    core_.fire_due_timers();
    if (!who.next)
      return;
  }
  auto key = *std::exchange(who.next, std::nullopt);
  std::optional<call_options> options;
  if (maker.takes_options())
    options = core_.shared_engine().options_of(key);
  who.abandoned = false;
  lock.unlock();
  if (!is_plain(who.discarded))
    who.discarded = {};
  static const call_options none;
  auto result = maker.make(options ? *options : none, who.abandoned);
  who.executed = who.executed || !result.meaning
                 || result.meaning->may_have_executed;
  lock.lock();
  // What is thrown away is destroyed without the mutex.
  if (!who.abandoned && is_plain(result) && is_plain(who.last)) {
    who.last.meaning = result.meaning;
  } else {
    if (!who.abandoned)
      std::swap(who.last, result);
    who.discarded = std::move(result);
  }
  if (core_.is_stopped())
    return;
  const auto& reply = who.abandoned ? who.discarded : who.last;
  auto running = core_.fire_due_timers_and_step();
  core_.report(key, reply.meaning,
               reply.thrown ? failure_of(reply) : caf::message{},
               running.now());
}

// One of those that wait looks at the clock for all of them.
void thread_calls::wait(lock_type& lock, thread_caller& who) {
  auto& time = core_.timekeeper();
  if (time.wait(lock, who) && !core_.is_stopped() && time.is_due())
    core_.fire_due_timers();
  time.remove(who);
  // This thread is going to do something else, perhaps for long: it runs the
  // user's function, a listener, or leaves.
  auto hands_out = core_.has_let_go() || core_.events().are_waiting();
  if (time.keeps_time(who)
      && (who.answer || who.next || core_.is_stopped() || hands_out))
    core_.pass_the_clock();
}

void thread_calls::leave(thread_caller& who) {
  CAISSON_ENSURE(!core_.timekeeper().keeps_time(who),
                 "who leaves still keeps the time");
  core_.presence().leave();
}

} // namespace caisson::detail
