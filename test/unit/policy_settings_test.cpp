// What each policy can be told: its fields with their types, ranges and
// defaults. That a range is kept is tested once, with the reader and with the
// checker; here is which one a field has.
#include <caisson/schedule_settings.hpp>
#include <caisson/stack.hpp>
#include <caisson/supervision.hpp>

#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

namespace caisson::test {
namespace {

TEST(policy_settings, of_a_deadline) {
  EXPECT_EQ(problems_of(deadline_config{}), problems{});
  EXPECT_EQ(fields_of(deadline_config{}),
            R"(
name | string | ""
  any text
mode | choice | enforce
  enforce, observe, off
timeout | duration | 1s
  1us to 365d
min_left | duration | 0s
  0s to 365d
share | number | 1
  0.001 to 1
least | duration | 1ms
  1us to 365d
reserve | duration | 0s
  0s to 365d
)");
}

TEST(policy_settings, of_a_semaphore) {
  EXPECT_EQ(problems_of(semaphore_config{}), problems{});
  EXPECT_EQ(fields_of(semaphore_config{}),
            R"(
name | string | ""
  any text
mode | choice | enforce
  enforce, observe, off
permits | integer | 10
  1 to 1000000
max_waiters | integer | 0
  0 to 1000000
max_wait | duration | unlimited
  0s to unlimited
order | choice | fifo
  fifo, lifo
)");
}

TEST(policy_settings, of_a_limiter) {
  EXPECT_EQ(problems_of(limiter_config{}), problems{});
  EXPECT_EQ(fields_of(limiter_config{}),
            R"(
name | string | ""
  any text
mode | choice | enforce
  enforce, observe, off
rate | integer | 100
  1 to 1000000000
per | duration | 1s
  1us to 365d
burst | integer | 10
  1 to 1000000
max_wait | duration | 0s
  0s to unlimited
max_waiters | integer | 1000
  0 to 1000000
drain_on_rejection | boolean | true
  true, false
)");
}

TEST(policy_settings, of_a_breaker) {
  EXPECT_EQ(problems_of(breaker_config{}), problems{});
  EXPECT_EQ(fields_of(breaker_config{}),
            R"(
name | string | ""
  any text
mode | choice | enforce
  enforce, observe, off
trip | choice or list | consecutive
  consecutive, without_gap, rate_by_count, rate_by_time, score, )"
            R"(or a list of these
trip_if | choice | any
  any, all
threshold | integer | 5
  1 to 1000000
quiet_period | duration | 10s
  1ms to unlimited
failure_rate | number | 0.5
  0.001 to 1
slow_call | duration | unlimited
  1ms to unlimited
slow_rate | number | 0.5
  0.001 to 1
window_calls | integer | 100
  1 to 1000000
window_time | duration | 10s
  1ms to 1d
window_buckets | integer | 10
  1 to 1000
minimum_calls | integer | 20
  1 to 1000000
score | table | { limit = 1.2, load_weight = 0.4, failure_weight = 0.35, )"
            R"(latency_weight = 0.25, failure_rate = 0.05, percentile = 0.99, )"
            R"(latency = 800ms, window = 10s, baseline_window = 5min, )"
            R"(baseline_step = 30s }
  a table
open | schedule | exponential 5s ×2 up to 1min, equal jitter
  a duration, a table or a list of durations or tables
eager_half_open | boolean | false
  true, false
probes | integer | 1
  1 to 1000
successes_to_close | integer | 0
  0 to 1000
probe_timeout | duration | 10s
  1ms to 1h
half_open_retry_after | duration | 50ms
  1ms to 1h
half_open_max | duration | 1min
  1ms to unlimited
after_half_open_max | choice | open
  open, closed
ramp | duration | 0s
  0s to 1h
ramp_from | number | 0.1
  0 to 1
count_attempt_timeouts | boolean | true
  true, false
initial | choice | closed
  closed, half_open
count_only | list | []
  a list of strings
ignore | list | []
  a list of strings
)");
}

TEST(policy_settings, of_a_retrier) {
  EXPECT_EQ(problems_of(retrier_config{}), problems{});
  EXPECT_EQ(fields_of(retrier_config{}),
            R"(
name | string | ""
  any text
mode | choice | enforce
  enforce, observe, off
max_attempts | integer (attempts) | 3
  0 to 1000
backoff | schedule | exponential 50ms ×2 up to 2s, full jitter
  a duration, a table or a list of durations or tables
retry_after_cap | duration | unlimited
  0s to unlimited
idempotent | boolean | false
  true, false
idempotency_keys | boolean | false
  true, false
heed_breakers | boolean | true
  true, false
retry_on | list | []
  a list of strings
fail_on | list | []
  a list of strings
budget | boolean | true
  true, false
budget_ratio | number (retries) | 0.2
  0 to 1
budget_reserve | integer (retries per second) | 10
  0 to 1000000
budget_ttl | duration | 10s
  1s to 1min
budget_timeout_cost | integer (retries) | 1
  1 to 100
budget_rejection_cost | integer (retries) | 1
  0 to 100
budget_name | string | ""
  any text
unsafe | boolean | false
  true, false
verify_timeout | duration | 1s
  1ms to 1h
verify_attempts | integer (looks) | 3
  1 to 100
verify_pause | duration | 100ms
  1ms to 1h
alarm_first_try | number | 0.8
  0 to 1
alarm_window | duration | 10s
  1s to 1h
alarm_minimum_calls | integer (calls) | 100
  1 to 1000000
)");
}

TEST(policy_settings, of_a_batcher) {
  EXPECT_EQ(problems_of(batcher_config{}), problems{});
  EXPECT_EQ(fields_of(batcher_config{}),
            R"(
name | string | ""
  any text
mode | choice | enforce
  enforce, observe, off
max_items | integer (items) | 100
  1 to 100000
max_delay | duration | 10ms
  0s to 1h
max_outstanding | integer (batches) | 4
  1 to 1000
max_waiting | integer (items) | 10000
  1 to 1000000
deadline_margin | duration | 5ms
  0s to 1h
)");
}

TEST(policy_settings, of_a_fallback) {
  EXPECT_EQ(problems_of(fallback_config{}), problems{});
  EXPECT_EQ(fields_of(fallback_config{}),
            R"(
name | string | ""
  any text
mode | choice | enforce
  enforce, observe, off
max_concurrent | integer (calls) | 10
  0 to 1000000
cache_share | number | 0.15
  0.001 to 1
fall_back_on | list | []
  a list of strings
ignore | list | []
  a list of strings
)");
}

TEST(policy_settings, of_a_gate) {
  EXPECT_EQ(problems_of(gate_config{}), problems{});
  EXPECT_EQ(fields_of(gate_config{}),
            R"(
name | string | "gate"
  any text
default_deadline | duration | 30s
  1ms to unlimited
max_calls | integer | 1000000
  1 to 16000000
seed | integer | 0
  at least 0
max_lease | duration | unlimited
  1ms to unlimited
)");
}

TEST(policy_settings, of_a_supervision) {
  EXPECT_EQ(problems_of(supervision_config{}), problems{});
  EXPECT_EQ(fields_of(supervision_config{}),
            R"(
restart | schedule | exponential 100ms ×2 up to 10s
  a duration, a table or a list of durations or tables
max_restarts | integer (restarts) | 5
  0 to 1000
period | duration | 30s
  1us to 365d
stable_after | duration | 10s
  0s to unlimited
max_waiting | integer (calls) | 1000
  0 to 1000000
on_give_up | choice | quit
  quit, refuse
)");
}

TEST(policy_settings, of_a_schedules_segment) {
  EXPECT_EQ(fields_of(schedule::segment{}),
            R"(
kind | choice | constant
  constant, linear, exponential, fibonacci, decorrelated, list
base | duration | 0s
  0s to unlimited
step | duration | 0s
  0s to unlimited
factor | number | 2
  1 to 1000000
delays | list | []
  a list of 1 to 1000 durations
max | duration | unlimited
  0s to unlimited
jitter | choice | none
  none, full, equal, factor
jitter_factor | number | 0.25
  0 to 1
take | integer | 0
  0 to 1000000
until | duration | unlimited
  0s to unlimited
)");
}

} // namespace
} // namespace caisson::test
