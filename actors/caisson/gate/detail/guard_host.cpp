#include <caisson/gate/detail/guard_host.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/base/entropy.hpp>
#include <caisson/caf/caf_log.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/engine/snapshot_hub.hpp>
#include <caisson/gate/detail/async_call.hpp>
#include <caisson/gate/detail/guard_step.hpp>
#include <caisson/gate/gate.hpp>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace caisson::detail {

namespace {

class steady_guard_clock final : public guard_clock {
public:
  [[nodiscard]] time_point now() const override {
    return std::chrono::steady_clock::now();
  }

  void wait(std::unique_lock<std::mutex>& lock,
            std::condition_variable& changed, time_point until) override {
    if (until == never)
      changed.wait(lock);
    else
      changed.wait_until(lock, until);
  }
};

problems problems_of_guard(const stack& policies) {
  problems out;
  for (const auto& x : policies.build())
    if (x->handles_content() || !x->targets().empty())
      out.push_back({problem_kind::relation, x->name(),
                     "works on messages or sends them, and a guard has none; "
                     "use it in a gate"});
  return out;
}

} // namespace

guard_clock& guard_clock::steady() {
  static steady_guard_clock clock;
  return clock;
}

// -- construction -------------------------------------------------------------

guard_host::guard_host(caf::actor_system* sys, const stack& policies,
                       exception_classifier classify, guard_clock& clock)
  : name_(policies.config().name), classify_(std::move(classify)), system_(sys),
    clock_(clock), link_(std::make_shared<guard_link>(*this)),
    engine_(*this, setup(policies)) {
  if (system_)
    engine_.publish_to(snapshot_hub::of(*system_)->join(
      name_, {}, false, [link = link_] { refresh(*link); }));
  step running{*this};
  engine_.start_with({.takes_cancelled = true}, running.now());
}

// Threads may be on their way out.
guard_host::~guard_host() {
  // Attempts that end meanwhile come here, and not to what is abandoned.
  stop();
  {
    std::lock_guard lock{link_->mutex};
    link_->ended = true;
  }
  lock_type lock{mutex_};
  awaits_end_ = true;
  left_.wait(lock,
             [&] { return inside_ == 0 && handing_out_ == std::thread::id{}; });
}

engine_setup guard_host::setup(const stack& policies) {
  init_types();
  require_valid(worker{}, policies);
  if (auto found = problems_of_guard(policies); !found.empty())
    throw config_error{std::move(found)};
  engine_setup s;
  s.config = policies.config();
  s.layers = policies.build();
  if (system_)
    for (auto& x : s.layers)
      x->start_in(*system_);
  s.adapter = [this](const caf::message&) { return meaning_; };
  auto drawn = entropy_bits();
  s.seed = s.config.seed == 0
             ? drawn
             : mix_seed(static_cast<std::uint64_t>(s.config.seed));
  s.path_key = mix_seed(~drawn);
  s.exact_timers = true;
  s.makes_children = false;
  return s;
}

// What a call is answered with once the guard has been stopped.
caf::error guard_host::end_error() const {
  if (auto err = engine_.failure(); err != caf::none)
    return err;
  return make_error(errc::cancelled, rejection{name_, duration::zero(), false,
                                               "the guard has been stopped"});
}

// -- calls --------------------------------------------------------------------

bool guard_host::is_stepping() const noexcept {
  return link_->is_stepping();
}

void guard_host::refuse_return() const {
  throw std::logic_error{"a function that the policies of the guard \"" + name_
                         + "\" call must not use that guard"};
}

guard_host::lock_type guard_host::enter() {
  if (is_stepping())
    refuse_return();
  return lock_type{mutex_};
}

void guard_host::leave(thread_caller& who) {
  CAISSON_ENSURE(timekeeper_ != &who, "who leaves still keeps the time");
  leave();
}

void guard_host::leave() {
  --inside_;
  if (awaits_end_)
    left_.notify_all();
}

call_end guard_host::call(call_options* options, attempt_maker& maker) {
  auto lock = enter();
  return finish(lock, options, maker);
}

void guard_host::begin(thread_caller& who, call_options* options,
                       std::uint64_t id) {
  step running{*this};
  reply_slot from{caller_of_slot{&who}, true, false, id, id == 0 ? 0u : 1u};
  auto ticket = caf::make_message(token_of(who));
  engine_.on_call(std::move(from), std::move(ticket), options, running.now());
}

call_end guard_host::finish(lock_type& lock, call_options* options,
                            attempt_maker& maker) noexcept {
  thread_caller own;
  ++inside_;
  if (stopped_)
    own.answer = caf::make_message(end_error());
  else
    begin(own, options);
  hand_out_events(lock);
  while (!own.answer) {
    if (own.next)
      make_attempt(lock, own, maker);
    else
      wait(lock, own);
    hand_out_events(lock);
  }
  leave(own);
  lock.unlock();
  return end_of(own);
}

// What the caller learns of the answer.
call_end guard_host::end_of(caller& who) {
  auto o = outcome_of(*who.answer);
  call_end out{{}, o.may_have_executed};
  if (auto* err = portable::get_if<caf::error>(*who.answer))
    out.error = *err;
  out.retry_after = caisson::retry_after(out.error);
  // A policy's error is not what the function threw before it.
  if (!o.ok && !o.own_error) {
    out.thrown = std::move(who.last.thrown);
    out.may_have_executed = who.executed;
    if (who.last.meaning)
      out.retry_after = std::max(who.last.meaning->retry_after,
                                 duration::zero());
  }
  return out;
}

void guard_host::make_attempt(lock_type& lock, thread_caller& who,
                              attempt_maker& maker) {
  // It may have taken a while until this thread came to it.
  if (armed_ <= clock_.now()) {
    step running{*this};
    if (!who.next)
      return;
  }
  auto key = *std::exchange(who.next, std::nullopt);
  std::optional<call_options> options;
  if (maker.takes_options())
    options = engine_.options_of(key);
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
  if (stopped_)
    return;
  const auto& reply = who.abandoned ? who.discarded : who.last;
  step running{*this};
  meaning_ = reply.meaning;
  engine_.on_answer(key, reply.thrown ? failure_of(reply) : caf::message{},
                    running.now());
  meaning_.reset();
}

// One of those that wait looks at the clock for all of them.
void guard_host::wait(lock_type& lock, thread_caller& who) {
  who.place = waiting_.size();
  waiting_.push_back(&who);
  if (!timekeeper_)
    timekeeper_ = &who;
  auto keeps_time = timekeeper_ == &who;
  clock_.wait(lock, who.changed, keeps_time ? armed_ : never);
  if (keeps_time && !stopped_ && armed_ <= clock_.now())
    step running{*this};
  waiting_.back()->place = who.place;
  std::swap(waiting_[*who.place], waiting_.back());
  waiting_.pop_back();
  who.place.reset();
  // This thread is going to do something else, perhaps for long: it runs the
  // user's function, a listener, or leaves.
  auto hands_out = !released_.empty()
                   || (!events_.empty() && handing_out_ == std::thread::id{});
  if (timekeeper_ == &who && (who.answer || who.next || stopped_ || hands_out))
    pass_the_clock();
}

// What was due while no thread waited for it happens at its own instant, as if
// one had: nothing else has come in between.
void guard_host::run_timers(time_point now) {
  constexpr int most = 1'000;
  for (int count = 0; !stopped_ && armed_ <= now; ++count) {
    auto at = count < most ? armed_ : now;
    armed_ = never;
    engine_.on_timer(at);
  }
}

void guard_host::pass_the_clock() {
  timekeeper_ = waiting_.empty() ? nullptr : waiting_.back();
  if (timekeeper_)
    timekeeper_->changed.notify_one();
  else if (awaits_end_)
    left_.notify_all();
}

// -- what goes out ------------------------------------------------------------

// The number of an attempt is its caller: there is one at a time.
std::uint64_t guard_host::deliver(target_id to, std::uint64_t key,
                                  caf::message&& content, bool) {
  auto* ticket = portable::get_if<std::uint64_t>(content);
  CAISSON_ENSURE(to == worker_target && ticket && *ticket != 0,
                 "an attempt for {} is no caller's", to);
  auto& who = *std::bit_cast<caller*>(*ticket);
  CAISSON_ENSURE(!who.next && !who.answer, "a call is sent twice at once");
  who.next = key;
  wake(who);
  return *ticket;
}

void guard_host::send_cancelled(target_id, std::uint64_t number) {
  // It was not delivered, as the engine has failed.
  if (number == 0)
    return;
  auto& who = *std::bit_cast<caller*>(number);
  if (who.next)
    who.next.reset();
  else if (who.async)
    abandon_attempt(*who.async);
  else
    static_cast<thread_caller&>(who).abandoned = true;
}

void guard_host::answer(reply_slot to, caf::message&& content) {
  auto& who = *to.as<caller_of_slot>().who;
  who.answer = std::move(content);
  if (who.async)
    finish(*who.async);
  else
    wake(who);
}

void guard_host::wake(caller& who) {
  if (who.async)
    return attend(*who.async);
  if (auto& waiter = static_cast<thread_caller&>(who); waiter.place)
    waiter.changed.notify_one();
}

void guard_host::wake_at(time_point at) {
  auto sooner = at < armed_;
  armed_ = at;
  if (sooner && timekeeper_ && timekeeper_->place)
    timekeeper_->changed.notify_one();
  if (sooner && awaits_end_)
    left_.notify_all();
  set_timers();
}

// Events that listeners do not keep up with are lost, which their numbers show.
void guard_host::emit(const event& what) {
  constexpr std::size_t most = 10'000;
  if (events_.size() < most)
    events_.push_back(what);
}

void guard_host::engine_failed(const caf::error& why) {
  if (system_)
    portable::write_to_caf_log(*system_, portable::log_level::error,
                               to_text(why));
  stopped_ = true;
}

} // namespace caisson::detail
