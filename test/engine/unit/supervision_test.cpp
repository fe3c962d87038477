#include <caisson/engine/supervision.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// A worker whose deaths and births the test dictates.
class patient {
public:
  explicit patient(supervision_config c) : guard(std::move(c)) {}

  // The worker dies `t` after the start. Returns the delay until its restart,
  // nothing if it is given up.
  std::optional<duration> dies(duration t) {
    auto at = guard.on_down(start + t, random);
    if (!at)
      return std::nullopt;
    return *at - (start + t);
  }

  void comes_up(duration t) { guard.on_up(start + t); }

  std::int64_t count(std::string_view name) const {
    std::vector<metric> ms;
    guard.list_metrics(ms);
    for (auto& m : ms)
      if (m.name == name)
        return m.value;
    return -1;
  }

  static constexpr time_point start = time_point{} + 1h;
  random_source random{1};
  supervision guard;
};

supervision_config restarting(std::uint32_t max_restarts, duration period,
                              schedule restart = schedule::constant(0ns)) {
  supervision_config c;
  c.restart = std::move(restart);
  c.max_restarts = max_restarts;
  c.period = period;
  return c;
}

// -- configuration ------------------------------------------------------------

TEST(supervision, refuses_settings_out_of_range) {
  EXPECT_THROW(supervision{restarting(1'001, 1s, schedule::constant(1s))},
               config_error);
  EXPECT_THROW(supervision{restarting(1, 1s, schedule::constant(-1ns))},
               config_error);
}

// -- restarts -----------------------------------------------------------------

TEST(supervision, restarts_by_the_default_schedule_and_gives_up_after_five) {
  patient p{supervision_config{}};
  duration t = 0ns;
  for (auto expected : {100ms, 200ms, 400ms, 800ms, 1600ms}) {
    auto delay = p.dies(t);
    ASSERT_TRUE(delay);
    EXPECT_EQ(*delay, expected);
    t += *delay;
    p.comes_up(t);
  }
  EXPECT_FALSE(p.dies(t));
  EXPECT_EQ(p.count("restarts"), 5);
  EXPECT_EQ(p.count("gave_up"), 1);
  EXPECT_EQ(p.count("gave_up_schedule"), 0);
}

TEST(supervision, counts_restarts_as_erlang_does) {
  struct row {
    std::uint32_t max_restarts;
    duration period;
    // Deaths in order; the last one is the one in question.
    std::vector<duration> deaths;
    bool restarted;
  };
  for (auto& x : std::vector<row>{
         {0, 1s, {0s}, false},
         {1, 1s, {0s}, true},
         {1, 1s, {0s, 0s}, false},
         {1, 1s, {0s, 1s}, false}, // Exactly a period ago still counts.
         {1, 1s, {0s, 1s + 1ns}, true},
         {2, 5s, {0s, 1s, 5s}, false},
         {2, 5s, {0s, 1s, 5s + 1ns}, true},
         {2, 5s, {0s, 4s, 6s, 8s}, false},
         {2, 5s, {0s, 3s, 6s, 9s}, true}, // Never three within 5 s.
         {1000, 365 * 24h, std::vector<duration>(1000, 0s), true},
         {1000, 365 * 24h, std::vector<duration>(1001, 0s), false}}) {
    patient p{restarting(x.max_restarts, x.period)};
    auto last = x.deaths.back();
    x.deaths.pop_back();
    for (auto t : x.deaths)
      EXPECT_TRUE(p.dies(t));
    EXPECT_EQ(p.dies(last).has_value(), x.restarted)
      << x.max_restarts << " in " << to_text(x.period) << ", last at "
      << to_text(last);
  }
}

TEST(supervision, a_death_that_was_not_followed_by_a_restart_does_not_count) {
  patient p{restarting(1, 1s)};
  EXPECT_TRUE(p.dies(0s));
  EXPECT_FALSE(p.dies(1s));
  EXPECT_TRUE(p.dies(1s + 1ns));
}

TEST(supervision, gives_up_when_the_schedule_is_exhausted) {
  patient p{restarting(1000, 1s, schedule::constant(10ms).take(2))};
  EXPECT_EQ(p.dies(0s), 10ms);
  EXPECT_EQ(p.dies(1min), 10ms);
  EXPECT_FALSE(p.dies(2min));
  EXPECT_EQ(p.count("gave_up_schedule"), 1);
  EXPECT_EQ(p.count("gave_up"), 0);
}

TEST(supervision, an_empty_schedule_or_one_without_end_means_no_restart) {
  for (auto& s : {schedule{}, schedule::constant(unlimited),
                  schedule::constant(unlimited - 1ns)}) {
    patient p{restarting(5, 1s, s)};
    EXPECT_FALSE(p.dies(1s));
    EXPECT_EQ(p.count("gave_up_schedule"), 1);
  }
}

TEST(supervision, starts_the_schedule_over_when_the_worker_was_stable) {
  auto c = restarting(1000, 1us, schedule::exponential(1s));
  c.stable_after = 10s;
  patient p{c};
  EXPECT_EQ(p.dies(0s), 1s);
  p.comes_up(1s);
  EXPECT_EQ(p.dies(11s - 1ns), 2s);
  p.comes_up(20s);
  EXPECT_EQ(p.count("steadied"), 0);
  EXPECT_EQ(p.dies(30s), 1s); // At exactly `stable_after`.
  EXPECT_EQ(p.count("steadied"), 1);
  // Not started meanwhile: time spent dead does not make it stable.
  EXPECT_EQ(p.dies(1h), 2s);
  EXPECT_EQ(p.count("steadied"), 1);
}

TEST(supervision, takes_its_edges_of_stable_after_at_their_word) {
  auto c = restarting(1000, 1us, schedule::exponential(1s));
  c.stable_after = 0ns;
  patient at_once{c};
  c.stable_after = unlimited;
  patient not_ever{c};
  for (int i = 0; i < 5; ++i) {
    auto t = i * 24h;
    at_once.comes_up(t);
    not_ever.comes_up(t);
    EXPECT_EQ(at_once.dies(t), 1s);
    EXPECT_EQ(not_ever.dies(t + 1h), 1s * (1 << i));
  }
}

TEST(supervision, draws_jitter_from_the_source_it_is_given) {
  auto c = restarting(1000, 1us, schedule::constant(1s).jittered(jitter::full));
  patient a{c};
  patient b{c};
  bool differ = false;
  for (int i = 0; i < 20; ++i) {
    auto d = a.dies(1s * i);
    EXPECT_EQ(d, b.dies(1s * i));
    EXPECT_LT(*d, 1s);
    differ = differ || d != 0ns;
  }
  EXPECT_TRUE(differ);
}

TEST(supervision, grants_no_more_when_the_clock_stands_or_steps_back) {
  auto c = restarting(2, 1s, schedule::exponential(1s));
  patient p{c};
  EXPECT_EQ(p.dies(10s), 1s);
  p.comes_up(20s);
  EXPECT_EQ(p.dies(5s), 2s); // Up for no time at all.
  EXPECT_FALSE(p.dies(0s));
  EXPECT_FALSE(p.dies(6s));
  EXPECT_TRUE(p.dies(11s + 1ns));
}

// -- operation ----------------------------------------------------------------

TEST(supervision, reconfigured_it_remembers_restarts_and_its_place) {
  auto c = restarting(10, 1min, schedule::exponential(1s));
  patient p{c};
  p.dies(0s);
  p.dies(1s);
  c.stable_after = 1min;
  p.guard.reconfigure(c);
  EXPECT_EQ(p.guard.config().stable_after, 1min);
  EXPECT_EQ(p.dies(2s), 4s);
  c.max_restarts = 3;
  p.guard.reconfigure(c);
  EXPECT_FALSE(p.dies(3s));
  c.max_restarts = 4;
  p.guard.reconfigure(c);
  EXPECT_EQ(p.dies(4s), 8s);
}

TEST(supervision, begins_a_new_schedule_at_its_start) {
  auto c = restarting(10, 1min, schedule::exponential(1s));
  patient p{c};
  p.dies(0s);
  p.dies(0s);
  c.restart = schedule::exponential(10ms);
  p.guard.reconfigure(c);
  EXPECT_EQ(p.dies(0s), 10ms);
  EXPECT_EQ(p.dies(0s), 20ms);
}

TEST(supervision, reset_forgets_the_history) {
  patient p{restarting(2, 1min, schedule::exponential(1s))};
  p.dies(0s);
  p.dies(0s);
  EXPECT_FALSE(p.dies(0s));
  p.guard.reset();
  for (auto name : {"restarts", "gave_up", "gave_up_schedule", "steadied"})
    EXPECT_EQ(p.count(name), 0) << name;
  EXPECT_EQ(p.dies(0s), 1s);
  EXPECT_EQ(p.dies(0s), 2s);
  EXPECT_FALSE(p.dies(0s));
}

// -- lifetimes ----------------------------------------------------------------

TEST(supervision, an_attempt_to_replace_a_worker_is_no_restart) {
  patient p{restarting(1, 1min, schedule::exponential(10ms).limit(20ms))};
  EXPECT_EQ(p.guard.retry_delay(p.random), 10ms);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(p.guard.retry_delay(p.random), 20ms);
  EXPECT_EQ(p.count("restarts"), 0);
  EXPECT_TRUE(p.dies(0s));
  // When the schedule is exhausted, or has no end, the last delay stays.
  patient q{restarting(5, 1min, schedule::list({5ms, 7ms}))};
  for (auto delay : {5ms, 7ms, 7ms, 7ms})
    EXPECT_EQ(q.guard.retry_delay(q.random), delay);
}

TEST(supervision, that_starts_over_grants_restarts_again) {
  patient p{restarting(1, 1min)};
  EXPECT_TRUE(p.dies(0s));
  EXPECT_FALSE(p.dies(1s));
  p.guard.start_over();
  EXPECT_TRUE(p.dies(2s));
  EXPECT_EQ(p.count("restarts"), 2);
  EXPECT_EQ(p.count("gave_up"), 1);
}

TEST(supervision, restarts_after_the_ends_that_the_lifetime_names) {
  auto restarts = [](worker_lifetime x) {
    supervision_config c;
    c.lifetime = x;
    supervision s{c};
    return std::array{s.restarts_after(actor_end::normal),
                      s.restarts_after(actor_end::abnormal),
                      s.restarts_after(actor_end::unknown)};
  };
  EXPECT_EQ(restarts(worker_lifetime::permanent),
            (std::array{true, true, true}));
  EXPECT_EQ(restarts(worker_lifetime::transient),
            (std::array{false, true, true}));
  EXPECT_EQ(restarts(worker_lifetime::temporary),
            (std::array{false, false, false}));
}

TEST(supervision, a_worker_that_has_ended_is_not_steady) {
  patient p{restarting(5, 1min, schedule::exponential(1s))};
  p.comes_up(0s);
  p.guard.on_ended();
  EXPECT_EQ(p.count("ended"), 1);
  EXPECT_EQ(p.dies(1h), duration{1s});
  EXPECT_EQ(p.count("steadied"), 0);
}

TEST(supervision, refuses_a_shutdown_before_the_end) {
  supervision_config c;
  c.shutdown = -1ns;
  EXPECT_THROW(supervision{c}, config_error);
  for (auto good : {duration::zero(), duration{1ns}, unlimited}) {
    c.shutdown = good;
    EXPECT_EQ(supervision{c}.config().shutdown, good);
  }
}

} // namespace
} // namespace caisson::test
