#include <support/engine_world.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace caisson::test {

namespace {

/// What the engine keeps of a caller.
struct place {
  std::size_t call;
};

std::string error_in(const caf::error& x) {
  return x ? words_of(x) : std::string{};
}

// So many wake-ups at one instant are a loop.
constexpr int too_many = 1000;

} // namespace

engine_world::engine_world(layers policies, world_setup s)
  : setup_(std::move(s)), engine_(*this, detail::engine_setup{
                                           .config = setup_.config,
                                           .layers = std::move(policies),
                                           .supervision = setup_.supervision,
                                           .dead_letters = setup_.dead_letters,
                                           .seed = setup_.seed,
                                           .secret_seed = setup_.seed + 1,
                                           .path_key = 4711,
                                           .exact_timers = setup_.exact_timers,
                                         }) {
  // CAF 1.x makes no messages before, and there is no config that does it.
  init_types();
  for (const auto& x : engine_.targets()) {
    EXPECT_FALSE(x) << "there are no actors here";
    engine_.add_target(setup_.target);
  }
  step([this](auto& e, auto now) {
    switch (setup_.start) {
      case behind::worker:
        return e.start_with(setup_.worker, now);
      case behind::nothing:
        return e.start(now);
      case behind::dead_worker:
        return e.start_down(now);
      case behind::supervised:
        return e.start_supervised(now);
    }
  });
}

engine_world::~engine_world() {
  check_end();
  if (!stopped_)
    stop();
}

// -- what is checked ----------------------------------------------------------

void engine_world::check() {
  EXPECT_EQ(inside_, 0);
  EXPECT_EQ(busy_, !stopped_ && (engine_.live() > 0 || engine_.held_open()));
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_) {
    ADD_FAILURE() << "call " << deadlines_.begin()->second
                  << " has no answer at its deadline";
    deadlines_.erase(deadlines_.begin());
  }
}

void engine_world::check_end() {
  EXPECT_EQ(open_, 0u) << "calls without an answer";
  if (stopped_)
    return;
  EXPECT_EQ(engine_.live(), 0u);
  for (const auto* name : {"in_progress", "held", "waiting_for_worker",
                           "in_flight", "leases", "timers"})
    EXPECT_EQ(metric(name), 0) << name;
  EXPECT_TRUE(wake_ == never || !setup_.exact_timers);
}

void engine_world::note(std::string line) {
  EXPECT_GT(inside_, 0) << "no step is in progress: " << line;
  log_.push_back(to_text(now()) + " " + std::move(line));
}

// -- time ---------------------------------------------------------------------

void engine_world::at(duration t) {
  auto end = origin() + t;
  auto last = now_;
  for (auto times = 0; wake_ <= end;) {
    now_ = std::max(now_, wake_);
    times = now_ == last ? times + 1 : 0;
    last = now_;
    if (times == too_many) {
      ADD_FAILURE() << "wake-ups in a circle at " << to_text(now());
      break;
    }
    wake();
  }
  now_ = std::max(now_, end);
}

void engine_world::wake() {
  wake_ = never;
  step([](auto& e, auto now) { e.on_timer(now); });
}

void engine_world::wake_at(time_point at) {
  EXPECT_GT(inside_, 0);
  EXPECT_GT(at, now_) << "a wake-up in the past";
  wake_ = at;
}

// -- callers ------------------------------------------------------------------

std::size_t engine_world::ask(bool expects_reply, time_point deadline,
                              std::uint64_t caller, std::uint64_t number) {
  auto n = calls_.size();
  calls_.push_back(
    {expects_reply, caller, number == 0 ? n + 1 : number, deadline});
  if (expects_reply)
    ++open_;
  if (expects_reply && deadline != never)
    deadlines_.emplace(deadline, n);
  return n;
}

detail::reply_slot engine_world::slot_of(std::size_t n) const {
  const auto& x = calls_[n];
  return {place{n}, x.expects_reply, false, x.caller, x.number};
}

std::size_t engine_world::call(std::string content, call_options o,
                               std::uint64_t caller, std::uint64_t number) {
  auto deadline = never;
  if (o.time_left != duration::zero())
    deadline = time_after(now_, o.time_left);
  if (o.deadline_ns != 0)
    deadline = std::min(deadline, time_point{duration{o.deadline_ns}});
  auto n = ask(true, deadline, caller, number);
  step([&](auto& e, auto now) {
    e.on_call(slot_of(n), caisson::call{text(std::move(content)), std::move(o)},
              now);
  });
  return n;
}

std::size_t engine_world::call_plainly(std::string content) {
  auto n = ask(true, never, 1, 0);
  step([&](auto& e, auto now) {
    e.on_call(slot_of(n), text(std::move(content)), now);
  });
  return n;
}

void engine_world::send(std::string content) {
  auto n = ask(false, never, 1, 0);
  step([&](auto& e, auto now) {
    e.on_call(slot_of(n), text(std::move(content)), now);
  });
}

std::size_t engine_world::acquire_permit(const acquire& a,
                                         std::uint64_t caller) {
  auto deadline = a.time_left > duration::zero() ? time_after(now_, a.time_left)
                                                 : never;
  auto n = ask(true, deadline, caller, 0);
  step([&](auto& e, auto now) { e.on_acquire(slot_of(n), a, now); });
  return n;
}

std::size_t engine_world::release_permit(std::uint64_t id, bool failed) {
  auto n = ask(true, never, 1, 0);
  step([&](auto& e, auto now) {
    e.on_release(slot_of(n), release{id, failed}, now);
  });
  return n;
}

std::size_t engine_world::drain() {
  auto n = ask(true, never, 0, 0);
  step([&](auto& e, auto now) { e.on_drain(slot_of(n), now); });
  return n;
}

void engine_world::cancel(std::uint64_t caller, std::uint64_t number) {
  step([&](auto& e, auto now) { e.on_cancelled(caller, number, now); });
}

void engine_world::caller_down(std::uint64_t caller) {
  // What is due before the news of its end may still watch it.
  wake();
  watched_.erase(caller);
  step([&](auto& e, auto now) { e.on_caller_down(caller, now); });
}

void engine_world::answer(detail::reply_slot to, caf::message&& content) {
  EXPECT_TRUE(to.expects_reply());
  auto n = to.as<place>().call;
  auto& x = calls_[n];
  EXPECT_EQ(++x.answers, 1) << "call " << n << ": " << words_of(content);
  EXPECT_EQ(to.caller(), x.caller);
  EXPECT_EQ(to.number(), x.number);
  x.answer = words_of(content);
  if (auto* p = portable::get_if<permit>(content))
    x.lease = *p;
  note(fmt::format("call {} = {}", n, x.answer));
  --open_;
  deadlines_.erase({x.deadline, n});
}

void engine_world::watch_caller(const detail::reply_slot& caller) {
  EXPECT_TRUE(watched_.insert(caller.caller()).second) << "is watched already";
}

void engine_world::unwatch_caller(std::uint64_t caller) {
  EXPECT_EQ(watched_.erase(caller), 1u) << "is not watched";
}

// -- what stands behind -------------------------------------------------------

std::uint64_t engine_world::deliver(detail::target_id to, std::uint64_t key,
                                    caf::message&& content, bool urgent) {
  EXPECT_TRUE(!is_down(to) || to == dying_)
    << "sent to a target that is known to be down";
  const auto& info = to == detail::worker_target ? setup_.worker
                                                 : setup_.target;
  EXPECT_EQ(portable::holds<caisson::call>(content), info.takes_calls);
  if (auto* c = portable::get_if<caisson::call>(content)) {
    const auto& o = c->options;
    EXPECT_TRUE(o.deadline_ns == 0
                || time_point{duration{o.deadline_ns}} > now_);
    EXPECT_GT(o.deadline_ns == 0 ? o.time_left : duration{1}, duration::zero());
  }
  auto name = to == 0 ? std::string{"worker"} : fmt::format("target {}", to);
  note(fmt::format("{} <- {} #{}", name, words_of(content), attempts.size()));
  attempts.push_back({to, key, std::move(content), urgent});
  return attempts.size() - 1;
}

void engine_world::send_cancelled(detail::target_id to, std::uint64_t number) {
  auto& x = attempts.at(number);
  EXPECT_EQ(x.to, to);
  EXPECT_FALSE(std::exchange(x.cancelled, true)) << "cancelled twice";
  note(fmt::format("#{} cancelled", number));
}

void engine_world::answer(std::size_t n, caf::message content) {
  auto key = attempts.at(n).key;
  step([&](auto& e, auto now) { e.on_answer(key, std::move(content), now); });
}

void engine_world::fail(std::size_t n) {
  answer(n, failure());
}

void engine_world::bounce(std::size_t n) {
  answer(n,
         caf::make_message(caf::make_error(caf::sec::request_receiver_down)));
}

void engine_world::kill(detail::target_id x, const std::string& why,
                        actor_end how) {
  dead_.insert(x);
  // What is overdue comes before the news.
  dying_ = x;
  step([&](auto& e, auto now) { e.on_target_down(x, how, why, now); });
  dying_.reset();
}

bool engine_world::is_down(detail::target_id x) const {
  return dead_.count(x) > 0;
}

std::optional<detail::made_worker>
engine_world::make_worker(std::uint32_t incarnation) {
  incarnation_ = incarnation;
  note(fmt::format("make worker {}", incarnation));
  if (setup_.makes_slowly)
    return std::nullopt;
  if (!making_fails.empty())
    return detail::made_worker{{}, making_fails};
  dead_.erase(detail::worker_target);
  return detail::made_worker{setup_.worker, {}};
}

void engine_world::worker_made(const std::string& failure) {
  detail::made_worker worker;
  worker.failure = failure;
  if (failure.empty()) {
    dead_.erase(detail::worker_target);
    worker.info = setup_.worker;
  }
  step([&](auto& e, auto now) {
    EXPECT_TRUE(e.awaits_worker(incarnation_));
    e.on_worker_made(worker, now);
  });
}

void engine_world::forget_worker() {
  dead_.insert(detail::worker_target);
  note("forget worker");
}

void engine_world::worker_given_up(const std::string& why) {
  note("given up: " + why);
}

void engine_world::engine_failed(const caf::error& why) {
  note("failed: " + words_of(why));
  stopped_ = true;
}

// -- the rest of the host -----------------------------------------------------

void engine_world::send_dead_letter(dead_letter&& x) {
  note(fmt::format("letter {}: {}", words_of(x.content), words_of(x.answer)));
  letters.push_back(std::move(x));
}

void engine_world::emit(const event& x) {
  EXPECT_GT(x.number, last_event_);
  last_event_ = x.number;
  EXPECT_EQ(x.time_ns, now_.time_since_epoch().count());
  auto line = fmt::format("{}: {}", x.layer.empty() ? x.gate : x.layer,
                          name_of(x.kind));
  if (!x.from.empty() || !x.to.empty())
    line += fmt::format(" {}>{}", x.from, x.to);
  if (!x.detail.empty())
    line += fmt::format(" ({})", x.detail);
  if (x.delay != duration::zero())
    line += fmt::format(" {}", to_text(x.delay));
  note(std::move(line));
}

bool engine_world::send_probe() {
  probes += has_mailbox ? 1 : 0;
  return has_mailbox;
}

void engine_world::hold_open(bool busy) {
  EXPECT_NE(busy_, busy);
  busy_ = busy;
}

// -- operation ----------------------------------------------------------------

void engine_world::stop() {
  ++inside_;
  engine_.stop();
  --inside_;
  stopped_ = true;
  busy_ = false;
  EXPECT_EQ(engine_.live(), 0u);
  EXPECT_EQ(open_, 0u) << "a call without an answer";
  // A wake-up that was in progress does no harm.
  engine_.on_timer(now_);
}

std::string engine_world::command(operator_command x,
                                  const std::string& layer) {
  return step([&](auto& e, auto now) {
    return error_in(e.on_command(caisson::command{x, layer}, now));
  });
}

std::string engine_world::reconfigure(const std::string& layer) {
  return step([&](auto& e, auto now) {
    return error_in(e.on_reconfigure(caisson::reconfigure{layer, {}}, now));
  });
}

std::int64_t engine_world::metric(const std::string& name) {
  return step(
    [&](auto& e, auto now) { return e.make_status(now).metrics.at(name); });
}

// -- other stacks -------------------------------------------------------------

lines engine_world::swap(layers policies, std::vector<bool> afresh) {
  detail::next_stack x;
  x.config = setup_.config;
  x.supervision = setup_.supervision;
  for (auto& p : policies) {
    auto i = x.layers.size();
    x.layers.push_back({std::move(p), i < afresh.size() && afresh[i]});
  }
  return swap_to(std::move(x));
}

lines engine_world::replace_worker(layers same, const std::string& changes) {
  detail::next_stack x;
  x.config = setup_.config;
  x.worker = detail::next_worker{{}, setup_.dead_letters, changes};
  for (auto& p : same)
    x.layers.push_back({std::move(p)});
  return swap_to(std::move(x));
}

lines engine_world::swap_to(detail::next_stack x) {
  lines out;
  if (auto why = engine_.problem_with(x); !why.empty())
    return {why};
  step([&](auto& e, auto now) {
    for (auto& change : e.on_new_stack(std::move(x), now))
      out.push_back(change.layer + ": " + change.what);
  });
  return out;
}

detail::target_info engine_world::add_target(detail::target_id x,
                                             const caf::actor& handle) {
  EXPECT_FALSE(handle) << "there are no actors here";
  EXPECT_TRUE(added_.insert(x).second) << "is a target already";
  dead_.erase(x);
  return setup_.target;
}

void engine_world::drop_target(detail::target_id x) {
  added_.erase(x);
}

void engine_world::retire_worker(detail::target_id x) {
  EXPECT_TRUE(added_.insert(x).second) << "is a target already";
  dead_.erase(x);
  for (auto& a : attempts)
    if (a.to == detail::worker_target)
      a.to = x;
  note(fmt::format("the earlier worker is target {}", x));
}

void engine_world::end_target(detail::target_id x) {
  EXPECT_EQ(added_.erase(x), 1u) << "is not a target";
  note(fmt::format("end target {}", x));
}

} // namespace caisson::test
