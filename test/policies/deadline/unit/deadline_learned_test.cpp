// A time limit that follows from how long calls take.
#include <caisson/policies/keyed/keyed.hpp>

#include <policies/deadline/model/learning_rig.hpp>
#include <policies/keyed/model/keyed_rig.hpp>
#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// Within what a bucket of the histogram rounds up, and a few per cent of luck.
void expect_about(duration is, duration expected) {
  EXPECT_GE(is, duration_times(expected, 0.95)) << to_text(is);
  EXPECT_LE(is, duration_times(expected, 1.18)) << to_text(is);
}

constexpr auto p95 = 2996us;

// -- configuration ------------------------------------------------------------

TEST(deadline_learned, refuses_what_contradicts_itself) {
  auto c = learning(0.95);
  c.learned.least = 11s;
  EXPECT_EQ(kinds_and_keys(problems_of(c)), strings{"relation learned.least"});
  c = learning(0.95);
  c.learned.least = 5ms;
  c.min_left = 5ms + 1ns;
  EXPECT_EQ(kinds_and_keys(problems_of(c)), strings{"relation min_left"});
  c.learned.on = false;
  EXPECT_TRUE(problems_of(c).empty());
  for (auto factor : {0.99, 100.1}) {
    c = learning(0.95, factor);
    EXPECT_EQ(kinds_and_keys(problems_of(c)), strings{"range learned.factor"});
  }
}

// -- what is learned ----------------------------------------------------------

TEST(deadline_learned, goes_by_the_timeout_until_it_knows_enough) {
  learning_rig x{learning(0.95)};
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(x.limit(), 1s);
    x.call(10ms);
  }
  x.e.now += 200ms;
  x.call(10ms);
  EXPECT_LT(x.limit(), 12ms);
  EXPECT_GT(x.limit(), 10ms);
  // Nothing is known any more after a long silence.
  x.e.now += 1min;
  x.call(10ms);
  EXPECT_EQ(x.limit(), 1s);
}

TEST(deadline_learned, finds_the_quantile_from_above_and_from_below) {
  for (auto first : {50us, 1ms / 1us * 1us, 1s / 1us * 1us}) {
    auto c = learning(0.95, 2);
    c.timeout = first;
    learning_rig x{c};
    x.run(learning_rig::exponential(1ms), 20s);
    expect_about(x.limit(), 2 * p95);
    EXPECT_GT(x.run(learning_rig::exponential(1ms), 10s), 0.99);
  }
}

TEST(deadline_learned, adds_standard_deviations) {
  learning_rig x{learning(0.95, 1, 2)};
  x.run(learning_rig::exponential(1ms), 30s);
  // The deviation is the mean, 1 ms.
  expect_about(x.limit(), p95 + 2ms);
}

TEST(deadline_learned, follows_a_worker_that_gets_slower_and_faster) {
  learning_rig x{learning(0.95, 2)};
  for (auto mean : {1ms, 4ms, 1ms, 2ms}) {
    x.run(learning_rig::exponential(mean), 60s);
    expect_about(x.limit(), 2 * p95 * mean.count());
  }
}

TEST(deadline_learned, lets_most_succeed_while_it_follows) {
  learning_rig x{learning(0.95, 2)};
  x.run(learning_rig::exponential(1ms), 20s);
  // Ten times slower all at once: after a window it is as if nothing had been.
  EXPECT_GT(x.run(learning_rig::exponential(10ms), 10s), 0.6);
  EXPECT_GT(x.run(learning_rig::exponential(10ms), 10s), 0.97);
}

// What is learned from successes alone are those that the limit let succeed.
TEST(deadline_learned, does_not_shrink_because_only_fast_calls_survive) {
  random_source random{7};
  auto draw = learning_rig::exponential(1ms);
  std::vector<duration> successes;
  auto naive = duration{10ms};
  for (int i = 0; i < 200'000; ++i) {
    auto took = draw(random);
    if (took < naive)
      successes.push_back(took);
    if (successes.size() == 1'000) {
      std::sort(successes.begin(), successes.end());
      naive = successes[949] + 1ns;
      successes.clear();
    }
  }
  EXPECT_LT(naive, p95 / 20);
  // With the same rule, and no reserve at all.
  learning_rig x{learning(0.95)};
  for (int i = 0; i < 20; ++i) {
    auto good = x.run(draw, 10s);
    EXPECT_GT(good, 0.93);
    EXPECT_GE(x.limit(), duration_times(p95, 0.95));
    EXPECT_LE(x.limit(), 3 * p95);
  }
}

// Calls whose callers give them less time than the limit does.
TEST(deadline_learned, does_not_shrink_because_callers_have_little_time) {
  detail::limit_learner x{learning(0.95, 2).learned};
  auto now = time_point{} + 1h;
  for (int i = 0; i < 1'000; ++i)
    x.cut_off(2ms, now);
  EXPECT_EQ(x.limit(now, 1s), 1s);
  now += x.period();
  EXPECT_EQ(x.limit(now, 1s), 1s);
  // Cut off by the limit itself, they would have taken longer.
  for (int i = 0; i < 1'000; ++i)
    x.cut_off(1s, now);
  now += x.period();
  EXPECT_GE(x.limit(now, 1s), 2s);
}

// One of them is answered soon: that is chance.
TEST(deadline_learned, does_not_follow_the_few_that_callers_wait_for) {
  detail::limit_learner x{learning(0.95).learned};
  auto now = time_point{} + 1h;
  for (int i = 0; i < 99; ++i)
    x.cut_off(1ms, now);
  x.succeeded(2ms, now);
  EXPECT_EQ(x.limit(now, 100ms), 100ms);
  // Of five that last it may be.
  for (int i = 0; i < 5; ++i)
    x.succeeded(50ms, now);
  now += x.period();
  expect_about(x.limit(now, 100ms).value_or(0s), 50ms);
}

TEST(deadline_learned, does_not_take_a_refusal_further_in_for_a_cut_off) {
  auto c = learning(0.95, 2);
  c.timeout = 1s;
  c.learned.minimum_samples = 10;
  rig<deadline> x{c};
  auto refused = outcome::failure(errc::deadline_exceeded, false);
  for (int i = 0; i < 100; ++i)
    x.finish(x.arrive(), refused);
  EXPECT_EQ(x.count("samples"), 0);
  refused.may_have_executed = true;
  x.finish(x.arrive(), refused);
  EXPECT_EQ(x.count("samples"), 1);
}

TEST(deadline_learned, a_few_calls_that_hang_do_not_move_it) {
  learning_rig x{learning(0.95, 2)};
  x.run(learning_rig::hanging(50, 10ms), 60s);
  expect_about(x.limit(), 20ms);
}

TEST(deadline_learned, goes_to_the_most_if_too_many_hang) {
  auto c = learning(0.95, 2);
  c.learned.most = 2s;
  c.learned.minimum_samples = 10;
  learning_rig x{c};
  x.run(learning_rig::hanging(5, 10ms), 60s);
  EXPECT_EQ(x.limit(), 2s);
  // And back.
  x.run(learning_rig::hanging(1'000, 10ms), 30s);
  expect_about(x.limit(), 20ms);
}

TEST(deadline_learned, says_which_ends_count) {
  struct row {
    const char* what;
    std::function<void(deadline_rig&, call_id)> end;
    int samples;
  };
  for (const auto& x : {
         row{"a success", [](auto&h, auto id) { h.finish(id); }, 1},
         row{"its own limit", [](auto&h, auto id) { h.expire(id); }, 1},
         row{"a deadline further in",
             [](auto&h, auto id) { h.fail(id, errc::deadline_exceeded); }, 1},
         row{"a deadline further out",
             [](auto&h, auto id) { h.abandon(id, errc::deadline_exceeded); },
             1},
         row{"an error", [](auto&h, auto id) { h.fail(id); }, 0},
         row{"a caller that is gone",
             [](auto&h, auto id) { h.abandon(id, errc::cancelled); }, 0},
       }) {
    deadline_rig h{learning(0.95)};
    auto id = h.arrive_with(unlimited);
    h.e.now += 5ms;
    x.end(h, id);
    EXPECT_EQ(h.count("samples"), x.samples) << x.what;
  }
}

TEST(deadline_learned, takes_what_a_deadline_ended_for_longer) {
  using ending = std::function<void(deadline_rig&, call_id)>;
  for (const auto& end : {
         ending{[](auto&h, auto id) { h.expire(id); }},
         ending{[](auto&h, auto id) { h.fail(id, errc::deadline_exceeded); }},
         ending{
           [](auto&h, auto id) { h.abandon(id, errc::deadline_exceeded); }},
       }) {
    auto c = learning(0.95);
    c.timeout = 8ms;
    deadline_rig h{c};
    for (int i = 0; i < 100; ++i) {
      auto id = h.arrive_with(unlimited);
      h.e.now += 5ms;
      end(h, id);
    }
    h.e.now += 200ms;
    EXPECT_EQ(h.left(h.arrive_with(unlimited)), 10ms);
  }
}

TEST(deadline_learned, counts_a_call_that_overran_in_observe_mode_once) {
  auto c = learning(0.5, 1);
  c.learned.minimum_samples = 1;
  c.timeout = 10ms;
  deadline_rig h{c};
  auto id = h.arrive_with(unlimited);
  h.e.now += 50ms;
  h.finish(id);
  EXPECT_EQ(h.count("samples"), 1);
  EXPECT_EQ(h.count("expired"), 1);
  // It is known how long it took.
  h.e.now += 1s;
  h.arrive_with(unlimited);
  expect_about(h.policy.present_timeout(), 50ms);
}

TEST(deadline_learned, measures_a_call_once_whose_limit_was_lifted) {
  auto c = learning(0.5);
  deadline_rig h{c};
  auto id = h.arrive_with(unlimited);
  h.e.now += 1s;
  h.pass_deadline(id, false);
  h.e.now += 1s;
  h.finish(id);
  EXPECT_EQ(h.count("samples"), 1);
}

TEST(deadline_learned, the_callers_deadline_still_comes_first) {
  learning_rig x{learning(0.95, 2)};
  x.run(learning_rig::exponential(1ms), 20s);
  EXPECT_EQ(x.left(x.arrive_with(1ms)), 1ms);
  EXPECT_EQ(x.left(x.arrive_with(1h)), x.limit());
}

// -- reports -----------------------------------------------------------------

TEST(deadline_learned, reports_large_changes_and_not_too_often) {
  learning_rig x{learning(0.95, 2)};
  auto& reports = x.e.reports;
  auto changes = [&] {
    auto own = reports;
    std::erase_if(own, [](const std::string& s) {
      return s.find("limit_changed") == std::string::npos;
    });
    reports.clear();
    return own;
  };
  x.run(learning_rig::exponential(1ms), 20s);
  auto first = changes();
  ASSERT_GE(first.size(), 1u);
  EXPECT_TRUE(first[0].starts_with("limit_changed:1 s>")) << first[0];
  EXPECT_LE(first.size(), 3u);
  x.run(learning_rig::exponential(1ms), 60s);
  EXPECT_EQ(changes(), strings{});
  // However often it changes, five times per window at most.
  for (int i = 0; i < 50; ++i) {
    x.run(learning_rig::exponential(i % 2 == 0 ? 50ms : 1ms), 1s);
    if (i % 10 == 9) {
      EXPECT_LE(changes().size(), 6u);
    }
  }
}

TEST(deadline_learned, does_not_report_small_changes) {
  learning_rig x{learning(0.95, 1.5)};
  auto takes = [](duration d) { return [d](random_source&) { return d; }; };
  x.run(takes(10ms), 20s);
  auto before = x.limit();
  x.e.reports.clear();
  x.run(takes(11ms), 20s);
  EXPECT_GT(x.limit(), before);
  for (const auto& line : x.e.reports)
    EXPECT_EQ(line.find("limit_changed"), std::string::npos) << line;
}

TEST(deadline_learned, shows_the_limit_and_the_samples) {
  deadline_rig plain{limited_to(1s)};
  EXPECT_EQ(plain.count("limit_us"), -1);
  learning_rig x{learning(0.95)};
  EXPECT_EQ(x.count("limit_us"), 1'000'000);
  EXPECT_EQ(x.count("samples"), 0);
  for (int i = 0; i < 200; ++i)
    x.call(10ms);
  EXPECT_EQ(x.count("limit_us"), x.limit() / 1us);
  EXPECT_EQ(x.count("samples"), 200);
}

// -- operation ----------------------------------------------------------------

TEST(deadline_learned, is_switched_on_and_off_at_run_time) {
  auto c = learning(0.95);
  c.learned.on = false;
  learning_rig x{c};
  auto below = x.arrive_with(unlimited);
  for (int i = 0; i < 200; ++i)
    x.call(10ms);
  EXPECT_EQ(x.limit(), 1s);
  c.learned.on = true;
  x.reconfigure(c);
  for (int i = 0; i < 200; ++i)
    x.call(10ms);
  auto limit = x.limit();
  expect_about(limit, 10ms);
  // Other settings go by what is known.
  c.learned.factor = 3;
  x.reconfigure(c);
  expect_about(x.limit(), 30ms);
  c.learned.on = false;
  x.reconfigure(c);
  EXPECT_EQ(x.limit(), 1s);
  EXPECT_EQ(x.left(x.arrive_with(unlimited)), 1s);
  // One that came before any of this keeps its limit.
  x.finish(below);
  EXPECT_EQ(x.count("answered"), 400);
  EXPECT_EQ(x.count("overran"), 1);
}

TEST(deadline_learned, a_reset_forgets_what_was_learned) {
  learning_rig x{learning(0.95)};
  for (int i = 0; i < 200; ++i)
    x.call(10ms);
  EXPECT_LT(x.limit(), 1s);
  x.command(operator_command::reset);
  EXPECT_EQ(x.limit(), 1s);
  EXPECT_EQ(x.count("samples"), 0);
}

TEST(deadline_learned, learns_for_each_key_by_itself) {
  keyed_rig<deadline> h{keyed_config<deadline>{learning(0.95)}};
  auto play = [&](const std::string& key, duration takes) {
    auto id = h.arrive(of_key(key));
    h.e.now += takes;
    h.finish(id);
  };
  for (int i = 0; i < 200; ++i) {
    play("fast", 5ms);
    play("slow", 40ms);
  }
  auto left = [&](const std::string& key) {
    return time_until(h.calls.at(h.arrive(of_key(key))).call.deadline, h.e.now);
  };
  expect_about(left("fast"), 5ms);
  expect_about(left("slow"), 40ms);
  EXPECT_EQ(left("new"), 1s);
  // Of limits the largest says something, not the sum.
  EXPECT_EQ(h.count("limit_us"), 1'000'000);
}

} // namespace
} // namespace caisson::test
