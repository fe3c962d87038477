#include <policies/adaptive_limit/model/adaptive_limit_model.hpp>
#include <policies/adaptive_limit/model/adaptive_limit_rig.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace caisson::test::adapting {
namespace {

using std::chrono::milliseconds;

RC_GTEST_PROP(adaptive_limit_property, does_as_its_model_does, ()) {
  check_against_model<adaptive_limit_model>();
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

call_id nth_in(const adaptive_limit_rig& h, int n, bool also_held) {
  std::vector<call_id> all;
  for (auto& [id, x] : h.calls)
    if (x.where == place::below || (also_held && x.where == place::held))
      all.push_back(id);
  return all.empty() ? 0 : all[static_cast<std::size_t>(n) % all.size()];
}

void check_rules(const adaptive_limit_rig& h) {
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
void check_admission(const adaptive_limit_rig& h, call_id id) {
  if (h.where(id) != place::below)
    return;
  auto weight = std::max(h.calls.at(id).call.permits, 1u);
  RC_ASSERT(h.count("in_use") <= h.limit() || h.count("in_use") == weight);
}

void act(const scripted_step& x, adaptive_limit_rig& h) {
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
    h.reconfigure(c);
  }
}

RC_GTEST_PROP(adaptive_limit_property, keeps_its_rules, ()) {
  auto config = *any_limit();
  adaptive_limit_rig h{config};
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
