// A keyed policy with n keys is n policies, each with the calls of its key.
#include <policies/keyed/model/keyed_model.hpp>
#include <support/operations.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <tuple>
#include <vector>

namespace caisson::test {
namespace {

using std::chrono::milliseconds;

// The same calls at one keyed policy and at its model.
template <class Policy>
class keyed_and_separate {
public:
  using config_type = typename Policy::config_type;

  explicit keyed_and_separate(const config_type& c)
    : together_(keyed_config<Policy>{c}), apart_(c) {}

  // What to do, with which key or call, and for how long.
  void play(const scripted_step& o) {
    auto [what, n, time] = o;
    auto number = static_cast<std::size_t>(n);
    switch (what) {
      case 0:
      case 1:
      case 2:
        return arrive(number % model::keys,
                      1 + static_cast<std::uint32_t>(time % 2));
      case 3:
        return with_call(number, [](auto& h, call_id id) { h.finish(id); });
      case 4:
        return with_call(number, [](auto& h, call_id id) { h.fail(id); });
      case 5:
        return with_call(
          number, [](auto& h, call_id id) { h.abandon(id); }, true);
      case 6:
        return each([t = time](auto& h) { h.advance(milliseconds(t)); });
      case 7:
        return each([](auto& h) { h.command(operator_command::force_open); });
      case 8:
        return each([](auto& h) { h.command(operator_command::enable); });
      case 9:
        return pass_on_timeout(number % model::keys);
      default:
        return;
    }
  }

  void change(const config_type& c) {
    together_.reconfigure(keyed_config<Policy>{c});
    apart_.each([&](auto& x) { x.reconfigure(c); });
  }

  void compare() {
    for (auto& [key, keyed_call, plain_call] : calls_) {
      auto& a = together_.calls.at(keyed_call);
      auto& b = apart_[key].calls.at(plain_call);
      RC_ASSERT(a.where == b.where);
      RC_ASSERT(a.descents == b.descents);
      RC_ASSERT(a.until == b.until);
      if (a.where == place::rejected)
        RC_ASSERT(std::pair(a.code, a.retry_after)
                  == std::pair(b.code, b.retry_after));
    }
    std::erase_if(calls_, [&](auto& x) {
      auto where = together_.where(x.keyed_call);
      return where != place::below && where != place::held;
    });
    for (std::size_t k = 0; k < model::keys; ++k)
      RC_ASSERT(together_.policy.circuit(model::name_of_key(k))
                == apart_[k].policy.circuit({}));
  }

  void compare_counts() {
    for (auto& [name, sum] : apart_.sums())
      RC_ASSERT(together_.count(name) == sum);
  }

private:
  using model = keyed_model<Policy>;

  void arrive(std::size_t k, std::uint32_t permits) {
    auto call = of_key(model::name_of_key(k));
    call.permits = permits;
    auto keyed_call = together_.arrive(call);
    calls_.push_back({k, keyed_call, apart_[k].arrive(call)});
  }

  // One of the calls that are below, or held, too.
  template <class F>
  void with_call(std::size_t n, F f, bool held = false) {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      auto [k, keyed_call, plain_call] = calls_[(n + i) % calls_.size()];
      auto where = together_.where(keyed_call);
      if (where != place::below && !(held && where == place::held))
        continue;
      RC_ASSERT(apart_[k].where(plain_call) == where);
      f(together_, keyed_call);
      f(apart_[k], plain_call);
      return;
    }
  }

  template <class F>
  void each(F f) {
    f(together_);
    apart_.each(f);
  }

  void pass_on_timeout(std::size_t k) {
    together_.policy.attempt_timed_out(model::name_of_key(k), together_.e);
    // A key that was never seen has no policy to notify.
    if (!apart_[k].calls.empty())
      apart_[k].policy.attempt_timed_out({}, apart_[k].e);
  }

  struct pair_of_calls {
    std::size_t key;
    call_id keyed_call;
    call_id plain_call;
  };

  rig<keyed<Policy>> together_;
  model apart_;
  std::vector<pair_of_calls> calls_;
};

template <class Policy>
void compare_all(const typename Policy::config_type& c,
                 const typename Policy::config_type& next, int kinds) {
  keyed_and_separate<Policy> pair{c};
  for (auto& o : *any_steps(80, kinds, 3000)) {
    pair.play(o);
    pair.compare();
  }
  pair.change(next);
  pair.compare();
  for (auto& o : *any_steps(40, kinds, 3000)) {
    pair.play(o);
    pair.compare();
  }
  pair.compare_counts();
}

RC_GTEST_PROP(keyed_properties, is_as_many_breakers, ()) {
  auto some = [] {
    breaker_config c;
    c.threshold = *rc::gen::inRange(1u, 4u);
    c.open = schedule::constant(milliseconds(*rc::gen::inRange(1, 4000)));
    c.eager_half_open = *rc::gen::arbitrary<bool>();
    c.probes = *rc::gen::inRange(1u, 3u);
    return c;
  };
  auto first = some();
  compare_all<breaker>(first, some(), 10);
}

RC_GTEST_PROP(keyed_properties, is_as_many_limiters, ()) {
  auto some = [] {
    limiter_config c;
    c.rate = *rc::gen::inRange(1, 5);
    c.burst = *rc::gen::inRange(1u, 5u);
    c.max_waiters = *rc::gen::inRange(1u, 4u);
    c.max_wait = milliseconds(*rc::gen::inRange(0, 4000));
    return c;
  };
  auto first = some();
  compare_all<limiter>(first, some(), 7);
}

RC_GTEST_PROP(keyed_properties, is_as_many_semaphores, ()) {
  auto some = [] {
    semaphore_config c;
    c.permits = *rc::gen::inRange(1u, 5u);
    c.max_waiters = *rc::gen::inRange(1u, 4u);
    c.max_wait = milliseconds(*rc::gen::inRange(1, 4000));
    c.order = *rc::gen::element(wait_order::fifo, wait_order::lifo);
    return c;
  };
  auto first = some();
  compare_all<semaphore>(first, some(), 7);
}

// -- keys that come and go ----------------------------------------------------

// However keys come and go: never too many, no call lost or counted twice, and
// what was counted stays counted.
RC_GTEST_PROP(keyed_properties, lose_nothing_when_keys_go, ()) {
  keyed_config<semaphore> c;
  c.permits = *rc::gen::inRange(1u, 3u);
  c.max_waiters = *rc::gen::inRange(1u, 3u);
  c.max_wait = std::chrono::seconds(1);
  c.order = *rc::gen::element(wait_order::fifo, wait_order::lifo);
  c.per_key.max_keys = *rc::gen::inRange(1u, 5u);
  c.per_key.idle = milliseconds(*rc::gen::inRange(1000, 3000));
  rig<keyed<semaphore>> h{c};
  std::vector<call_id> ids;
  std::int64_t passed = 0;
  for (auto& [what, n, time] : *any_steps(100, 7, 3000)) {
    if (what < 3)
      ids.push_back(h.arrive(of_key(std::to_string(n % 8))));
    else if (what == 6)
      h.advance(milliseconds(time));
    else if (!ids.empty()) {
      auto id = ids[static_cast<std::size_t>(n) % ids.size()];
      auto where = h.where(id);
      if (where == place::below && what != 5)
        h.finish(id);
      else if (where == place::below || where == place::held)
        h.abandon(id);
    }
    std::int64_t below = 0;
    std::int64_t held = 0;
    for (auto& [id, x] : h.calls) {
      below += x.where == place::below;
      held += x.where == place::held;
    }
    RC_ASSERT(h.count("in_use") == below);
    RC_ASSERT(h.count("waiting") == held);
    RC_ASSERT(h.count("keys") <= c.per_key.max_keys);
    RC_ASSERT(h.count("keys")
              == h.count("keys_made") - h.count("keys_evicted")
                   - h.count("keys_expired"));
    auto now = h.count("passed") + h.count("granted");
    RC_ASSERT(now >= passed);
    passed = now;
  }
}

} // namespace
} // namespace caisson::test
