// Permits, waiting and refusals of an adaptive limit; and its
// settings.
#include <caisson/policies/keyed/keyed.hpp>

#include <policies/adaptive_limit/model/adaptive_limit_rig.hpp>
#include <support/rig.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test::adapting {
namespace {

// So many permits, for ever.
adaptive_limit_config steady(std::uint32_t permits, std::uint32_t waiters = 0) {
  auto c = exact(limit_algorithm::aimd);
  c.min_limit = 1;
  c.initial_limit = permits;
  c.max_limit = std::max(permits, 10u);
  c.min_samples = 1'000;
  c.max_waiters = waiters;
  return c;
}

// -- permits ------------------------------------------------------------------

TEST(adaptive_limit, lends_as_many_permits_as_the_limit_allows) {
  adaptive_limit_rig h{steady(3)};
  EXPECT_EQ(h.admitted(5), 3);
  EXPECT_EQ(h.count("passed"), 3);
  EXPECT_EQ(h.count("queue_full"), 2);
  EXPECT_EQ(h.count("in_use"), 3);
  EXPECT_EQ(h.e.reports, (std::vector<std::string>(2, "rejected:>queue_full")));
  h.finish(1);
  EXPECT_EQ(h.count("finished"), 1);
  EXPECT_EQ(h.admitted(2), 1);
  h.abandon(2);
  EXPECT_EQ(h.count("abandoned"), 1);
  EXPECT_EQ(h.admitted(2), 1);
}

TEST(adaptive_limit, lets_calls_wait_in_turn) {
  adaptive_limit_rig h{steady(1, 2)};
  auto a = h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  EXPECT_EQ(h.count("queued"), 2);
  EXPECT_EQ(h.e.waits,
            (std::vector<std::array<std::uint64_t, 3>>{{b, 1, 1}, {c, 1, 2}}));
  h.advance(5ms);
  h.finish(a);
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.where(c), place::held);
  EXPECT_EQ(h.e.reports.back(), "granted:>");
  EXPECT_EQ(h.e.delays.back(), 5ms);
  h.abandon(c);
  EXPECT_EQ(h.count("gave_up"), 1);
  EXPECT_EQ(h.count("granted"), 1);
  EXPECT_EQ(h.count("waited_us_granted"), 5'000);
  EXPECT_EQ(h.count("waited_us_refused"), 5'000);
  h.finish(b);
  EXPECT_EQ(h.count("in_use"), 0);
}

TEST(adaptive_limit, ends_waits_in_time) {
  auto c = steady(1, 2);
  c.max_wait = 10ms;
  adaptive_limit_rig h{c};
  auto a = h.arrive();
  auto b = h.arrive();
  h.advance(10ms - 1ns);
  EXPECT_EQ(h.where(b), place::held);
  h.advance(1ns);
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.calls.at(b).code, errc::wait_timeout);
  EXPECT_EQ(h.count("timed_out"), 1);
  EXPECT_EQ(h.e.details.back(), "waited 10ms");
  // A grant at the same instant is final.
  auto d = h.arrive();
  h.calls.at(a).where = place::passed;
  outcome o;
  h.e.now += 10ms;
  h.policy.complete(h.calls.at(a).call, h.calls.at(a).notes, o, h.e);
  EXPECT_EQ(h.policy.expire(h.calls.at(d).call, h.calls.at(d).notes, h.e).what,
            decision::kind::pass);
  EXPECT_EQ(h.count("timed_out"), 1);
}

TEST(adaptive_limit, can_serve_the_newest_first) {
  auto c = steady(1, 2);
  c.order = wait_order::lifo;
  adaptive_limit_rig h{c};
  auto a = h.arrive();
  auto b = h.arrive();
  auto d = h.arrive();
  auto f = h.arrive();
  EXPECT_EQ(h.where(b), place::rejected);
  EXPECT_EQ(h.calls.at(b).code, errc::queue_full);
  EXPECT_EQ(h.count("evicted"), 1);
  h.finish(a);
  EXPECT_EQ(h.where(f), place::below);
  EXPECT_EQ(h.where(d), place::held);
}

// -- weight -------------------------------------------------------------------

TEST(adaptive_limit, runs_a_heavy_call_alone) {
  adaptive_limit_rig h{steady(3, 5)};
  auto light = h.arrive();
  auto big = h.arrive(heavy(7));
  auto next = h.arrive();
  EXPECT_EQ(h.where(big), place::held);
  EXPECT_EQ(h.where(next), place::held);
  h.finish(light);
  EXPECT_EQ(h.where(big), place::below);
  EXPECT_EQ(h.count("in_use"), 7);
  EXPECT_EQ(h.where(next), place::held);
  h.finish(big);
  EXPECT_EQ(h.where(next), place::below);
  EXPECT_EQ(h.where(h.arrive(heavy(2))), place::below);
  EXPECT_EQ(h.where(h.arrive(heavy(0))), place::held);
}

TEST(adaptive_limit, refuses_calls_heavier_than_it_can_become) {
  adaptive_limit_rig h{steady(3, 5)};
  auto id = h.arrive(heavy(11));
  EXPECT_EQ(h.where(id), place::rejected);
  EXPECT_EQ(h.calls.at(id).code, errc::queue_full);
  EXPECT_EQ(h.count("too_heavy"), 1);
  EXPECT_EQ(h.where(h.arrive(heavy(10))), place::below);
}

TEST(adaptive_limit, lets_those_behind_a_heavy_call_go_when_it_gives_up) {
  adaptive_limit_rig h{steady(3, 5)};
  h.arrive();
  auto big = h.arrive(heavy(3));
  auto next = h.arrive();
  h.abandon(big);
  EXPECT_EQ(h.where(next), place::below);
}

// -- observe ------------------------------------------------------------------

TEST(adaptive_limit, shows_what_it_would_do) {
  auto c = steady(2, 1);
  c.min_samples = 2;
  adaptive_limit_rig h{c};
  h.acts = mode::observe;
  auto ids = h.arrive_together(4);
  EXPECT_EQ(h.count("passed"), 2);
  EXPECT_EQ(h.count("queued"), 2);
  EXPECT_EQ(h.count("gave_up"), 2);
  EXPECT_EQ(h.count("in_use"), 2);
  h.finish(ids[0]);
  h.advance(1ms);
  h.finish(ids[1]);
  EXPECT_EQ(h.limit(), 3);
}

// -- operation ----------------------------------------------------------------

TEST(adaptive_limit, keeps_its_limit_under_other_settings) {
  auto c = exact(limit_algorithm::aimd);
  c.max_waiters = 30;
  adaptive_limit_rig h{c};
  h.round(20, 10ms);
  EXPECT_EQ(h.limit(), 21);
  c.initial_limit = 10;
  h.reconfigure(c);
  EXPECT_EQ(h.limit(), 21);
  // Down to the new ceiling: calls in flight keep their permits.
  h.arrive_together(30);
  c.max_limit = 15;
  h.reconfigure(c);
  EXPECT_EQ(h.limit(), 15);
  EXPECT_EQ(h.count("in_use"), 21);
  EXPECT_EQ(h.count("waiting"), 9);
  // Up to the new floor: those that wait get theirs at once.
  c.max_limit = 100;
  c.min_limit = c.initial_limit = 25;
  h.reconfigure(c);
  EXPECT_EQ(h.limit(), 25);
  EXPECT_EQ(h.count("in_use"), 25);
  EXPECT_EQ(h.count("waiting"), 5);
  // What an operator sets is no event of the layer.
  EXPECT_EQ(h.e.reports, (std::vector<std::string>(4, "granted:>")));
}

TEST(adaptive_limit, rejects_waiters_that_have_become_too_heavy) {
  auto c = steady(2, 5);
  adaptive_limit_rig h{c};
  h.arrive();
  auto big = h.arrive(heavy(8));
  auto next = h.arrive();
  c.max_limit = 7;
  h.reconfigure(c);
  EXPECT_EQ(h.where(big), place::rejected);
  EXPECT_EQ(h.where(next), place::below);
  EXPECT_EQ(h.count("outgrown"), 1);
}

TEST(adaptive_limit, serves_in_another_order_at_once) {
  auto c = steady(1, 5);
  adaptive_limit_rig h{c};
  auto a = h.arrive();
  h.arrive();
  auto last = h.arrive();
  c.order = wait_order::lifo;
  h.reconfigure(c);
  h.finish(a);
  EXPECT_EQ(h.where(last), place::below);
}

TEST(adaptive_limit, starts_anew_after_a_reset) {
  auto c = exact(limit_algorithm::aimd);
  c.max_waiters = 5;
  adaptive_limit_rig h{c};
  h.round(20, 10ms, 1);
  EXPECT_EQ(h.limit(), 18);
  h.arrive_together(23);
  EXPECT_EQ(h.count("waiting"), 5);
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(h.limit(), 20);
  EXPECT_EQ(h.count("waiting"), 3);
  EXPECT_EQ(h.count("in_use"), 20);
  EXPECT_EQ(h.count("backed_off"), 0);
  EXPECT_EQ(h.count("waited_us_refused"), 0);
  EXPECT_TRUE(h.command(operator_command::enable));
  EXPECT_FALSE(h.command(operator_command::force_open));
  EXPECT_FALSE(h.command(operator_command::force_closed));
}

// -- keys ---------------------------------------------------------------------

TEST(adaptive_limit, has_a_limit_for_each_key) {
  auto c = exact(limit_algorithm::aimd);
  c.initial_limit = c.min_limit;
  rig<keyed<adaptive_limit>> h{keyed_config<adaptive_limit>{c, {}}};
  auto window = [&](const std::string& key, duration latency) {
    for (int i = 0; i < 2; ++i) {
      auto id = h.arrive(of_key(key));
      h.advance(latency);
      h.finish(id);
    }
  };
  window("a", 30ms);
  window("b", 10ms);
  EXPECT_EQ(h.count("limit"), 2 * 3);
  // A latency is no sum.
  EXPECT_EQ(h.count("latency_us"), 30'000);
  auto admitted = [&](const std::string& key) {
    int n = 0;
    for (int i = 0; i < 5; ++i)
      n += h.where(h.arrive(of_key(key))) == place::below ? 1 : 0;
    return n;
  };
  EXPECT_EQ(admitted("a"), 3);
  EXPECT_EQ(admitted("b"), 3);
}

// -- settings -----------------------------------------------------------------

std::string problem_of(const adaptive_limit_config& c) {
  auto found = problems_of(c);
  return found.empty() ? "" : to_text(found.front());
}

TEST(adaptive_limit, refuses_limits_out_of_order) {
  adaptive_limit_config c;
  EXPECT_EQ(problem_of(c), "");
  c.max_limit = 19;
  EXPECT_EQ(problem_of(c), "initial_limit: 20 is not within min_limit and "
                           "max_limit, allowed: 3 to 19");
  c.initial_limit = 2;
  EXPECT_NE(problem_of(c).find("allowed: 3 to 19"), std::string::npos);
  c.initial_limit = 19;
  EXPECT_EQ(problem_of(c), "");
  c.min_limit = 20;
  EXPECT_EQ(problem_of(c), "min_limit: 20 is more than max_limit, allowed: 1 "
                           "to 19");
  EXPECT_THROW(adaptive_limit{c}, config_error);
}

TEST(adaptive_limit, refuses_settings_that_contradict_each_other) {
  std::vector<adaptive_limit_config> all(5);
  all[0].algorithm = limit_algorithm::vegas;
  all[0].alpha = 7;
  all[1].measure_every = 9s;
  all[2].max_wait = 1s;
  all[3].order = wait_order::lifo;
  all[4].max_waiters = 1;
  all[4].max_wait = 0s;
  const char* keys[] = {"alpha", "measure_at_most", "max_wait", "order",
                        "max_wait"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(problem_of(all[i]).starts_with(keys[i])) << problem_of(all[i]);
    EXPECT_THROW(adaptive_limit{all[i]}, config_error);
  }
  // Of another algorithm.
  all[0].algorithm = all[1].algorithm = limit_algorithm::aimd;
  EXPECT_EQ(problem_of(all[0]), "");
  EXPECT_EQ(problem_of(all[1]), "");
}

TEST(adaptive_limit, refuses_values_out_of_range) {
  std::vector<adaptive_limit_config> all(10);
  all[0].initial_limit = 0;
  all[1].window = 0s;
  all[2].min_samples = 0;
  all[3].backoff = 1;
  all[4].drop_share = 1.1;
  all[5].quantile = 0;
  all[6].jitter = -0.1;
  all[7].buffer = 11;
  all[8].measure_samples = 0;
  all[9].classify.allow = {"no such error"};
  for (const auto& c : all)
    EXPECT_THROW(adaptive_limit{c}, config_error);
}

TEST(adaptive_limit, refuses_settings_of_another_algorithm) {
  auto first = [](const char* algorithm) {
    adaptive_limit_config c;
    auto settings = settings_from_text(
      {{"algorithm", algorithm}, {"probe", "5"}});
    auto found = read_settings(settings, "limit", c);
    return found.empty() ? "" : to_text(found.front());
  };
  EXPECT_EQ(first("vegas"), "");
  for (auto other : {"gradient", "aimd"})
    EXPECT_TRUE(first(other).starts_with("limit.probe: ")) << first(other);
}

} // namespace
} // namespace caisson::test::adapting
