#include <caisson/gate/detail/guard/async_calls.hpp>

#include <caisson/gate/detail/guard/async_call.hpp>
#include <caisson/gate/detail/guard/guard_visit.hpp>

#include <functional>
#include <utility>

namespace caisson::detail {

namespace {

// All calls of loops, for the engine: they end one by one.
constexpr std::uint64_t all_loops = 1;

} // namespace

/// How an attempt has ended, for the engine.
struct async_calls::attempt_end {
  std::uint64_t key;
  std::optional<answer_info> meaning;
  caf::message reply;
};

class async_calls::late_cancel final : public late_end {
public:
  late_cancel(async_calls& in, std::shared_ptr<async_call> x)
    : in_(in), call_(std::move(x)) {}

  void take_effect(time_point now) override {
    if (!in_.core_.is_stopped())
      in_.withdraw(*call_, now);
  }

private:
  async_calls& in_;
  const std::shared_ptr<async_call> call_;
};

/// Keeps what is to be destroyed without the mutex.
class async_calls::late_attempt_end final : public late_end {
public:
  late_attempt_end(async_calls& in, std::shared_ptr<async_call> x,
                   std::shared_ptr<async_attempt_state> state,
                   attempt_result result, std::function<void()> on_abandoned)
    : in_(in), call_(std::move(x)), state_(std::move(state)),
      result_(std::move(result)), on_abandoned_(std::move(on_abandoned)),
      how_(in_.keep_result(*call_, state_, result_)) {}

  void take_effect(time_point now) override {
    if (!in_.core_.is_stopped())
      in_.report(std::move(how_), now);
  }

private:
  async_calls& in_;
  const std::shared_ptr<async_call> call_;
  std::shared_ptr<async_attempt_state> state_;
  attempt_result result_;
  const std::function<void()> on_abandoned_;
  attempt_end how_;
};

// -- beginning and going on ---------------------------------------------------

void async_calls::begin(async_call& x, call_options* options) {
  // The guard may end while the function is started, but not this.
  auto keep = x.shared_from_this();
  auto link = core_.link();
  guard_visit in{*link};
  x.link_ = std::move(link);
  if (in.calls())
    begin(in.lock(), x, options);
}

void async_calls::begin(lock_type& lock, async_call& x,
                        call_options* options) noexcept {
  auto& caller = *x.caller_;
  if (core_.is_stopped()) {
    caller.answer = caf::make_message(core_.end_error());
    x.end_ = end_of(caller);
    x.on_done();
    return;
  }
  use_loop(x.loop_);
  x.self_ = x.shared_from_this();
  x.attended_ = true;
  {
    auto running = core_.fire_due_timers_and_step();
    core_.send(caller, options, all_loops, token_of(caller), running.now());
  }
  core_.set_loop_timers();
  carry_on(lock, x);
}

void async_calls::carry_on(lock_type& lock, async_call& x) noexcept {
  core_.deliver_events(lock);
  while (x.caller_->next) {
    start_next(lock, x);
    core_.deliver_events(lock);
  }
  x.attended_ = false;
}

void async_calls::start_next(lock_type& lock, async_call& x) {
  auto& caller = *x.caller_;
  // It may have taken a while until this thread came to it.
  if (core_.timekeeper().is_due()) {
    core_.fire_due_timers();
    if (!caller.next)
      return;
  }
  auto state = x.make_state();
  state->key = *std::exchange(caller.next, std::nullopt);
  if (x.takes_options())
    state->options = core_.shared_engine().options_of(state->key);
  x.current_ = state;
  lock.unlock();
  x.start(
    std::make_shared<async_attempt>(x.shared_from_this(), std::move(state)));
  lock.lock();
}

// -- ends ---------------------------------------------------------------------

void async_calls::end_attempt(lock_type& lock, async_call& x,
                              std::shared_ptr<async_attempt_state>& state,
                              attempt_result& result, bool in_loop) noexcept {
  auto how = keep_result(x, state, result);
  if (core_.is_stopped())
    return;
  const auto attends = in_loop && !std::exchange(x.attended_, true);
  {
    auto running = core_.fire_due_timers_and_step();
    report(std::move(how), running.now());
  }
  if (attends)
    carry_on(lock, x);
  else
    core_.deliver_events(lock);
}

// Gives back in `state` and `result` what is to be destroyed.
async_calls::attempt_end
async_calls::keep_result(async_call& x,
                         std::shared_ptr<async_attempt_state>& state,
                         attempt_result& result) {
  auto& caller = *x.caller_;
  attempt_end how{state->key, result.meaning,
                  result.thrown ? failure_of(result) : caf::message{}};
  caller.executed = caller.executed || !how.meaning
                    || how.meaning->may_have_executed;
  if (x.current_ == state) {
    x.current_.reset();
    std::swap(caller.last, result);
    std::swap(x.last_state_, state);
  }
  return how;
}

void async_calls::report(attempt_end&& how, time_point now) {
  core_.report(how.key, how.meaning, std::move(how.reply), now);
}

void async_calls::cancel(lock_type& lock, async_call& x) noexcept {
  if (x.caller_->answer)
    return;
  {
    auto running = core_.fire_due_timers_and_step();
    withdraw(x, running.now());
  }
  core_.deliver_events(lock);
}

void async_calls::withdraw(async_call& x, time_point now) {
  if (!x.caller_->answer)
    core_.shared_engine().on_cancelled(all_loops, token_of(*x.caller_), now);
}

void async_calls::defer_cancel(std::shared_ptr<async_call> x) {
  core_.defer(std::make_unique<late_cancel>(*this, std::move(x)));
}

void async_calls::defer_end(std::shared_ptr<async_call> x,
                            std::shared_ptr<async_attempt_state> state,
                            attempt_result result,
                            std::function<void()> on_abandoned) {
  core_.defer(std::make_unique<late_attempt_end>(
    *this, std::move(x), std::move(state), std::move(result),
    std::move(on_abandoned)));
}

// -- what the engine says -----------------------------------------------------

// A thread of the call's loop sees to its next attempt, unless one does.
void async_calls::attend(async_call& x) {
  if (!std::exchange(x.attended_, true))
    x.post([self = x.shared_from_this()] { self->carry_on(); });
}

void async_calls::abandon_attempt(async_call& x) {
  auto state = std::move(x.current_);
  if (!state)
    return;
  state->abandoned = true;
  // It goes on, whatever the call is answered with.
  x.caller_->executed = true;
  if (auto f = std::exchange(state->on_abandoned, {}))
    f();
}

void async_calls::finish(async_call& x) {
  x.end_ = end_of(*x.caller_);
  if (!x.dropped_)
    x.on_done();
  // After that, as whoever is answered may begin the next call.
  release_loop(x.loop_.get());
  core_.let_go(std::move(x.self_));
}

// -- time ---------------------------------------------------------------------

void async_calls::use_loop(const std::shared_ptr<event_loop>& x) {
  core_.loops().use(x, [&]() -> std::function<void()> {
    return [link = core_.link(), loop = x.get()] {
      guard_visit in{*link};
      if (in.calls())
        in.calls()->on_alarm(in.lock(), loop);
    };
  });
}

void async_calls::release_loop(const event_loop* x) {
  auto* sweeper = core_.loops().release(x);
  if (!sweeper)
    return;
  sweeper->post([link = core_.link(), x] {
    guard_visit in{*link};
    if (in.calls())
      in.calls()->core_.loops().sweep(x);
  });
}

void async_calls::on_alarm(lock_type& lock, const event_loop* x) noexcept {
  core_.loops().on_alarm(x);
  if (!core_.is_stopped() && core_.timekeeper().is_due())
    core_.fire_due_timers();
  core_.set_loop_timers();
  core_.deliver_events(lock);
}

} // namespace caisson::detail
