// Windows of an adaptive limit, and the limits that follow from them.
#include <policies/adaptive_limit/model/adaptive_limit_rig.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test::adapting {
namespace {

using texts = std::vector<std::string>;

struct round_row {
  int in_flight;
  duration latency;
  int drops;
  std::int64_t expected;
  const char* counted;
};

void follow(adaptive_limit_rig& h, const std::vector<round_row>& rows) {
  int number = 0;
  for (const auto& x : rows) {
    ++number;
    auto before = h.count(x.counted);
    h.round(x.in_flight, x.latency, x.drops);
    EXPECT_EQ(h.limit(), x.expected) << "round " << number;
    EXPECT_EQ(h.count(x.counted), before + 1) << "round " << number;
  }
  EXPECT_EQ(h.count("raised") + h.count("lowered") + h.count("backed_off")
              + h.count("unused") + h.count("kept"),
            number);
}

// -- AIMD ---------------------------------------------------------------------

TEST(aimd_limit, goes_up_by_one_and_down_by_a_share) {
  adaptive_limit_rig h{exact(limit_algorithm::aimd)};
  follow(h, {{20, 10ms, 0, 21, "raised"},
             {21, 10ms, 1, 18, "backed_off"},
             {18, 10ms, 18, 16, "backed_off"},
             {9, 10ms, 0, 17, "raised"},
             {8, 10ms, 0, 17, "unused"},
             {2, 10ms, 1, 15, "backed_off"},
             {15, 10ms, 0, 16, "raised"}});
  EXPECT_EQ(h.count("dropped"), 20);
  EXPECT_EQ(h.count("sampled"), 73);
}

TEST(aimd_limit, stays_within_its_bounds) {
  auto c = exact(limit_algorithm::aimd);
  c.min_limit = 4;
  c.initial_limit = 5;
  c.max_limit = 6;
  adaptive_limit_rig h{c};
  follow(h, {{5, 10ms, 0, 6, "raised"},
             {6, 10ms, 0, 6, "kept"},
             {6, 10ms, 1, 5, "backed_off"},
             {5, 10ms, 1, 4, "backed_off"},
             {4, 10ms, 1, 4, "backed_off"}});
}

TEST(aimd_limit, takes_slow_calls_for_dropped_ones) {
  auto c = exact(limit_algorithm::aimd);
  c.timeout = 100ms;
  adaptive_limit_rig h{c};
  follow(
    h, {{20, 100ms - 1ns, 0, 21, "raised"}, {21, 100ms, 0, 18, "backed_off"}});
  EXPECT_EQ(h.count("slow"), 21);
  EXPECT_EQ(h.count("dropped"), 0);
}

TEST(adaptive_limit_windows, tolerate_a_share_of_drops) {
  auto c = exact(limit_algorithm::aimd);
  c.drop_share = 0.1;
  adaptive_limit_rig h{c};
  follow(h, {{20, 10ms, 2, 21, "raised"}, {20, 10ms, 3, 18, "backed_off"}});
}

// What waits in the queue has no latency yet.
TEST(adaptive_limit_windows, time_calls_from_when_they_go_down) {
  auto c = exact(limit_algorithm::aimd);
  c.initial_limit = c.min_limit = c.max_limit = 1;
  c.max_waiters = 1;
  c.timeout = 100ms;
  adaptive_limit_rig h{c};
  auto a = h.arrive();
  auto b = h.arrive();
  h.advance(99ms);
  h.finish(a);
  EXPECT_EQ(h.where(b), place::below);
  h.advance(99ms);
  h.finish(b);
  EXPECT_EQ(h.count("slow"), 0);
  EXPECT_EQ(h.count("latency_us"), 99'000);
}

// -- windows ------------------------------------------------------------------

TEST(adaptive_limit_windows, last_for_some_time_and_some_outcomes) {
  auto c = exact(limit_algorithm::aimd);
  c.window = 100ms;
  c.min_samples = 3;
  c.timeout = unlimited;
  adaptive_limit_rig h{c};
  auto ids = h.arrive_together(20);
  h.advance(1h);
  h.finish(ids[0]);
  h.advance(100ms - 1ns);
  h.finish(ids[1]);
  h.finish(ids[2]);
  EXPECT_EQ(h.limit(), 20);
  h.advance(1ns);
  h.finish(ids[3]);
  EXPECT_EQ(h.limit(), 21);
  // The next one begins with its first outcome.
  h.advance(50ms);
  h.finish(ids[4]);
  h.advance(100ms);
  h.finish(ids[5]);
  EXPECT_EQ(h.limit(), 21);
  h.finish(ids[6]);
  EXPECT_EQ(h.count("raised") + h.count("unused"), 2);
}

TEST(adaptive_limit_windows, change_nothing_with_too_few_outcomes) {
  auto c = exact(limit_algorithm::aimd);
  c.min_samples = 100;
  adaptive_limit_rig h{c};
  for (int i = 0; i < 4; ++i)
    h.round(20, 10ms, 20);
  EXPECT_EQ(h.limit(), 20);
  h.round(20, 10ms, 20);
  EXPECT_EQ(h.limit(), 18);
}

TEST(adaptive_limit_windows, raise_nothing_that_is_not_used) {
  adaptive_limit_rig h{exact(limit_algorithm::aimd)};
  for (int i = 0; i < 100; ++i)
    h.round(10, 10ms);
  EXPECT_EQ(h.limit(), 20);
  EXPECT_EQ(h.count("unused"), 100);
  h.round(11, 10ms);
  EXPECT_EQ(h.limit(), 21);
}

// A heavy call that finds too few permits says that there are too few.
TEST(adaptive_limit_windows, see_that_calls_were_refused) {
  adaptive_limit_rig h{exact(limit_algorithm::aimd)};
  auto a = h.arrive(heavy(10));
  auto b = h.arrive(heavy(11));
  EXPECT_EQ(h.where(b), place::rejected);
  h.finish(a);
  h.advance(1ms);
  h.finish(h.arrive());
  EXPECT_EQ(h.count("raised"), 1);
}

TEST(adaptive_limit_windows, report_large_changes_only) {
  auto c = exact(limit_algorithm::aimd);
  adaptive_limit_rig h{c};
  for (int i = 0; i < 4; ++i)
    h.round(20, 10ms);
  EXPECT_TRUE(h.e.reports.empty());
  h.round(20, 10ms);
  EXPECT_EQ(h.e.reports, (texts{"limit_changed:20>25"}));
  EXPECT_EQ(h.e.details, (texts{"latency 10 ms, 0 of 20 dropped"}));
  h.round(20, 10ms, 20);
  h.round(20, 10ms, 20);
  EXPECT_EQ(h.limit(), 19);
  EXPECT_EQ(h.e.reports.size(), 1u);
  h.round(19, 10ms, 1);
  EXPECT_EQ(h.e.reports.back(), "limit_changed:25>17");
  EXPECT_EQ(h.e.details.back(), "latency 10 ms, 1 of 19 dropped");
}

// -- Vegas --------------------------------------------------------------------

TEST(vegas_limit, follows_what_seems_to_queue) {
  adaptive_limit_rig h{exact(limit_algorithm::vegas)};
  follow(h, {{20, 100ms, 0, 20, "kept"},       // the baseline
             {20, 100ms, 0, 26, "raised"},     // 0 queue
             {26, 105ms, 0, 27, "raised"},     // 2
             {27, 112500us, 0, 27, "kept"},    // 3
             {27, 150ms, 0, 26, "lowered"},    // 9
             {26, 80ms, 0, 26, "kept"},        // a new baseline
             {26, 100ms, 0, 26, "kept"},       // 6
             {26, 120ms, 0, 25, "lowered"},    // 9
             {12, 80ms, 0, 25, "unused"},      //
             {25, 80ms, 1, 22, "backed_off"},  //
             {22, 8s, 22, 19, "backed_off"}}); //
  EXPECT_EQ(h.count("baseline_us"), 80'000);
  EXPECT_EQ(h.count("gradient_permille"), -1);
}

TEST(vegas_limit, has_other_bounds_if_set_so) {
  auto c = exact(limit_algorithm::vegas);
  c.alpha = 2;
  c.beta = 2;
  adaptive_limit_rig h{c};
  follow(h, {{20, 100ms, 0, 20, "kept"},
             {20, 100ms, 0, 22, "raised"},
             {22, 115ms, 0, 21, "lowered"}}); // 3
}

adaptive_limit_config probing() {
  auto c = exact(limit_algorithm::vegas);
  c.probe = 2;
  c.backoff = 0.75;
  c.measure_samples = 4;
  return c;
}

TEST(vegas_limit, measures_a_longer_baseline_now_and_then) {
  auto c = probing();
  c.min_limit = c.max_limit = 20;
  c.max_baseline = 150ms;
  adaptive_limit_rig h{c};
  h.round(20, 100ms);
  h.round(20, 120ms);
  EXPECT_EQ(h.count("baseline_us"), 100'000);
  EXPECT_EQ(h.count("probed"), 0);
  // After 2 * 20 samples; the limit cannot be lower than `min_limit`.
  h.round(20, 120ms);
  EXPECT_EQ(h.policy.state(), "measuring");
  EXPECT_EQ(h.limit(), 20);
  EXPECT_EQ(h.count("baseline_us"), 100'000);
  EXPECT_EQ(h.count("probed"), 1);
  h.round(4, 120ms);
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.count("baseline_us"), 120'000);
  EXPECT_EQ(h.count("measured"), 1);
  EXPECT_EQ(h.count("capped"), 0);
  h.round(20, 200ms);
  h.round(20, 200ms);
  h.round(4, 200ms);
  EXPECT_EQ(h.count("baseline_us"), 150'000);
  EXPECT_EQ(h.count("probed"), 2);
  EXPECT_EQ(h.count("capped"), 1);
}

TEST(vegas_limit, probes_without_the_calls_that_queue) {
  adaptive_limit_rig h{probing()};
  h.round(20, 100ms); // the baseline
  h.round(20, 125ms); // 4 queue
  auto before = h.arrive();
  h.round(20 - 1, 125ms);
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.count("probed"), 0);
  h.round(20 - 1, 125ms);
  EXPECT_EQ(h.count("probed"), 1);
  EXPECT_EQ(h.policy.state(), "measuring");
  EXPECT_EQ(h.limit(), 12) << "three quarters of 16, which do not queue";
  // It has met the load of before the probe.
  h.finish(before);
  EXPECT_EQ(h.count("stale"), 1);
  EXPECT_EQ(h.admitted(13), 12);
  h.advance(110ms);
  h.finish_all();
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.count("baseline_us"), 110'000);
  EXPECT_EQ(h.limit(), 20);
}

TEST(vegas_limit, keeps_half_of_the_limit_for_a_probe) {
  auto c = probing();
  c.beta = 1'000;
  adaptive_limit_rig h{c};
  h.round(20, 100ms);
  h.round(20, 1s);
  h.round(20, 1s); // 18 of 20 seem to queue
  EXPECT_EQ(h.policy.state(), "measuring");
  EXPECT_EQ(h.limit(), 10);
}

TEST(vegas_limit, ends_a_probe_without_enough_calls) {
  auto c = probing();
  c.measure_at_most = 3s;
  adaptive_limit_rig h{c};
  for (int i = 0; i < 3; ++i)
    h.round(20, 100ms);
  while (h.count("probed") == 0)
    h.round(2, 100ms);
  h.finish(h.arrive());
  h.advance(3s - 1ns);
  EXPECT_EQ(h.policy.state(), "measuring");
  h.advance(1ns);
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.count("unmeasured"), 1);
  EXPECT_EQ(h.count("baseline_us"), 100'000);
  // The next one comes by its samples, and not by the clock.
  h.advance(1h);
  h.round(2, 100ms);
  EXPECT_EQ(h.policy.state(), "adjusting");
}

TEST(vegas_limit, does_not_probe_in_a_drain) {
  for (auto drained : {false, true}) {
    adaptive_limit_rig h{probing()};
    h.round(20, 100ms);
    h.round(20, 125ms);
    auto in_flight = h.arrive_together(19);
    h.advance(1ms);
    auto last = h.arrive();
    if (drained)
      h.policy.drain(h.e);
    h.advance(124ms);
    for (auto id : in_flight)
      h.finish(id);
    h.advance(1ms);
    h.finish(last);
    EXPECT_EQ(h.count("probed"), drained ? 0 : 1);
    EXPECT_EQ(h.policy.state(), drained ? "adjusting" : "measuring");
  }
}

/// A worker with so many servers, 100 ms each, keeps what it has: more calls
/// wait there.
void play_servers(adaptive_limit_rig& h, int servers, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    auto n = static_cast<int>(h.limit());
    h.round(n, std::max(100ms, 100ms * n / servers));
  }
}

TEST(vegas_limit, corrects_a_baseline_that_was_measured_under_load) {
  auto c = exact(limit_algorithm::vegas);
  c.probe = 2;
  c.measure_samples = 4;
  c.initial_limit = 40;
  adaptive_limit_rig h{c};
  play_servers(h, 10, 1);
  EXPECT_EQ(h.count("baseline_us"), 400'000);
  play_servers(h, 10, 200);
  EXPECT_EQ(h.count("baseline_us"), 100'000);
  EXPECT_GE(h.limit(), 10);
  EXPECT_LE(h.limit(), 10 + 6);
}

TEST(vegas_limit, draws_when_it_takes_the_next_one) {
  auto c = exact(limit_algorithm::vegas);
  c.jitter = 0.5;
  c.probe = 100;
  adaptive_limit_rig h{c};
  h.round(20, 100ms);
  random_source same{7};
  auto due = 100 * 20 * (1 - 0.5 * same.uniform());
  int rounds = 0;
  for (; h.count("probed") == 0; ++rounds)
    h.round(2, 100ms);
  EXPECT_EQ(rounds, static_cast<int>(due / 2) + 1);
}

// -- signs --------------------------------------------------------------------

outcome answer(answer_class kind) {
  outcome o;
  o.ok = kind == answer_class::ok;
  o.kind = kind;
  o.from_worker = true;
  o.code = 1;
  o.category = category_hash("app");
  return o;
}

struct sign_row {
  outcome result;
  const char* counted;
};

TEST(adaptive_limit_signs, are_those_of_the_worker) {
  auto neutral = outcome::without_verdict();
  const sign_row rows[] = {
    {outcome::success(), "sampled"},
    {answer(answer_class::fail), "sampled"},
    {answer(answer_class::conflict), "sampled"},
    {answer(answer_class::retry), "dropped"},
    {answer(answer_class::retry_after), "dropped"},
    {answer(answer_class::shed), "dropped"},
    {answer(answer_class::unknown), "dropped"},
    {outcome::failure(errc::deadline_exceeded, true), "dropped"},
    {outcome::failure(errc::worker_down, true), "dropped"},
    {outcome::failure(errc::batch_failed, true), "dropped"},
    {outcome::failure(errc::injected, true), "dropped"},
    {outcome::failure(errc::deadline_exceeded, false), "ignored"},
    {outcome::failure(errc::worker_down, false), "ignored"},
    {outcome::failure(errc::queue_full, false), "ignored"},
    {outcome::failure(errc::wait_timeout, false), "ignored"},
    {outcome::failure(errc::rate_limited, false), "ignored"},
    {outcome::failure(errc::breaker_open, false), "ignored"},
    {outcome::failure(errc::throttled, false), "ignored"},
    {outcome::failure(errc::shed, false), "ignored"},
    {outcome::failure(errc::feature_off, false), "ignored"},
    {outcome::failure(errc::cancelled, true), "ignored"},
    {neutral, "ignored"},
  };
  for (const auto& x : rows) {
    adaptive_limit_rig h{exact(limit_algorithm::aimd)};
    h.finish(h.arrive(), x.result);
    EXPECT_EQ(h.count(x.counted), 1)
      << x.counted << " " << static_cast<int>(x.result.code);
    EXPECT_EQ(h.count("sampled") + h.count("dropped") + h.count("ignored"), 1);
  }
}

TEST(adaptive_limit_signs, change_nothing_if_they_are_ignored) {
  adaptive_limit_rig h{exact(limit_algorithm::aimd)};
  for (int i = 0; i < 100; ++i) {
    for (auto id : h.arrive_together(20))
      h.fail(id, errc::breaker_open, false);
    h.advance(1s);
  }
  EXPECT_EQ(h.limit(), 20);
  EXPECT_EQ(h.count("ignored"), 2'000);
  EXPECT_EQ(h.count("latency_us"), 0);
}

TEST(adaptive_limit_signs, are_seen_in_calls_that_are_cut_off) {
  adaptive_limit_rig h{exact(limit_algorithm::aimd)};
  auto ids = h.arrive_together(3);
  h.abandon(ids[0], errc::deadline_exceeded);
  h.abandon(ids[1], errc::cancelled);
  h.advance(1ms);
  h.abandon(ids[2], errc::deadline_exceeded);
  EXPECT_EQ(h.count("dropped"), 2);
  EXPECT_EQ(h.count("ignored"), 1);
  EXPECT_EQ(h.count("abandoned"), 3);
  EXPECT_EQ(h.limit(), 18);
}

TEST(adaptive_limit_signs, can_be_listed) {
  auto c = exact(limit_algorithm::aimd);
  c.classify.allow = {"app:1", "cancelled"};
  c.classify.deny = {"worker_down"};
  adaptive_limit_rig h{c};
  h.finish(h.arrive(), answer(answer_class::unknown));
  EXPECT_EQ(h.count("dropped"), 1);
  h.fail(h.arrive(), errc::worker_down);
  h.fail(h.arrive(), errc::deadline_exceeded);
  h.fail(h.arrive(), errc::cancelled);
  EXPECT_EQ(h.count("ignored"), 3);
}

TEST(adaptive_limit_signs, can_be_judged_by_a_function) {
  auto c = exact(limit_algorithm::aimd);
  auto next = verdict::success;
  c.classify.by_value = [&](const outcome&) { return next; };
  adaptive_limit_rig h{c};
  h.fail(h.arrive());
  EXPECT_EQ(h.count("sampled"), 1);
  for (auto v : {verdict::failure, verdict::transient}) {
    next = v;
    h.finish(h.arrive());
  }
  EXPECT_EQ(h.count("dropped"), 2);
  for (auto v : {verdict::neutral, verdict::refused}) {
    next = v;
    h.finish(h.arrive(), answer(answer_class::shed));
  }
  EXPECT_EQ(h.count("ignored"), 2);
}

} // namespace
} // namespace caisson::test::adapting
