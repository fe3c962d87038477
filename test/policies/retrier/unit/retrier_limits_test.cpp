#include <caisson/policies/retrier/retrier.hpp>

#include <policies/retrier/model/retrier_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace retrying;
using namespace std::chrono_literals;

// -- deadline -----------------------------------------------------------------

TEST(retrier, begins_no_wait_that_cannot_end_before_the_deadline) {
  struct row {
    duration left;
    duration reports;
    bool retried;
  };
  for (auto& x : std::vector<row>{{0ns, 0ns, false},
                                  {10ms - 1ns, 0ns, false},
                                  {10ms, 0ns, false},
                                  {10ms + 1ns, 0ns, true},
                                  {20ms, 20ms, false},
                                  {20ms + 1ns, 20ms, true}}) {
    retrier_rig h{simple_retrier()};
    auto id = h.arrive_with(x.left);
    h.finish(id, pushback(x.reports));
    EXPECT_EQ(h.where(id), x.retried ? place::held : place::passed)
      << to_text(x.left) << " " << to_text(x.reports);
    EXPECT_EQ(h.count("gave_up_deadline"), x.retried ? 0 : 1);
  }
}

TEST(retrier, draws_no_random_number_for_a_call_without_time) {
  auto c = simple_retrier();
  c.backoff = schedule::constant(10ms).jittered(jitter::full);
  retrier_rig h{c};
  auto untouched = h.random;
  auto id = h.arrive_with(5ms);
  h.advance(5ms);
  h.fail(id);
  EXPECT_EQ(h.count("gave_up_deadline"), 1);
  EXPECT_EQ(h.random.bits(), untouched.bits());
}

TEST(retrier, a_retry_that_is_too_late_costs_no_budget) {
  auto c = simple_retrier();
  c.budget = true;
  c.budget_ratio = 0;
  c.budget_reserve = 1;
  c.budget_ttl = 1s;
  retrier_rig h{c};
  auto id = h.arrive_with(10ms);
  h.fail(id);
  EXPECT_EQ(h.count("gave_up_deadline"), 1);
  EXPECT_EQ(h.count("budget_left"), 1);
}

// -- budget -------------------------------------------------------------------

TEST(retrier, passes_the_outcome_up_when_the_budget_is_spent) {
  auto c = simple_retrier();
  c.budget = true;
  c.budget_ratio = 0.5;
  c.budget_reserve = 0;
  retrier_rig h{c};
  auto ids = h.arrive_together(5);
  EXPECT_EQ(h.count("budget_left"), 2);
  for (auto id : ids)
    h.fail(id, errc::deadline_exceeded);
  EXPECT_EQ(h.count("retried"), 2);
  EXPECT_EQ(h.count("gave_up_budget"), 3);
  EXPECT_EQ(h.count("budget_left"), 0);
  EXPECT_TRUE(h.calls.at(ids.back()).result.is(errc::deadline_exceeded));
}

TEST(retrier, has_a_reserve_for_callers_that_call_rarely) {
  auto c = simple_retrier();
  c.budget = true;
  c.budget_ratio = 0;
  c.budget_reserve = 2;
  c.budget_ttl = 1s;
  retrier_rig h{c};
  auto id = h.arrive();
  backoff_after(h, id);
  backoff_after(h, id);
  h.fail(id);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.count("gave_up_budget"), 1);
}

TEST(retrier, what_is_a_retry_of_an_outer_gate_pays_for_nothing) {
  auto c = simple_retrier();
  c.budget = true;
  c.budget_ratio = 1;
  c.budget_reserve = 0;
  for (std::uint32_t attempt : {0u, 1u, 2u, 100u}) {
    retrier_rig h{c};
    call_info call;
    call.attempt = attempt;
    auto id = h.arrive(call);
    h.fail(id);
    EXPECT_EQ(h.where(id), attempt <= 1 ? place::held : place::passed);
  }
}

TEST(retrier, knows_no_budget_when_it_is_off) {
  auto c = simple_retrier();
  c.budget_ratio = 0;
  c.budget_reserve = 0;
  retrier_rig h{c};
  auto id = h.arrive();
  for (int i = 0; i < 50; ++i)
    backoff_after(h, id);
  EXPECT_EQ(h.count("budget_left"), 0);
}

// -- amplification ------------------------------------------------------------

// Hosts a tower of retriers over a worker that fails at random, without time.
class tower {
public:
  tower(std::size_t layers, const retrier_config& c)
    : retriers_(layers, retrier{c}), notes_(layers) {}

  // Plays one call; returns whether it succeeded.
  bool play() {
    call_info call;
    return down(0, call).ok;
  }

  int attempts = 0;

private:
  outcome down(std::size_t layer, call_info& call) {
    if (layer == retriers_.size()) {
      ++attempts;
      return random_.uniform() < 0.5 ? worker_failed() : outcome::success();
    }
    auto& r = retriers_[layer];
    auto& s = notes_[layer];
    r.admit(call, s, e_);
    for (;;) {
      auto o = down(layer + 1, call);
      if (r.complete(call, s, o, e_).what == decision::kind::pass)
        return o;
      r.expire(call, s, e_);
    }
  }

  std::vector<retrier> retriers_;
  std::vector<slot> notes_;
  random_source random_{1};
  env e_{retrier_rig::start(), random_};
};

TEST(retrier, amplifies_as_theory_says) {
  constexpr int calls = 100'000;
  auto c = simple_retrier();
  c.max_attempts = 3;
  c.backoff = schedule::constant(0ns);
  struct row {
    std::size_t layers;
    double attempts;
    double success;
  };
  // One layer: 1 + 1/2 + 1/4 attempts, 1 - 1/8 succeed. Two layers: the outer
  // one sees failures with probability 1/8.
  constexpr double once = 1.75;
  for (auto& x :
       std::vector<row>{{1, once, 0.875},
                        {2, once * (1 + 1.0 / 8 + 1.0 / 64), 1 - 1.0 / 512}}) {
    tower s{x.layers, c};
    int good = 0;
    for (int i = 0; i < calls; ++i)
      good += s.play();
    EXPECT_NEAR(s.attempts / double{calls}, x.attempts, 0.01 * x.attempts);
    EXPECT_NEAR(good / double{calls}, x.success, 0.01 * x.success);
  }
}

TEST(retrier, its_budget_bounds_the_amplification) {
  constexpr int calls = 100'000;
  auto c = simple_retrier();
  c.max_attempts = 3;
  c.backoff = schedule::constant(0ns);
  c.budget = true;
  c.budget_ratio = 0.2;
  c.budget_reserve = 0;
  // The inner layer earns from first attempts only, so that two layers send
  // 1 + 0.2 + 0.2 attempts per call and not 1.2².
  for (auto [layers, attempts] :
       std::vector<std::pair<std::size_t, double>>{{1, 1.2}, {2, 1.4}}) {
    tower s{layers, c};
    for (int i = 0; i < calls; ++i)
      s.play();
    EXPECT_LE(s.attempts, attempts * calls + 1);
    EXPECT_GE(s.attempts, 0.99 * attempts * calls);
  }
}

} // namespace
} // namespace caisson::test
