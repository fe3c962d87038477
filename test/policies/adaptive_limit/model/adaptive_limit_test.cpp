#include <policies/adaptive_limit/model/adapting.hpp>
#include <support/operations.hpp>
#include <support/solo.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

namespace caisson::test::adapting {
namespace {

using std::chrono::milliseconds;

// A limit as one would keep it on paper: a row of waiting calls, a heap of
// running ones, and all that has come back since the limit was set. AIMD only,
// first come first served.
class paper {
public:
  struct running_call {
    std::int64_t weight;
    time_point since;
  };
  struct waiting_call {
    call_id id;
    std::int64_t weight;
    time_point end;
  };
  struct result {
    time_point at;
    bool bad;
  };

  explicit paper(adaptive_limit_config c)
    : config(std::move(c)), limit(config.initial_limit) {}

  void arrive(call_id id, std::int64_t weight) {
    if (weight > config.max_limit) {
      where[id] = place::rejected;
    } else if (queue.empty() && has_room(weight)) {
      run(id, weight);
    } else {
      was_busy = true;
      if (queue.size() < config.max_waiters) {
        where[id] = place::held;
        queue.push_back({id, weight, time_after(now, config.max_wait)});
      } else {
        where[id] = place::rejected;
      }
    }
  }

  enum class end_kind { good, bad, says_nothing };

  void end(call_id id, place how, end_kind kind) {
    where[id] = how;
    if (auto i = running.find(id); i != running.end()) {
      auto took = now > i->second.since ? now - i->second.since : duration{};
      running.erase(i);
      note(kind, took);
    }
    std::erase_if(queue, [&](auto& w) { return w.id == id; });
    grant();
  }

  void advance(duration d) {
    auto target = now + d;
    for (;;) {
      auto i = std::min_element(
        queue.begin(), queue.end(), [](auto& a, auto& b) {
          return a.end != b.end ? a.end < b.end : a.id < b.id;
        });
      if (i == queue.end() || i->end > target)
        break;
      now = i->end;
      where[i->id] = place::rejected;
      queue.erase(i);
      grant();
    }
    now = target;
  }

  std::int64_t used() const {
    std::int64_t sum = 0;
    for (auto& [id, x] : running)
      sum += x.weight;
    return sum;
  }

  adaptive_limit_config config;
  std::int64_t limit;
  time_point now = limit_rig::start();
  std::map<call_id, running_call> running;
  std::vector<waiting_call> queue;
  std::map<call_id, place> where;

private:
  bool has_room(std::int64_t weight) const {
    return running.empty() || used() + weight <= limit;
  }

  void run(call_id id, std::int64_t weight) {
    running[id] = {weight, now};
    where[id] = place::below;
    was_busy = was_busy || used() * 2 > limit;
  }

  void grant() {
    while (!queue.empty() && has_room(queue.front().weight)) {
      auto w = queue.front();
      queue.erase(queue.begin());
      run(w.id, w.weight);
    }
    was_busy = was_busy || !queue.empty();
  }

  void note(end_kind kind, duration took) {
    if (kind == end_kind::says_nothing)
      return;
    results.push_back({now, kind == end_kind::bad || took >= config.timeout});
    if (results.size() < config.min_samples
        || now - results.front().at < config.window)
      return;
    auto bad = std::count_if(results.begin(), results.end(),
                             [](auto& r) { return r.bad; });
    auto share = static_cast<double>(bad) / static_cast<double>(results.size());
    if (share > config.drop_share)
      limit = static_cast<std::int64_t>(static_cast<double>(limit) / 2);
    else if (was_busy)
      ++limit;
    limit = std::max<std::int64_t>(limit, config.min_limit);
    limit = std::min<std::int64_t>(limit, config.max_limit);
    results.clear();
    was_busy = used() * 2 > limit;
  }

  std::vector<result> results;
  bool was_busy = false;
};

rc::Gen<adaptive_limit_config> any_aimd() {
  return rc::gen::apply(
    [](std::uint32_t min, std::uint32_t more, std::uint32_t waiters,
       duration wait, std::uint32_t samples, double share) {
      adaptive_limit_config c;
      c.algorithm = limit_algorithm::aimd;
      c.min_limit = min;
      c.initial_limit = min + more / 2;
      c.max_limit = min + more;
      c.max_waiters = waiters;
      c.max_wait = waiters > 0 ? wait : unlimited;
      c.min_samples = samples;
      c.drop_share = share;
      c.backoff = 0.5;
      c.window = milliseconds{20};
      c.timeout = milliseconds{100};
      return c;
    },
    rc::gen::element<std::uint32_t>(1, 1, 2, 5),
    rc::gen::element<std::uint32_t>(0, 2, 5, 20),
    rc::gen::element<std::uint32_t>(0, 1, 3, 1'000),
    rc::gen::element<duration>(duration{1}, milliseconds{30}, unlimited),
    rc::gen::element<std::uint32_t>(1, 2, 5),
    rc::gen::element<double>(0.0, 0.25, 1.0));
}

void perform(const scripted_step& x, limit_rig& h, paper& m) {
  auto [what, n, how] = x;
  if (what < 8) {
    call_info f;
    f.permits = static_cast<std::uint32_t>(1 + (how % 4 == 0 ? n % 8 : 0));
    m.arrive(h.arrive(f), f.permits);
  } else if (what < 14) {
    auto id = live_call(m, n, false);
    if (id == 0)
      return;
    if (how % 3 == 0) {
      h.fail(id);
      m.end(id, place::passed, paper::end_kind::bad);
    } else {
      h.finish(id);
      m.end(id, place::passed, paper::end_kind::good);
    }
  } else if (what < 16) {
    auto id = live_call(m, n, true);
    if (id == 0)
      return;
    h.abandon(id, errc::cancelled);
    m.end(id, place::abandoned, paper::end_kind::says_nothing);
  } else {
    auto d = how % 4 == 0 ? duration{n % 3} : duration{milliseconds{n % 40}};
    h.advance(d);
    m.advance(d);
  }
}

RC_GTEST_PROP(adaptive_limit_property, does_as_on_paper, ()) {
  auto config = *any_aimd();
  limit_rig h{config};
  paper m{config};
  auto ops = *any_steps(200, 20, 1000);
  for (auto& x : ops) {
    perform(x, h, m);
    RC_ASSERT(h.limit() == m.limit);
    RC_ASSERT(h.count("in_use") == m.used());
    RC_ASSERT(h.count("waiting") == static_cast<std::int64_t>(m.queue.size()));
    for (auto& [id, expected] : m.where)
      RC_ASSERT(h.where(id) == expected);
  }
}

// -- any algorithm ------------------------------------------------------------

rc::Gen<adaptive_limit_config> any_limit() {
  return rc::gen::apply(
    [](int algorithm, std::uint32_t min, std::uint32_t more,
       std::uint32_t waiters, std::uint32_t samples, double jitter,
       std::uint32_t pinned, int order) {
      adaptive_limit_config c;
      c.algorithm = static_cast<limit_algorithm>(algorithm);
      c.min_limit = min;
      c.initial_limit = min + more / 2;
      c.max_limit = min + more;
      c.max_waiters = waiters;
      if (waiters > 0)
        c.max_wait = milliseconds{50};
      if (waiters > 2)
        c.order = static_cast<wait_order>(order);
      c.queue.lifo_above = 1;
      c.queue.aging = milliseconds{10};
      c.min_samples = samples;
      c.window = milliseconds{20};
      c.timeout = milliseconds{100};
      c.jitter = jitter;
      c.probe = 2;
      c.measure_limit = pinned;
      c.measure_samples = samples;
      c.measure_every = milliseconds{300};
      c.measure_at_most = milliseconds{100};
      return c;
    },
    rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, 3)),
    rc::gen::element<std::uint32_t>(1, 2, 5),
    rc::gen::element<std::uint32_t>(0, 5, 50, 999'995),
    rc::gen::element<std::uint32_t>(0, 1, 3, 1'000),
    rc::gen::element<std::uint32_t>(1, 2, 5),
    rc::gen::element<double>(0.0, 0.5, 1.0),
    rc::gen::element<std::uint32_t>(1, 3, 1'000'000),
    rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, 7)));
}

call_id nth_in(const limit_rig& h, int n, bool also_held) {
  std::vector<call_id> all;
  for (auto& [id, x] : h.calls)
    if (x.where == place::below || (also_held && x.where == place::held))
      all.push_back(id);
  return all.empty() ? 0 : all[static_cast<std::size_t>(n) % all.size()];
}

void check_rules(const limit_rig& h) {
  const auto& c = h.policy.config();
  std::int64_t below = 0;
  std::int64_t held = 0;
  for (auto& [id, x] : h.calls) {
    below += x.where == place::below ? std::max(x.call.permits, 1u) : 0;
    held += x.where == place::held ? 1 : 0;
    RC_ASSERT(x.descents <= 1);
  }
  RC_ASSERT(h.count("in_use") == below);
  RC_ASSERT(h.count("waiting") == held);
  RC_ASSERT(h.limit() <= c.max_limit);
  auto floor = h.policy.state() == "measuring"
                 ? std::min(c.min_limit, c.measure_limit)
                 : c.min_limit;
  RC_ASSERT(h.limit() >= floor);
  auto n = [&](const char* name) { return h.count(name); };
  RC_ASSERT(n("passed") + n("granted")
            == n("finished") + n("abandoned")
                 + static_cast<std::int64_t>(
                   std::count_if(h.calls.begin(), h.calls.end(), [](auto& x) {
                     return x.second.where == place::below;
                   })));
  RC_ASSERT(n("queued")
            == n("granted") + n("evicted") + n("outgrown") + n("timed_out")
                 + n("gave_up") + n("shed") + held);
  RC_ASSERT(static_cast<std::int64_t>(h.calls.size())
            == n("passed") + n("queued") + n("queue_full") + n("too_heavy"));
  RC_ASSERT(n("finished") + n("abandoned")
            == n("sampled") + n("slow") + n("dropped") + n("ignored")
                 + n("stale"));
}

// A call may go down while others are below only within the limit.
void check_admission(const limit_rig& h, call_id id) {
  if (h.where(id) != place::below)
    return;
  auto weight = std::max(h.calls.at(id).call.permits, 1u);
  RC_ASSERT(h.count("in_use") <= h.limit() || h.count("in_use") == weight);
}

void act(const scripted_step& x, limit_rig& h) {
  auto [what, n, how] = x;
  if (what < 10) {
    check_admission(
      h, h.arrive(heavy(static_cast<std::uint32_t>(how % 5 == 0 ? n % 9 : 1))));
  } else if (what < 16) {
    if (auto id = nth_in(h, n, false))
      h.finish(id, how % 5 != 0
                     ? outcome::success()
                     : outcome::failure(how % 2 == 0 ? errc::worker_down
                                                     : errc::breaker_open,
                                        how % 2 == 0));
  } else if (what < 18) {
    if (auto id = nth_in(h, n, true))
      h.abandon(id, how % 2 == 0 ? errc::deadline_exceeded : errc::cancelled);
  } else if (what < 22) {
    h.advance(how % 4 == 0 ? duration{n % 3} : milliseconds{n % 60});
  } else if (what < 23) {
    h.set_clock(h.now() - milliseconds{n % 30});
  } else {
    auto c = *any_limit();
    reconfigure(h, c);
  }
}

RC_GTEST_PROP(adaptive_limit_property, keeps_its_rules, ()) {
  auto config = *any_limit();
  limit_rig h{config};
  auto ops = *any_steps(200, 24, 1000);
  for (auto& x : ops) {
    act(x, h);
    check_rules(h);
  }
  while (auto id = nth_in(h, 0, true)) {
    h.abandon(id);
    check_rules(h);
  }
  RC_ASSERT(h.count("in_use") == 0);
  RC_ASSERT(h.count("waiting") == 0);
}

} // namespace
} // namespace caisson::test::adapting
