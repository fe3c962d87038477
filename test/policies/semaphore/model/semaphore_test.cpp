#include <caisson/policies/semaphore.hpp>

#include <support/operations.hpp>
#include <support/solo_control.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace caisson::test {
namespace {

using std::chrono::milliseconds;

using semaphore_rig = solo<semaphore>;

// A semaphore as one would draw it on a board: a row of waiting calls, a heap
// of running ones, and no bookkeeping beside them.
class board {
public:
  struct seen {
    place where = place::held;
    errc code{};
  };

  explicit board(semaphore_config c) : config(std::move(c)) {}

  void arrive(call_id id, std::uint32_t weight) {
    if (weight > config.permits)
      return reject(id, errc::queue_full);
    auto first = queue.empty() || config.order == wait_order::lifo;
    if (first && used() + weight <= config.permits)
      return run(id, weight);
    if (config.max_waiters == 0)
      return reject(id, errc::queue_full);
    if (config.max_wait == duration::zero())
      return reject(id, errc::wait_timeout);
    if (queue.size() >= config.max_waiters) {
      if (config.order == wait_order::fifo)
        return reject(id, errc::queue_full);
      reject(queue.front().id, errc::queue_full);
      note(waited_in_vain, queue.front());
      queue.erase(queue.begin());
    }
    auto end = config.max_wait == unlimited ? never : now + config.max_wait;
    queue.push_back({id, weight, end, now});
    calls[id] = {place::held, {}};
  }

  void end(call_id id, place how) {
    calls[id].where = how;
    running.erase(id);
    std::erase_if(queue, [&](auto& w) {
      if (w.id == id)
        note(waited_in_vain, w);
      return w.id == id;
    });
    grant();
  }

  void advance(duration d) {
    auto target = now + d;
    for (;;) {
      auto i = std::min_element(
        queue.begin(), queue.end(), [](auto& a, auto& b) {
          return std::tie(a.end, a.id) < std::tie(b.end, b.id);
        });
      if (i == queue.end() || i->end > target)
        break;
      now = std::max(now, i->end);
      reject(i->id, errc::wait_timeout);
      note(waited_in_vain, *i);
      queue.erase(i);
      grant();
    }
    now = target;
  }

  void reconfigure(const semaphore_config& c) {
    config = c;
    for (auto& w : queue)
      if (w.weight > c.permits) {
        reject(w.id, errc::queue_full);
        note(waited_in_vain, w);
      }
    std::erase_if(queue, [&](auto& w) { return w.weight > c.permits; });
    grant();
  }

  std::uint32_t used() const {
    std::uint32_t sum = 0;
    for (auto& [id, weight] : running)
      sum += weight;
    return sum;
  }

  struct waiting {
    call_id id;
    std::uint32_t weight;
    time_point end;
    time_point since;
  };

  semaphore_config config;
  time_point now = semaphore_rig::start();
  std::vector<waiting> queue;
  std::map<call_id, std::uint32_t> running;
  std::map<call_id, seen> calls;
  // In microseconds.
  std::int64_t waited_for_turn = 0;
  std::int64_t waited_in_vain = 0;
  std::int64_t longest = 0;

private:
  void note(std::int64_t& sum, const waiting& w) {
    auto us = now > w.since ? (now - w.since).count() / 1000 : 0;
    sum += us;
    longest = std::max(longest, us);
  }

  void reject(call_id id, errc code) { calls[id] = {place::rejected, code}; }

  void run(call_id id, std::uint32_t weight) {
    running[id] = weight;
    calls[id] = {place::below, {}};
  }

  void grant() {
    while (!queue.empty()) {
      auto i = config.order == wait_order::fifo ? queue.begin()
                                                : queue.end() - 1;
      if (used() + i->weight > config.permits)
        return;
      run(i->id, i->weight);
      note(waited_for_turn, *i);
      queue.erase(i);
    }
  }
};

rc::Gen<semaphore_config> any_semaphore() {
  return rc::gen::apply(
    [](std::uint32_t permits, std::uint32_t waiters, duration wait, bool lifo) {
      semaphore_config c;
      c.permits = permits;
      c.max_waiters = waiters;
      if (waiters > 0) {
        c.max_wait = wait;
        c.order = lifo ? wait_order::lifo : wait_order::fifo;
      }
      return c;
    },
    rc::gen::element<std::uint32_t>(1, 1, 2, 3, 5, 8, 1'000'000),
    rc::gen::element<std::uint32_t>(0, 1, 2, 5, 5, 1'000'000),
    rc::gen::element<duration>(duration{1}, milliseconds{20}, milliseconds{100},
                               unlimited),
    rc::gen::arbitrary<bool>());
}

void perform(const scripted_step& x, semaphore_rig& h, board& b) {
  auto [what, n, m] = x;
  if (what < 9) {
    call_info f;
    f.permits = static_cast<std::uint32_t>(1 + (m % 3 == 0 ? n % 6 : 0));
    b.arrive(h.arrive(f), f.permits);
  } else if (what < 14) {
    if (auto id = live_call(b, n, false)) {
      h.finish(id, m % 2 == 0 ? outcome::success()
                              : outcome::failure(errc::worker_down, true));
      b.end(id, place::passed);
    }
  } else if (what < 16) {
    if (auto id = live_call(b, n, true)) {
      h.abandon(id);
      b.end(id, place::abandoned);
    }
  } else if (what < 19) {
    auto d = m % 4 == 0 ? duration{n % 3} : duration{milliseconds{n % 60}};
    h.advance(d);
    b.advance(d);
  } else if (what < 20) {
    auto t = h.now() - milliseconds{n % 50};
    h.set_clock(t);
    b.now = semaphore_rig::start() + t;
  } else {
    auto c = *any_semaphore();
    reconfigure(h, c);
    b.reconfigure(c);
  }
}

void compare(const semaphore_rig& h, const board& b) {
  RC_ASSERT(h.calls.size() == b.calls.size());
  for (auto& [id, expected] : b.calls) {
    auto& actual = h.calls.at(id);
    RC_ASSERT(actual.where == expected.where);
    RC_ASSERT(actual.descents <= 1);
    if (expected.where == place::rejected) {
      RC_ASSERT(actual.code == expected.code);
      RC_ASSERT(actual.retry_after == duration::zero());
    }
  }
  RC_ASSERT(h.count("in_use") == b.used());
  RC_ASSERT(h.count("waiting") == static_cast<std::int64_t>(b.queue.size()));
  RC_ASSERT(h.count("waited_us_granted") == b.waited_for_turn);
  RC_ASSERT(h.count("waited_us_refused") == b.waited_in_vain);
  RC_ASSERT(h.count("longest_wait_us") == b.longest);
}

// Every call that was seen is in exactly one of the counters for its end.
void check_counters(const semaphore_rig& h, const board& b) {
  auto admitted = h.count("passed") + h.count("granted");
  RC_ASSERT(admitted
            == h.count("finished") + h.count("abandoned")
                 + static_cast<std::int64_t>(b.running.size()));
  auto still_waiting = h.count("granted") + h.count("evicted")
                       + h.count("outgrown") + h.count("timed_out")
                       + h.count("gave_up") + h.count("waiting");
  RC_ASSERT(h.count("queued") == still_waiting);
  auto turned_away = h.count("queue_full") + h.count("too_heavy");
  RC_ASSERT(static_cast<std::int64_t>(h.calls.size())
            == h.count("passed") + h.count("queued") + turned_away);
}

RC_GTEST_PROP(semaphore_property, does_as_the_board_does, ()) {
  auto config = *any_semaphore();
  semaphore_rig h{config};
  board b{config};
  auto ops = *any_steps(150, 21, 1000);
  for (auto& x : ops) {
    perform(x, h, b);
    compare(h, b);
    check_counters(h, b);
  }
}

RC_GTEST_PROP(semaphore_property, never_lends_more_than_it_has, ()) {
  auto config = *any_semaphore();
  semaphore_rig h{config};
  board b{config};
  auto ops = *any_steps(150, 20, 1000);
  for (auto& x : ops) {
    perform(x, h, b);
    RC_ASSERT(h.count("in_use") >= 0);
    RC_ASSERT(h.count("in_use") <= config.permits);
    RC_ASSERT(h.count("waiting") <= config.max_waiters);
  }
  while (auto id = live_call(b, 0, true)) {
    h.abandon(id);
    b.end(id, place::abandoned);
  }
  RC_ASSERT(h.count("in_use") == 0);
  RC_ASSERT(h.count("waiting") == 0);
}

} // namespace
} // namespace caisson::test
