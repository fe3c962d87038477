#include <caisson/engine/engine.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/engine/layer_calls.hpp>
#include <caisson/policy/call_number.hpp>

#include <algorithm>
#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

namespace caisson::detail {

namespace {

/// So many rounds at one instant are a loop. Each call may take some.
constexpr std::size_t most_rounds = 1'000'000;

} // namespace

// What is overdue comes first, what is asked for meanwhile last. Nothing that
// was thrown on the way goes further than here: by a policy that breaks its
// word, or because an invariant does not hold. Then the engine ends, as its
// state cannot be trusted.
template <class F>
auto engine::step(time_point now, reply_slot* from, F f) -> decltype(f()) {
  if (ending_.has_ended())
    ending_.refuse(from);
  else
    try {
      work_scope work{current_call_};
      begin_step(now);
      if constexpr (std::is_void_v<decltype(f())>) {
        f();
        return end_step();
      } else {
        auto result = f();
        end_step();
        return result;
      }
    } catch (const std::exception& e) {
      fail(from, e.what());
    } catch (...) {
      fail(from, "unknown exception");
    }
  if constexpr (std::is_same_v<decltype(f()), caf::error>)
    return failure();
  else
    return decltype(f())();
}

template <class F>
auto engine::step(time_point now, F f) -> decltype(f()) {
  return step(now, nullptr, std::move(f));
}

void engine::begin_step(time_point now) {
  CAISSON_ENSURE(!in_step_, "a step within another one");
  in_step_ = true;
  core_.layers.context().now = now;
  // The clock's message may be behind others in the mailbox. What is overdue
  // comes first, so that an answer that comes at or after its deadline is late
  // whatever the order in which the two arrive.
  if (armed_ <= now)
    run_due();
  core_.current_call = call_table::no_record;
}

// At the same instant: calls (deadlines among them), policies, the worker.
[[gnu::always_inline]] inline engine::due_event engine::next_due() const {
  auto [wake, layer] = core_.layers.next_wakeup();
  due_event first{core_.timers.next(), due_event::kind::call, 0};
  if (wake < first.at)
    first = {wake, due_event::kind::policy, layer};
  if (upstream_.restart_at() < first.at)
    first = {upstream_.restart_at(), due_event::kind::worker, 0};
  return first;
}

void engine::end_step() {
  auto next = next_due().at;
  auto all_stay = !core_.layers.any_leaving() && !core_.layers.any_retired()
                  && upstream_.leaving() == 0;
  // As a rule nothing is due.
  if (next <= core_.now() || core_.layers.has_requests() || !all_stay)
    [[unlikely]] {
    run_due();
    if (swap_.retire_done())
      run_due();
    swap_.sweep();
    upstream_.end_replaced();
    next = next_due().at;
  }
  CAISSON_ENSURE(core_.calls.none_moving(), "of {} calls {} are on the move",
                 core_.calls.live(), core_.calls.in(phase::moving));
  operations_.finish_drain();
  publisher_.after_step();
  rearm(next);
  auto busy = operations_.busy();
  if (busy != std::exchange(busy_, busy))
    core_.host.hold_open(busy);
  in_step_ = false;
}

engine::engine(engine_host& host, engine_setup setup)
  : core_(host, std::move(setup)), current_call_(core_),
    attempts_(core_, targets_), upstream_(core_, targets_, core_.supervision),
    leases_(core_, attempts_), expiry_(core_, attempts_, upstream_, leases_),
    children_(core_, expiry_),
    router_(core_, attempts_, upstream_, leases_, expiry_, children_),
    operations_(core_, upstream_), arrivals_(core_, operations_),
    publisher_(core_, upstream_, operations_),
    swap_(core_, targets_, upstream_),
    ending_(core_, upstream_, leases_, operations_, publisher_) {
  core_.layers.context().times = &core_.times;
  core_.layers.context().config = &core_.config;
  core_.layers.context().mailbox = &core_.mailbox;
  core_.layers.context().children = [this](std::size_t k, child_call c) {
    return children_.make(k, std::move(c));
  };
  core_.layers.context().find_call = [this](std::size_t k, call_id id) {
    const auto* r = core_.calls.find(id);
    return r && is_inside(*r, k) ? r : nullptr;
  };
}

std::vector<caf::actor> engine::targets() const {
  std::vector<caf::actor> out;
  for (std::size_t k = 0; k < core_.layers.size(); ++k)
    for (auto& x : core_.layers[k].owner->targets())
      out.push_back(std::move(x));
  return out;
}

// -- what is due --------------------------------------------------------------

// A policy that always wants to be woken at an instant that has passed, or
// answers each end of a child with another child, would keep it here for ever.
void engine::run_due() {
  auto most = most_rounds + 16 * core_.calls.live();
  std::size_t rounds = 0;
  auto last = time_point::min();
  for (;;) {
    ++rounds;
    CAISSON_ENSURE(rounds < most, "after {} rounds something is due", rounds);
    if (auto next = core_.layers.next_request()) {
      carry_out(*next);
      continue;
    }
    auto due = next_due();
    if (due.at > core_.now() || due.at == never)
      return;
    if (due.at > std::exchange(last, due.at))
      rounds = 0;
    core_.current_call = call_table::no_record;
    switch (due.what) {
      case due_event::kind::call: {
        auto place = *core_.timers.pop_due(core_.now());
        auto* r = core_.calls.at(place);
        CAISSON_ENSURE(r && r->timer_at == due.at,
                       "a timer of place {} goes off, and is not that of call "
                       "{} there",
                       place, r ? call_number(r->id) : 0);
        router_.on_timer(*r);
        break;
      }
      case due_event::kind::policy:
        core_.layers.run(due.layer, [](policy& p, env& e) { p.wake(e); });
        break;
      case due_event::kind::worker:
        router_.on_change(upstream_.restart());
        break;
    }
  }
}

// The publisher is not in `next_due`. It publishes the state that a step
// leaves, so it runs after everything that is due, and when it is to publish
// again is known only then. As `end_step` runs it in each step, `run_due` would
// have nothing to do for it: its instant only has to wake the engine.
void engine::rearm(time_point due) {
  auto next = std::min(due, publisher_.due());
  CAISSON_ENSURE(next > core_.now() || next == never,
                 "something is due at the end of a step");
  if (next < armed_
      || (core_.exact_timers && next == never && armed_ != never)) {
    armed_ = next;
    core_.host.wake_at(next);
  }
}

void engine::carry_out(const layer_request& x) {
  using kind = env::action::kind;
  auto k = x.layer;
  switch (x.what.what) {
    case kind::start_child:
      return router_.start_child(k, x.what.index);
    case kind::join_child:
      return router_.join_child(k, x.what.index, x.what.call);
    case kind::cancel_child:
      return router_.cancel_child(k, x.what.index);
    case kind::attempt_timed_out:
      return pass_on_timeout(k, x.what.call);
    case kind::resume:
    case kind::reject:
    case kind::answer:
      break;
  }
  CAISSON_ENSURE(core_.calls.has_known(x.what.call),
                 "{} asks about call {}, which it never had",
                 core_.layers[k].owner->name(), call_number(x.what.call));
  auto* r = core_.calls.find(x.what.call);
  // Answered or cut off since: the policy knows.
  if (!is_held_by(k, r))
    return;
  if (x.what.what == kind::resume)
    router_.resume(*r, k);
  else if (x.what.what == kind::answer)
    router_.answer(*r, k, x.what.index, x.what.executed);
  else
    router_.reject(*r, k, x.what.code, x.what.retry_after);
}

void engine::pass_on_timeout(std::size_t k, call_id call) {
  CAISSON_ENSURE(core_.calls.has_known(call),
                 "{} repeats call {}, which it never had",
                 core_.layers[k].owner->name(), call_number(call));
  // A layer that only observes makes no further attempt.
  if (core_.layers.active(k) != mode::enforce)
    return;
  auto* r = core_.calls.find(call);
  auto key = r ? r->key : std::string{};
  const auto plan = r ? r->plan : core_.layers[k].until - 1;
  while (k-- > 0)
    if (core_.layers[k].serves(plan) && core_.layers.active(k) != mode::off)
      core_.layers.run(k,
                       [&](policy& p, env& e) { p.attempt_timed_out(key, e); });
}

// -- what stands behind -------------------------------------------------------

void engine::start(time_point now) {
  step(now, [] {});
}

void engine::start_with(const target_info& worker, time_point now) {
  step(now, [&] { upstream_.use(worker); });
}

void engine::start_down(time_point now) {
  step(now, [&] { upstream_.use_none(); });
}

void engine::start_supervised(time_point now) {
  step(now, [&] { router_.on_change(upstream_.supervise()); });
}

void engine::on_worker_made(const made_worker& x, time_point now) {
  step(now, [&] { router_.on_change(upstream_.on_worker(x)); });
}

void engine::on_group_order(member_order what, const std::string& why,
                            time_point now) {
  step(now, [&] { router_.on_change(upstream_.follow_group(what, why)); });
}

void engine::on_group_down(time_point now) {
  step(now, [&] { router_.on_change(upstream_.leave_group()); });
}

void engine::on_target_down(target_id x, actor_end how, const std::string& why,
                            time_point now) {
  step(now, [&] { router_.on_change(upstream_.on_down(x, how, why)); });
}

void engine::on_probe(time_point now) {
  step(now, [&] { core_.mailbox.on_arrival(core_.now()); });
}

// -- what comes in ------------------------------------------------------------

void engine::on_call(reply_slot&& from, caf::message&& content,
                     call_options* options, time_point now) {
  step(now, &from, [&] {
    router_.move(arrivals_.take(std::move(from), std::move(content), options));
  });
}

void engine::on_answer(std::uint64_t key, caf::message&& content,
                       time_point now) {
  step(now, [&] { router_.on_answer(key, std::move(content)); });
}

void engine::on_timer(time_point now) {
  armed_ = never;
  step(now, [] {});
}

void engine::on_cancelled(std::uint64_t caller, std::uint64_t number,
                          time_point now) {
  step(now, [&] {
    while (auto* r = core_.calls.find_request(caller, number))
      router_.cancel(*r);
  });
}

void engine::on_caller_down(std::uint64_t caller, time_point now) {
  step(now, [&] {
    core_.callers.on_down(caller,
                          [this](call_record& r) { router_.cancel(r); });
  });
}

// -- arrival ------------------------------------------------------------------

void engine::refuse(reply_slot from, errc code, std::string text,
                    time_point now) {
  step(now, &from, [&] { arrivals_.refuse(from, code, std::move(text)); });
}

void engine::on_acquire(reply_slot from, const acquire& what, time_point now) {
  step(now, &from,
       [&] { router_.move(arrivals_.acquire(std::move(from), what)); });
}

void engine::on_release(reply_slot from, const release& what, time_point now) {
  step(now, &from,
       [&] { router_.move(leases_.release(std::move(from), what)); });
}

void engine::on_renew(reply_slot from, const renew& what, time_point now) {
  step(now, &from, [&] { leases_.renew(std::move(from), what); });
}

// -- operation ----------------------------------------------------------------

status engine::make_status(time_point now) {
  return step(now, [&] {
    run_due();
    return operations_.make_status();
  });
}

caf::error engine::on_reconfigure(const reconfigure& x, time_point now) {
  return step(now, [&] { return operations_.apply(x); });
}

caf::error engine::on_command(const command& x, time_point now) {
  return step(now, [&] { return operations_.apply(x); });
}

void engine::on_drain(reply_slot from, time_point now) {
  step(now, &from, [&] { operations_.start_drain(std::move(from)); });
}

std::string engine::problem_with(const next_stack& x) const {
  return swap_.problem_with(x);
}

std::vector<layer_change> engine::on_new_stack(next_stack x, time_point now) {
  // Layers of the user's may throw as they start: nothing has changed then.
  std::exception_ptr refused;
  auto changes = step(now, [&]() -> std::vector<layer_change> {
    try {
      swap_.start_layers(x);
    } catch (...) {
      refused = std::current_exception();
      return {};
    }
    const auto replaces = x.worker.has_value();
    auto out = swap_.apply(std::move(x), operations_.draining());
    if (replaces)
      router_.on_change(upstream_.replace());
    return out;
  });
  if (refused)
    std::rethrow_exception(refused);
  return changes;
}

event engine::make_event(const event_info& x, time_point now) {
  return core_.events.make(now, {}, x);
}

// -- the end ------------------------------------------------------------------

void engine::stop() {
  if (!ending_.has_ended())
    ending_.stop();
}

void engine::fail(reply_slot* from, std::string_view why) {
  ending_.fail(from, why);
  if (std::exchange(busy_, false))
    core_.host.hold_open(false);
  if (std::exchange(armed_, never) != never)
    core_.host.wake_at(never);
  core_.host.engine_failed(failure());
}

} // namespace caisson::detail
