#include <policies/limiter/model/limiter_rig.hpp>
#include <support/operations.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace caisson::test {
namespace {

// A limiter that lives through every single nanosecond. `level` is counted in
// parts of a token, of which there are `per`; a nanosecond brings `rate`.
class clockwork {
public:
  struct seen {
    place where = place::held;
    errc code{};
    duration retry_after{};
  };

  struct waiting {
    call_id id;
    std::int64_t weight;
    time_point end;
  };

  explicit clockwork(limiter_config c) : config(std::move(c)), level(full()) {}

  void arrive(call_id id, std::int64_t weight, time_point deadline) {
    if (weight > config.burst)
      return reject(id, errc::rate_limited, duration::zero());
    if (queue.empty() && level >= weight * per())
      return run(id, weight);
    auto turn = pass_time(weight);
    auto wait = turn - now;
    if (wait > config.max_wait || turn >= deadline)
      return reject(id, errc::rate_limited, wait);
    if (queue.size() >= config.max_waiters)
      return reject(id, errc::queue_full, wait);
    auto end = config.max_wait == unlimited ? never : now + config.max_wait;
    queue.push_back({id, weight, end});
    calls[id] = {place::held, {}, {}};
  }

  void finish(call_id id, const outcome& o) {
    if (!o.ok && !o.may_have_executed)
      put_back(running[id]);
    if (config.drain_on_rejection && !o.ok && o.from_worker
        && (o.is(errc::rate_limited) || o.retry_after > duration::zero())) {
      level = 0;
      shut_until = std::max(
        shut_until, now + std::min(o.retry_after, config.retry_after_cap));
      latest = std::max(latest, shut_until);
    }
    running.erase(id);
    calls[id].where = place::passed;
    grant();
  }

  void abandon(call_id id) {
    running.erase(id);
    std::erase_if(queue, [=](auto& w) { return w.id == id; });
    calls[id].where = place::abandoned;
    grant();
  }

  // One more nanosecond.
  void tick() {
    now += duration{1};
    if (now > latest) {
      latest = now;
      level = level < full() ? level + config.rate : full();
    }
    grant();
    // Those who leave at the same instant leave in the order they came.
    for (;;) {
      auto i = std::find_if(queue.begin(), queue.end(),
                            [this](auto& w) { return w.end == now; });
      if (i == queue.end())
        return;
      auto w = *i;
      queue.erase(i);
      reject(w.id, errc::wait_timeout, pass_time(w.weight) - now);
      grant();
    }
  }

  void reconfigure(const limiter_config& c) {
    level = level * c.per.count() / per();
    config = c;
    level = std::min(level, full());
    for (auto& w : queue)
      if (w.weight > c.burst)
        reject(w.id, errc::rate_limited, duration::zero());
    std::erase_if(queue, [&](auto& w) { return w.weight > c.burst; });
    grant();
  }

  void reset() {
    level = full();
    shut_until = time_point::min();
    latest = now;
    grant();
  }

  std::int64_t tokens() const { return level / per(); }

  limiter_config config;
  std::int64_t level;
  time_point now = limiter_rig::start();
  // No time before this instant counts (again).
  time_point latest = limiter_rig::start();
  time_point shut_until = time_point::min();
  std::vector<waiting> queue;
  std::map<call_id, std::int64_t> running;
  std::map<call_id, seen> calls;

private:
  std::int64_t per() const { return config.per.count(); }
  std::int64_t full() const { return per() * config.burst; }

  void reject(call_id id, errc code, duration retry_after) {
    calls[id] = {place::rejected, code, retry_after};
  }

  void run(call_id id, std::int64_t weight) {
    level -= weight * per();
    running[id] = weight;
    calls[id] = {place::below, {}, {}};
  }

  void grant() {
    while (!queue.empty() && level >= queue.front().weight * per()) {
      run(queue.front().id, queue.front().weight);
      queue.erase(queue.begin());
    }
  }

  void put_back(std::int64_t weight) {
    if (now >= shut_until && level < full())
      level = std::min(level + weight * per(), full());
  }

  time_point pass_time(std::int64_t weight) const {
    for (auto& w : queue)
      weight += w.weight;
    auto missing = weight * per() - level;
    auto ns = missing / config.rate + (missing % config.rate > 0 ? 1 : 0);
    return latest + duration{ns};
  }
};

// Small enough to count nanoseconds one by one.
rc::Gen<limiter_config> small_config() {
  return rc::gen::apply(
    [](std::int64_t rate, int per, std::uint32_t burst, duration wait,
       std::uint32_t waiters, bool drain, duration cap) {
      limiter_config c;
      c.rate = rate;
      c.per = duration{per};
      c.burst = burst;
      c.max_wait = wait;
      c.max_waiters = wait > duration{0} ? std::max(waiters, 1u) : waiters;
      c.drain_on_rejection = drain;
      c.retry_after_cap = cap;
      return c;
    },
    rc::gen::element<std::int64_t>(1, 3, 7, 10, 333, 999, 1000),
    rc::gen::element(1000, 1001, 1999, 5000),
    rc::gen::element<std::uint32_t>(1, 1, 2, 3, 5),
    rc::gen::element(duration{0}, duration{1}, duration{400}, duration{3000},
                     duration{20'000}, unlimited),
    rc::gen::element<std::uint32_t>(0, 1, 3, 1'000'000),
    rc::gen::arbitrary<bool>(),
    rc::gen::element(unlimited, unlimited, duration{0}, duration{700}));
}

outcome any_outcome(int n, int m) {
  switch (n % 10) {
    case 0: {
      auto o = outcome::failure(errc::rate_limited, m % 2 == 0, duration{m});
      o.from_worker = m % 4 == 0;
      return o;
    }
    case 1:
      return error_of_worker(duration{m});
    case 2:
    case 3:
      return outcome::failure(errc::breaker_open, m % 2 == 0, duration{m});
    case 4:
      return outcome::failure(errc::worker_down, true);
    default:
      return outcome::success();
  }
}

void perform(const scripted_step& x, limiter_rig& h, clockwork& c) {
  auto [what, n, m] = x;
  if (what < 10) {
    call_info f;
    f.permits = static_cast<std::uint32_t>(1 + (m % 3 == 0 ? n % 6 : 0));
    if (m % 5 == 0)
      f.deadline = h.e.now + duration{n * 4};
    c.arrive(h.arrive(f), f.permits, f.deadline);
  } else if (what < 13) {
    if (auto id = live_call(c, n, false)) {
      auto o = any_outcome(n, m);
      h.finish(id, o);
      c.finish(id, o);
    }
  } else if (what < 15) {
    if (auto id = live_call(c, n, true)) {
      h.abandon(id);
      c.abandon(id);
    }
  } else if (what < 20) {
    auto d = m % 4 == 0 ? n % 3 : n * 2;
    h.advance(duration{d});
    for (int i = 0; i < d; ++i)
      c.tick();
  } else if (what < 21) {
    auto t = h.now() - duration{n};
    h.set_clock(t);
    c.now = limiter_rig::start() + t;
  } else if (what < 22) {
    command(h, operator_command::reset);
    c.reset();
  } else {
    auto config = *small_config();
    reconfigure(h, config);
    c.reconfigure(config);
  }
}

void compare(limiter_rig& h, const clockwork& c) {
  // Brings the gauge up to the present.
  h.policy.wake(h.e);
  RC_ASSERT(h.e.actions.empty());
  RC_ASSERT(h.calls.size() == c.calls.size());
  for (auto& [id, expected] : c.calls) {
    auto& actual = h.calls.at(id);
    RC_ASSERT(actual.where == expected.where);
    RC_ASSERT(actual.descents <= 1);
    if (expected.where == place::rejected) {
      RC_ASSERT(actual.code == expected.code);
      RC_ASSERT(actual.retry_after == expected.retry_after);
    }
  }
  RC_ASSERT(h.count("tokens") == c.tokens());
  RC_ASSERT(h.count("waiting") == static_cast<std::int64_t>(c.queue.size()));
}

RC_GTEST_PROP(limiter_property, does_as_the_clockwork_does, ()) {
  auto config = *small_config();
  limiter_rig h{config};
  clockwork c{config};
  // Both have seen the start before the clock can step behind it.
  compare(h, c);
  auto ops = *any_steps(150, 23, 1000);
  for (auto& x : ops) {
    perform(x, h, c);
    compare(h, c);
  }
}

// -- windows ------------------------------------------------------------------

// How many tokens come in within `t`; `grain` is added before rounding down.
std::int64_t flow(const limiter_config& c, duration t, std::int64_t grain = 0) {
  __extension__ using wide = __int128;
  return static_cast<std::int64_t>((wide{t.count()} * c.rate + grain)
                                   / c.per.count());
}

// What was sold and what was given back, with its time.
struct sale {
  duration at;
  std::int64_t tokens;
};

rc::Gen<limiter_config> any_limiter() {
  return rc::gen::map(
    rc::gen::tuple(
      rc::gen::element<std::int64_t>(1, 3, 7, 10, 999, 1000, 1'000'000'000),
      rc::gen::element<std::int64_t>(1000, 1'000'000, 1'000'000'000,
                                     60'000'000'000),
      rc::gen::element<std::uint32_t>(1, 1, 2, 5, 100, 1'000'000),
      rc::gen::element<std::int64_t>(0, 1, 5, 1000)),
    [](const auto& x) {
      auto [rate, per, burst, intervals] = x;
      limiter_config c;
      c.rate = std::min(rate, per);
      c.per = duration{per};
      c.burst = burst;
      c.max_wait = c.per / c.rate * intervals;
      return c;
    });
}

// Moves the clock and notes each call on its way down at its own instant.
class ledger {
public:
  explicit ledger(limiter_config c) : h(std::move(c)) {}

  void arrive(std::uint32_t permits) {
    call_info f;
    f.permits = permits;
    auto id = h.arrive(f);
    note();
    if (h.where(id) == place::held)
      held.push_back(id);
  }

  void advance(duration d) {
    auto end = h.now() + d;
    for (;;) {
      auto next = h.policy.wakeup();
      auto step = next == never ? end
                                : std::min(end, next - limiter_rig::start());
      h.advance_to(step);
      note();
      if (step == end)
        return;
    }
  }

  void give_up(int n) {
    std::erase_if(held, [this](auto id) { return h.where(id) != place::held; });
    if (held.empty())
      return;
    h.abandon(held[static_cast<std::size_t>(n) % held.size()]);
    note();
  }

  void come_back(int n) {
    if (below.empty())
      return;
    auto i = below.begin() + static_cast<std::ptrdiff_t>(n) % std::ssize(below);
    auto id = *i;
    below.erase(i);
    auto before = h.count("tokens");
    if (n % 2 == 0) {
      h.finish(id);
    } else {
      returns.push_back({h.now(), h.calls.at(id).call.permits});
      h.fail(id, errc::queue_full, false);
      // What is above the burst is lost.
      RC_ASSERT(h.count("tokens")
                <= std::max<std::int64_t>(before, h.policy.config().burst));
    }
    note();
  }

  limiter_rig h;
  std::vector<sale> sales;
  std::vector<sale> returns;

private:
  // Calls are noted in the order of their ids, which is that of their turns.
  void note() {
    for (auto i = h.calls.upper_bound(noted); i != h.calls.end(); ++i) {
      if (i->second.where == place::held)
        return;
      noted = i->first;
      if (i->second.descents == 1) {
        sales.push_back({h.now(), i->second.call.permits});
        below.push_back(noted);
      }
    }
  }

  call_id noted = 0;
  std::vector<call_id> held;
  std::vector<call_id> below;
};

void check_windows(const ledger& l) {
  auto& c = l.h.policy.config();
  // Time is whole nanoseconds: a token that is due between two of them is sold
  // at the second, so a window may show up to one nanosecond's worth more.
  auto grain = c.per.count() % c.rate == 0 ? 0 : c.rate - 1;
  for (std::size_t i = 0; i < l.sales.size(); ++i) {
    std::int64_t sold = 0;
    for (auto j = i; j < l.sales.size(); ++j) {
      sold += l.sales[j].tokens;
      auto s = l.sales[i].at;
      auto t = l.sales[j].at;
      std::int64_t returned = 0;
      for (auto& r : l.returns)
        if (r.at >= s && r.at <= t)
          returned += r.tokens;
      RC_ASSERT(sold <= c.burst + flow(c, t - s, grain) + returned);
    }
  }
}

void play(ledger& l, bool with_returns) {
  auto& c = l.h.policy.config();
  auto interval = c.per / c.rate;
  auto heaviest = std::min<std::uint32_t>(c.burst, 4);
  auto ops = *any_steps(100, 10, 3);
  for (auto [what, n, m] : ops) {
    if (what < 5)
      l.arrive(m == 0 ? 1 + static_cast<std::uint32_t>(n) % heaviest : 1);
    else if (what < 6)
      l.give_up(n);
    else if (what < 8 && with_returns)
      l.come_back(n);
    else
      l.advance(m == 0 ? duration{n % 3} : interval * n / 500 + duration{m});
  }
}

RC_GTEST_PROP(limiter_property,
              sells_at_most_burst_and_rate_times_time_in_any_window, ()) {
  ledger l{*any_limiter()};
  play(l, false);
  check_windows(l);
}

RC_GTEST_PROP(limiter_property, sells_again_only_what_came_back, ()) {
  ledger l{*any_limiter()};
  play(l, true);
  check_windows(l);
}

RC_GTEST_PROP(limiter_property, loses_nothing_while_calls_are_at_hand, ()) {
  auto config = *any_limiter();
  config.burst = std::min(config.burst, 1000u);
  config.max_wait = unlimited;
  limiter_rig h{config};
  auto n = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(1, 300));
  for (int i = 0; i < static_cast<int>(config.burst) + n; ++i)
    h.arrive();
  // The instant of the n-th token after the burst, and the one before it.
  auto per = config.per.count();
  auto at = (static_cast<std::int64_t>(n) * per + config.rate - 1)
            / config.rate;
  auto sold = [&] { return h.count("passed") + h.count("granted"); };
  h.advance_to(duration{at - 1});
  RC_ASSERT(sold() == config.burst + flow(config, duration{at - 1}));
  RC_ASSERT(sold() < config.burst + n);
  h.advance_to(duration{at});
  RC_ASSERT(sold() == config.burst + n);
}

} // namespace
} // namespace caisson::test
