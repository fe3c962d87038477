// Properties of a semaphore whatever the order of its queue.
#include <caisson/policies/semaphore.hpp>

#include <support/operations.hpp>
#include <support/rig.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using std::chrono::milliseconds;

using semaphore_rig = rig<semaphore>;

rc::Gen<semaphore_config> any_queue() {
  return rc::gen::apply(
    [](int order, std::uint32_t permits, std::uint32_t waiters, duration wait,
       std::uint32_t few, duration interval, duration aging, bool hopeless,
       bool parts, bool borrow) {
      semaphore_config c;
      c.order = static_cast<wait_order>(order);
      c.permits = permits;
      c.max_waiters = waiters;
      c.max_wait = wait;
      c.queue = {.lifo_above = few,
                 .codel_target = milliseconds{5},
                 .codel_interval = interval,
                 .codel_keep = few,
                 .aging = aging,
                 .reject_hopeless = hopeless};
      if (parts) {
        c.permits = std::max(permits, 3u);
        c.partitions = {.list = {{"0", 0.5}, {"1", 0.25}}, .borrow = borrow};
      }
      return c;
    },
    rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, 7)),
    rc::gen::element<std::uint32_t>(1, 2, 5),
    rc::gen::element<std::uint32_t>(2, 5, 1'000),
    rc::gen::element<duration>(duration{1}, milliseconds{50}, unlimited),
    rc::gen::element<std::uint32_t>(0, 1),
    rc::gen::element<duration>(milliseconds{5}, milliseconds{60}),
    rc::gen::element<duration>(milliseconds{1}, milliseconds{100}, unlimited),
    rc::gen::arbitrary<bool>(), rc::gen::arbitrary<bool>(),
    rc::gen::arbitrary<bool>());
}

call_id nth_at(const semaphore_rig& h, int n, bool also_held) {
  std::vector<call_id> all;
  for (auto& [id, x] : h.calls)
    if (x.where == place::below || (also_held && x.where == place::held))
      all.push_back(id);
  return all.empty() ? 0 : all[static_cast<std::size_t>(n) % all.size()];
}

void check_sums(const semaphore_rig& h) {
  auto n = [&](const char* name) { return h.count(name); };
  std::int64_t below = 0;
  std::int64_t held = 0;
  std::int64_t permits = 0;
  for (auto& [id, x] : h.calls) {
    RC_ASSERT(x.descents <= 1);
    held += x.where == place::held ? 1 : 0;
    if (x.where != place::below)
      continue;
    ++below;
    permits += std::max(x.call.permits, 1u);
  }
  RC_ASSERT(n("in_use") == permits);
  RC_ASSERT(n("waiting") == held);
  RC_ASSERT(n("passed") + n("granted")
            == n("finished") + n("abandoned") + below);
  RC_ASSERT(n("queued")
            == n("granted") + n("evicted") + n("outgrown") + n("timed_out")
                 + n("gave_up") + n("shed") + n("out_of_time") + held);
  RC_ASSERT(static_cast<std::int64_t>(h.calls.size())
            == n("passed") + n("queued") + n("queue_full") + n("too_heavy")
                 + n("hopeless"));
}

// Who waits although a permit is free weighs more than is free, or is behind
// one that does.
void check_use(const semaphore_rig& h) {
  const auto& c = h.policy.config();
  auto free = std::int64_t{c.permits} - h.count("in_use");
  if (free <= 0 || h.count("waiting") == 0 || !c.partitions.borrow)
    return;
  auto too_heavy = std::any_of(h.calls.begin(), h.calls.end(), [&](auto& x) {
    return x.second.where == place::held && x.second.call.permits > free;
  });
  RC_ASSERT(too_heavy);
}

void act(const scripted_step& x, semaphore_rig& h) {
  auto [what, n, m] = x;
  if (what < 11) {
    call_info c;
    c.permits = static_cast<std::uint32_t>(m % 4 == 0 ? n % 6 : 1);
    c.priority = n % 5 - 2;
    c.key = std::to_string(m % 3);
    if (n % 3 != 0)
      c.deadline = h.e.now + milliseconds{1 + m % 150};
    h.arrive(c);
  } else if (what < 17) {
    if (auto id = nth_at(h, n, false))
      h.finish(id);
  } else if (what < 19) {
    if (auto id = nth_at(h, n, true))
      h.abandon(id);
  } else if (what < 23) {
    h.advance(m % 4 == 0 ? duration{n % 3} : milliseconds{n % 40});
  } else if (what < 24) {
    h.set_clock(h.now() - milliseconds{n % 30});
  } else {
    auto c = *any_queue();
    h.reconfigure(c);
  }
}

RC_GTEST_PROP(wait_orders_property, keep_the_rules_of_a_semaphore, ()) {
  auto config = *any_queue();
  semaphore_rig h{config};
  auto ops = *any_steps(250, 25, 1000);
  for (auto& x : ops) {
    act(x, h);
    check_sums(h);
    check_use(h);
  }
  while (auto id = nth_at(h, 0, true))
    h.abandon(id);
  check_sums(h);
  RC_ASSERT(h.count("in_use") == 0);
  RC_ASSERT(h.count("waiting") == 0);
}

} // namespace
} // namespace caisson::test
