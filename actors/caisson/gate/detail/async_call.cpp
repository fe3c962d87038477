#include <caisson/gate/detail/async_call.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/gate/detail/guard_step.hpp>

#include <algorithm>
#include <bit>
#include <exception>
#include <stdexcept>
#include <utility>

namespace caisson::detail {

namespace {

// All calls of loops, for the engine: they end one by one.
constexpr std::uint64_t all_loops = 1;

} // namespace

/// A thread that carries on a call, for as long as it has the mutex or comes
/// back to it. Nobody is there if the guard has ended.
class guard_host::visit {
public:
  explicit visit(guard_link& link) {
    if (link.is_stepping())
      link.host.refuse_return();
    std::lock_guard guard{link.mutex};
    if (link.ended)
      return;
    lock_ = link.host.enter();
    host_ = &link.host;
    ++host_->inside_;
  }
  ~visit() {
    if (host_)
      host_->leave();
  }

  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;

  [[nodiscard]] guard_host* host() const noexcept { return host_; }
  [[nodiscard]] lock_type& lock() noexcept { return lock_; }

private:
  lock_type lock_;
  guard_host* host_ = nullptr;
};

// -- attempts -----------------------------------------------------------------

async_attempt::~async_attempt() {
  if (ended_)
    return;
  call_->on_attempt_gone();
  end({std::make_exception_ptr(std::runtime_error{"the attempt is gone"}),
       "the attempt is gone",
       {}},
      false);
}

void async_attempt::on_abandoned(std::function<void()> f) {
  if (call_->link_->is_stepping()) {
    if (!state_->abandoned)
      return state_->on_abandoned.swap(f);
    return f();
  }
  guard_host::visit in{*call_->link_};
  if (in.host() && !state_->abandoned)
    state_->on_abandoned = std::move(f);
  else
    f();
}

void async_attempt::end(attempt_result x, bool in_loop) {
  // What is dropped is destroyed after the visit, without the mutex.
  auto state = state_;
  std::function<void()> unused;
  ended_ = true;
  if (call_->link_->is_stepping()) {
    unused.swap(state_->on_abandoned);
    return call_->link_->host.defer(
      {call_, std::move(state), std::move(x), std::move(unused)});
  }
  guard_host::visit in{*call_->link_};
  unused.swap(state_->on_abandoned);
  if (in.host())
    in.host()->end_attempt(in.lock(), *call_, state, x, in_loop);
}

// -- calls --------------------------------------------------------------------

async_call::async_call(std::shared_ptr<event_loop> loop)
  : loop_(std::move(loop)),
    caller_(std::make_unique<guard_host::caller>(guard_host::caller{this})) {}

async_call::~async_call() = default;

void async_call::begin(guard_host& host, call_options* options) {
  host.begin(*this, options);
}

void async_call::cancel() {
  if (!link_)
    return;
  if (link_->is_stepping())
    return link_->host.defer({shared_from_this()});
  guard_host::visit in{*link_};
  if (in.host())
    in.host()->cancel(in.lock(), *this);
}

void async_call::drop() {
  if (!link_)
    return;
  if (link_->is_stepping()) {
    dropped_ = true;
    return cancel();
  }
  guard_host::visit in{*link_};
  if (!in.host())
    return;
  dropped_ = true;
  in.host()->cancel(in.lock(), *this);
}

void async_call::post(std::function<void()> f) {
  loop_->post(std::move(f));
}

void async_call::carry_on() {
  guard_host::visit in{*link_};
  if (in.host())
    in.host()->carry_on(in.lock(), *this);
}

// -- the host's part ----------------------------------------------------------

void guard_host::begin(async_call& x, call_options* options) {
  // The guard may end while the function is started, but not this.
  auto keep = x.shared_from_this();
  visit in{*link_};
  x.link_ = link_;
  if (in.host())
    begin(in.lock(), x, options);
}

void guard_host::begin(lock_type& lock, async_call& x,
                       call_options* options) noexcept {
  auto& who = *x.caller_;
  if (stopped_) {
    who.answer = caf::make_message(end_error());
    x.end_ = end_of(who);
    x.on_done();
    return;
  }
  use_loop(x.loop_);
  x.self_ = x.shared_from_this();
  x.attended_ = true;
  {
    step running{*this};
    const auto number = token_of(who);
    reply_slot from{caller_of_slot{&who}, true, false, all_loops, number};
    engine_.on_call(std::move(from), caf::make_message(number), options,
                    running.now());
  }
  set_timers();
  carry_on(lock, x);
}

// Starts what is to be started, until the call waits for something.
void guard_host::carry_on(lock_type& lock, async_call& x) noexcept {
  hand_out_events(lock);
  while (x.caller_->next) {
    start_next(lock, x);
    hand_out_events(lock);
  }
  x.attended_ = false;
}

void guard_host::start_next(lock_type& lock, async_call& x) {
  auto& who = *x.caller_;
  // It may have taken a while until this thread came to it.
  if (armed_ <= clock_.now()) {
    step running{*this};
    if (!who.next)
      return;
  }
  auto state = x.make_state();
  state->key = *std::exchange(who.next, std::nullopt);
  if (x.takes_options())
    state->options = engine_.options_of(state->key);
  x.current_ = state;
  lock.unlock();
  x.start(
    std::make_shared<async_attempt>(x.shared_from_this(), std::move(state)));
  lock.lock();
}

void guard_host::end_attempt(lock_type& lock, async_call& x,
                             std::shared_ptr<async_attempt_state>& state,
                             attempt_result& result, bool in_loop) noexcept {
  auto how = keep_result(x, state, result);
  if (stopped_)
    return;
  const auto attends = in_loop && !std::exchange(x.attended_, true);
  {
    step running{*this};
    report(std::move(how), running.now());
  }
  if (attends)
    carry_on(lock, x);
  else
    hand_out_events(lock);
}

// Gives back in `state` and `result` what is to be destroyed.
guard_host::attempt_end
guard_host::keep_result(async_call& x,
                        std::shared_ptr<async_attempt_state>& state,
                        attempt_result& result) {
  auto& who = *x.caller_;
  attempt_end how{state->key, result.meaning,
                  result.thrown ? failure_of(result) : caf::message{}};
  who.executed = who.executed || !how.meaning || how.meaning->may_have_executed;
  if (x.current_ == state) {
    x.current_.reset();
    std::swap(who.last, result);
    std::swap(x.last_state_, state);
  }
  return how;
}

void guard_host::report(attempt_end&& how, time_point now) {
  meaning_ = how.meaning;
  engine_.on_answer(how.key, std::move(how.reply), now);
  meaning_.reset();
}

void guard_host::cancel(lock_type& lock, async_call& x) noexcept {
  if (x.caller_->answer)
    return;
  {
    step running{*this};
    withdraw(x, running.now());
  }
  hand_out_events(lock);
}

void guard_host::withdraw(async_call& x, time_point now) {
  if (!x.caller_->answer)
    engine_.on_cancelled(all_loops, token_of(*x.caller_), now);
}

void guard_host::defer(deferred_end&& x) {
  if (x.state)
    x.how = keep_result(*x.call, x.state, x.result);
  deferred_.push_back(std::make_unique<deferred_end>(std::move(x)));
}

void guard_host::carry_out(deferred_end& x, time_point now) {
  if (x.how)
    report(std::move(*x.how), now);
  else
    withdraw(*x.call, now);
}

// A thread of the call's loop sees to its next attempt, unless one does.
void guard_host::attend(async_call& x) {
  if (!std::exchange(x.attended_, true))
    x.post([self = x.shared_from_this()] { self->carry_on(); });
}

void guard_host::abandon_attempt(async_call& x) {
  auto state = std::move(x.current_);
  if (!state)
    return;
  state->abandoned = true;
  // It goes on, whatever the call is answered with.
  x.caller_->executed = true;
  if (auto f = std::exchange(state->on_abandoned, {}))
    f();
}

void guard_host::finish(async_call& x) {
  x.end_ = end_of(*x.caller_);
  if (!x.dropped_)
    x.on_done();
  // After that, as whoever is answered may begin the next call.
  release_loop(x.loop_.get());
  released_.push_back(std::move(x.self_));
}

// -- time ---------------------------------------------------------------------

void guard_host::use_loop(const std::shared_ptr<event_loop>& x) {
  for (auto& y : loops_)
    if (y.loop == x) {
      ++y.calls;
      return;
    }
  // Loops that have ended do not sweep.
  std::erase_if(loops_, [](const auto& y) { return y.calls == 0; });
  auto timer = x->make_timer([link = link_, loop = x.get()] {
    visit in{*link};
    if (in.host())
      in.host()->on_alarm(in.lock(), loop);
  });
  loops_.push_back({x, std::move(timer), 1, never, false});
}

// Without calls it has no timer, as a loop may run until it has none. But the
// next call often begins with the end of this one, and to set a timer anew
// takes longer than all else.
void guard_host::release_loop(const event_loop* x) {
  auto i = std::find_if(loops_.begin(), loops_.end(),
                        [&](const auto& y) { return y.loop.get() == x; });
  CAISSON_ENSURE(i != loops_.end() && i->calls > 0,
                 "a call of an event loop that has none");
  if (--i->calls > 0 || std::exchange(i->sweeps, true))
    return;
  i->loop->post([link = link_, x] {
    visit in{*link};
    if (in.host())
      in.host()->sweep(x);
  });
}

void guard_host::sweep(const event_loop* x) {
  std::erase_if(loops_, [&](auto& y) {
    if (y.loop.get() != x)
      return false;
    y.sweeps = false;
    return y.calls == 0;
  });
}

void guard_host::on_alarm(lock_type& lock, const event_loop* x) noexcept {
  for (auto& y : loops_)
    if (y.loop.get() == x)
      y.set = never;
  if (!stopped_ && armed_ <= clock_.now())
    step running{*this};
  set_timers();
  hand_out_events(lock);
}

// One that is set to an earlier instant stays, and is set again when it comes.
void guard_host::set_timers() {
  for (auto& x : loops_)
    if (armed_ < x.set) {
      x.set = armed_;
      x.timer->set(armed_);
    }
}

} // namespace caisson::detail
