#include <caisson/gate/detail/guard/guard_core.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/base/entropy.hpp>
#include <caisson/caf/caf_log.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/engine/snapshot_hub.hpp>
#include <caisson/gate/detail/guard/guard_parts.hpp>
#include <caisson/gate/gate.hpp>

#include <stdexcept>
#include <utility>

namespace caisson::detail {

namespace {

problems problems_of_guard(const stack& policies) {
  problems out;
  for (const auto& x : policies.build())
    if (x->handles_content() || !x->targets().empty())
      out.push_back(
        {problem_kind::relation, x->name(),
         "needs messages, which a guard does not have; use a gate"});
  return out;
}

} // namespace

// -- construction -------------------------------------------------------------

guard_core::guard_core(caf::actor_system* sys, const stack& policies,
                       guard_clock& clock, std::shared_ptr<guard_link> link)
  : name_(policies.config().name), system_(sys), link_(std::move(link)),
    engine_(*this, setup(policies)), time_(clock) {}

void guard_core::start() {
  // From when it is published on, readers of metrics come in.
  lock_type lock{mutex_};
  if (system_)
    engine_.publish_to(snapshot_hub::of(*system_)->join(
      name_, {}, false, [link = link_] { refresh(*link); }));
  auto running = fire_due_timers_and_step();
  engine_.start_with({.takes_cancelled = true}, running.now());
}

engine_setup guard_core::setup(const stack& policies) {
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

// -- end ----------------------------------------------------------------------

void guard_core::stop() {
  stopped_ = true;
  {
    auto running = fire_due_timers_and_step();
    engine_.stop();
  }
  time_.wake_all();
  presence_.left().notify_all();
}

void guard_core::await_end() {
  lock_type lock{mutex_};
  presence_.await();
  presence_.left().wait(
    lock, [&] { return presence_.is_empty() && !events_.is_delivering(); });
}

caf::error guard_core::end_error() const {
  if (auto err = engine_.failure(); err != caf::none)
    return err;
  return make_error(errc::cancelled, rejection{name_, duration::zero(), false,
                                               "the guard has been stopped"});
}

// -- the mutex ----------------------------------------------------------------

guard_core::lock_type guard_core::enter() {
  if (is_stepping())
    refuse_return();
  return lock_type{mutex_};
}

void guard_core::refuse_return() const {
  throw std::logic_error{"a function that the policies of the guard \"" + name_
                         + "\" call must not use that guard"};
}

// What users have made is destroyed without the mutex.
void guard_core::deliver_events(lock_type& lock) {
  if (!released_.empty()) {
    auto old = std::exchange(released_, {});
    lock.unlock();
    old.clear();
    lock.lock();
  }
  if (events_.deliver(lock))
    presence_.notify();
}

// Readers ask for what has happened since the last call. If a call is in
// progress, that publishes.
void guard_core::refresh(guard_link& link) {
  if (link.is_stepping())
    return;
  // Destroyed without the mutexes.
  std::vector<std::shared_ptr<void>> old;
  std::unique_lock end{link.mutex, std::try_to_lock};
  if (!end || link.ended)
    return;
  auto& core = link.guard.core;
  lock_type lock{core.mutex_, std::try_to_lock};
  if (!lock || core.stopped_)
    return;
  guard_stay here{core};
  core.fire_due_timers();
  old.swap(core.released_);
}

// -- steps --------------------------------------------------------------------

// What was due while no thread waited for it happens at its own instant, as if
// one had: nothing else has come in between.
void guard_core::run_timers(time_point now) {
  constexpr int most = 1'000;
  for (int count = 0; !stopped_ && time_.armed() <= now; ++count) {
    auto at = count < most ? time_.armed() : now;
    time_.disarm();
    engine_.on_timer(at);
  }
}

// Each may make policies call a function that ends more.
void guard_core::take_late_ends(time_point now) {
  while (!closed_.empty() || !deferred_.empty()) {
    for (auto& x : std::exchange(closed_, {}))
      x->take_effect(now);
    for (auto& x : std::exchange(deferred_, {})) {
      x->take_effect(now);
      let_go(std::move(x));
    }
  }
}

void guard_core::send(guard_caller& caller, call_options* options,
                      std::uint64_t sender, std::uint64_t number,
                      time_point now) {
  reply_slot from{caller_of_slot{&caller}, true, false, sender, number};
  engine_.on_call(std::move(from), caf::make_message(token_of(caller)), options,
                  now);
}

void guard_core::report(std::uint64_t key,
                        const std::optional<answer_info>& meaning,
                        caf::message&& reply, time_point now) {
  meaning_ = meaning;
  engine_.on_answer(key, std::move(reply), now);
  meaning_.reset();
}

void guard_core::hand_over_timer() {
  if (!time_.pass_on())
    presence_.notify();
}

// -- what the engine asks for -------------------------------------------------

// The number of an attempt is its caller: there is one at a time.
std::uint64_t guard_core::deliver(target_id to, std::uint64_t key,
                                  caf::message&& content, bool) {
  auto* ticket = portable::get_if<std::uint64_t>(content);
  CAISSON_ENSURE(to == worker_target && ticket && *ticket != 0,
                 "an attempt for {} is no caller's", to);
  auto& caller = caller_of(*ticket);
  CAISSON_ENSURE(!caller.next && !caller.answer,
                 "a call is sent twice at once");
  caller.next = key;
  caller.on_next();
  return *ticket;
}

void guard_core::send_cancelled(target_id, std::uint64_t number) {
  // It was not delivered, as the engine has failed.
  if (number == 0)
    return;
  auto& caller = caller_of(number);
  if (caller.next)
    caller.next.reset();
  else
    caller.on_abandoned();
}

void guard_core::answer(reply_slot to, caf::message&& content) {
  auto& caller = *to.as<caller_of_slot>().caller;
  caller.answer = std::move(content);
  caller.on_answer();
}

void guard_core::wake_at(time_point at) {
  if (time_.arm(at))
    presence_.notify();
  set_loop_timers();
}

void guard_core::engine_failed(const caf::error& why) {
  if (system_)
    portable::write_to_caf_log(*system_, portable::log_level::error,
                               to_text(why));
  stopped_ = true;
}

} // namespace caisson::detail
