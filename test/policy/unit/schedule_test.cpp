#include <caisson/base/random.hpp>
#include <caisson/policy/schedule.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace caisson {
namespace {

using namespace std::chrono_literals;
using durations = std::vector<duration>;

// At most `n` delays from the start of `s`.
durations first(const schedule& s, std::size_t n, std::uint64_t seed = 1) {
  random_source random{seed};
  schedule::cursor at;
  durations out;
  while (out.size() < n)
    if (auto d = s.next(at, random))
      out.push_back(*d);
    else
      break;
  return out;
}

TEST(schedule, may_be_written_as_a_duration) {
  struct config {
    schedule open = {};
    schedule wait = schedule::exponential(1s);
  };
  config c{.open = 10s, .wait = 5ms};
  EXPECT_EQ(c.open, schedule::constant(10s));
  EXPECT_EQ(c.wait, schedule::constant(5ms));
  c.wait = 1min;
  EXPECT_EQ(c.wait, schedule::constant(1min));
  c.wait = {};
  EXPECT_EQ(c.wait, schedule{});
  // What would be rounded is no duration.
  using in_parts = std::chrono::duration<double>;
  static_assert(!std::is_convertible_v<in_parts, schedule>);
  static_assert(!std::is_convertible_v<int, schedule>);
}

// The delay with number `index` of a schedule with one segment.
std::optional<duration> delay_at(const schedule& s, std::uint32_t index) {
  random_source random{1};
  schedule::cursor at{.previous = unlimited, .index = index};
  return s.next(at, random);
}

constexpr auto last_index = std::numeric_limits<std::uint32_t>::max();

// -- kinds --------------------------------------------------------------------

TEST(schedule, an_empty_one_has_no_delays) {
  EXPECT_TRUE(schedule{}.empty());
  EXPECT_EQ(first(schedule{}, 3), durations{});
}

TEST(schedule, constant_repeats_base) {
  EXPECT_EQ(first(schedule::constant(7ms), 3), (durations{7ms, 7ms, 7ms}));
  EXPECT_EQ(first(schedule::constant(0s), 2), (durations{0s, 0s}));
}

TEST(schedule, linear_adds_step) {
  EXPECT_EQ(first(schedule::linear(10ms, 5ms), 3),
            (durations{10ms, 15ms, 20ms}));
}

TEST(schedule, exponential_multiplies_by_factor) {
  EXPECT_EQ(first(schedule::exponential(10ms), 4),
            (durations{10ms, 20ms, 40ms, 80ms}));
  EXPECT_EQ(first(schedule::exponential(10ms, 1.5), 3),
            (durations{10ms, 15ms, 22500us}));
  EXPECT_EQ(first(schedule::exponential(10ms, 1), 3),
            (durations{10ms, 10ms, 10ms}));
}

TEST(schedule, fibonacci_adds_the_last_two) {
  EXPECT_EQ(first(schedule::fibonacci(1ms), 7),
            (durations{1ms, 1ms, 2ms, 3ms, 5ms, 8ms, 13ms}));
}

TEST(schedule, decorrelated_begins_with_base) {
  auto s = schedule::decorrelated(10ms, 1s);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    auto ds = first(s, 20, seed);
    EXPECT_EQ(ds[0], 10ms);
    for (std::size_t i = 1; i < ds.size(); ++i) {
      EXPECT_GE(ds[i], 10ms);
      EXPECT_LE(ds[i], std::min<duration>(1s, 3 * ds[i - 1]));
    }
  }
}

TEST(schedule, decorrelated_grows_with_the_delay_before) {
  auto longest = 0ns;
  for (auto d : first(schedule::decorrelated(10ms, 1s), 200))
    longest = std::max(longest, d);
  // From base alone it could not get beyond 30 ms.
  EXPECT_EQ(longest, 1s);
}

TEST(schedule, decorrelated_starts_anew_in_each_segment) {
  auto part = schedule::decorrelated(10ms, 1s).take(5);
  auto ds = first(part.then(part), 20);
  ASSERT_EQ(ds.size(), 10u);
  EXPECT_EQ(ds[5], 10ms);
}

// Remembers how often it was asked.
schedule growing() {
  return schedule::custom([asked = 0](std::uint32_t) mutable {
    return std::optional{duration{++asked}};
  });
}

duration next_delay(const schedule& s) {
  random_source random;
  schedule::cursor at;
  return s.next(at, random).value();
}

TEST(schedule, copies_share_a_function_unless_they_are_detached) {
  auto s = schedule::constant(1h).take(0).then(growing());
  auto copy = s;
  auto own = s.detached();
  EXPECT_EQ(next_delay(s), duration{1});
  EXPECT_EQ(next_delay(copy), duration{2});
  EXPECT_EQ(next_delay(own), duration{1});
  EXPECT_EQ(next_delay(own.detached()), duration{2});
  EXPECT_EQ(next_delay(own), duration{2});
  EXPECT_EQ(next_delay(s), duration{3});
}

TEST(schedule, knows_a_function_again_that_was_detached) {
  auto s = growing();
  EXPECT_EQ(s, s.detached());
  EXPECT_EQ(s.detached(), s.detached().detached());
  EXPECT_NE(s, growing());
  EXPECT_NE(s, s.detached().take(3));
}

TEST(schedule, keeps_the_functions_of_one_that_is_set_again) {
  auto s = growing();
  auto present = s.detached();
  next_delay(present);
  auto next = s;
  EXPECT_TRUE(take_over_schedule(next, present));
  EXPECT_EQ(next_delay(next), duration{2});
  next = s.take(7);
  EXPECT_FALSE(take_over_schedule(next, present));
  EXPECT_EQ(next_delay(next), duration{1});
  EXPECT_EQ(next_delay(s), duration{1});
}

TEST(schedule, custom_asks_its_function_until_it_ends) {
  auto s = schedule::custom([](std::uint32_t n) -> std::optional<duration> {
    if (n == 3)
      return std::nullopt;
    return (n + 1) * 10ms;
  });
  EXPECT_EQ(first(s, 9), (durations{10ms, 20ms, 30ms}));
  EXPECT_EQ(first(s.limit(15ms), 9), (durations{10ms, 15ms, 15ms}));
}

TEST(schedule, a_negative_delay_of_a_function_counts_as_zero) {
  auto s = schedule::custom([](std::uint32_t) { return duration{-5}; });
  EXPECT_EQ(first(s, 2), (durations{0s, 0s}));
}

TEST(schedule, a_segment_without_its_function_has_no_delays) {
  EXPECT_EQ(first(schedule{{{.kind = schedule::shape::custom}}}, 2),
            durations{});
  EXPECT_EQ(first(schedule::custom({}), 2), durations{});
}

TEST(schedule, list_has_its_delays_once) {
  auto s = schedule::list({10ms, 0s, 1s});
  EXPECT_EQ(first(s, 5), (durations{10ms, 0s, 1s}));
  EXPECT_EQ(first(s.take(2), 5), (durations{10ms, 0s}));
  EXPECT_EQ(first(s.limit(500ms), 5), (durations{10ms, 0s, 500ms}));
  EXPECT_EQ(first(s.until(10ms), 5), (durations{10ms, 0s}));
  EXPECT_EQ(first(s.then(schedule::constant(7ms)), 5),
            (durations{10ms, 0s, 1s, 7ms, 7ms}));
  EXPECT_EQ(first(schedule::list({}), 5), durations{});
  EXPECT_EQ(delay_at(s, last_index), std::nullopt);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto ds = first(s.jittered(jitter::equal), 5, seed);
    EXPECT_GE(ds.at(2), 500ms);
    EXPECT_LT(ds.at(2), 1s);
    EXPECT_EQ(ds.size(), 3u);
  }
}

// -- large numbers ------------------------------------------------------------

TEST(schedule, never_overflows_at_any_index) {
  const schedule endless[] = {
    schedule::linear(1ns, unlimited),
    schedule::exponential(1ns),
    schedule::exponential(unlimited, 1'000'000),
    schedule::fibonacci(1ns),
    schedule::fibonacci(unlimited),
    schedule::linear(unlimited, 1ns),
  };
  for (const auto& s : endless) {
    EXPECT_EQ(delay_at(s, last_index), unlimited) << to_text(s);
    EXPECT_EQ(delay_at(s.limit(1h), last_index), 1h) << to_text(s);
  }
  EXPECT_EQ(delay_at(schedule::linear(1ns, 1ns), last_index),
            duration{std::int64_t{1} << 32});
  EXPECT_EQ(delay_at(schedule::exponential(0ns), last_index), 0s);
  EXPECT_EQ(delay_at(schedule::fibonacci(0ns), last_index), 0s);
  EXPECT_EQ(delay_at(schedule::exponential(5ns, 1), last_index), 5ns);
}

TEST(schedule, is_exact_up_to_the_largest_value) {
  EXPECT_EQ(delay_at(schedule::exponential(1ns), 62),
            duration{std::int64_t{1} << 62});
  EXPECT_EQ(delay_at(schedule::exponential(1ns), 63), unlimited);
  EXPECT_EQ(delay_at(schedule::fibonacci(1ns), 91),
            duration{7540113804746346429});
  EXPECT_EQ(delay_at(schedule::fibonacci(1ns), 92), unlimited);
}

TEST(schedule, the_last_index_is_not_left) {
  auto s = schedule::constant(1s);
  random_source random{1};
  schedule::cursor at{.index = last_index};
  EXPECT_EQ(s.next(at, random), 1s);
  EXPECT_EQ(at.index, last_index);
  EXPECT_EQ(s.next(at, random), 1s);
}

TEST(schedule, the_cursor_fits_into_a_calls_notes) {
  static_assert(sizeof(schedule::cursor) <= 32);
  static_assert(std::is_trivially_copyable_v<schedule::cursor>);
}

TEST(schedule, a_cursor_of_another_schedule_does_no_harm) {
  random_source random{1};
  schedule::cursor at{.index = 3, .segment = 7};
  EXPECT_EQ(schedule::constant(1s).next(at, random), std::nullopt);
}

// -- limits -------------------------------------------------------------------

TEST(schedule, no_delay_is_longer_than_max) {
  EXPECT_EQ(first(schedule::exponential(10ms).limit(25ms), 4),
            (durations{10ms, 20ms, 25ms, 25ms}));
}

TEST(schedule, take_ends_after_so_many_delays) {
  auto s = schedule::constant(1s);
  EXPECT_EQ(first(s.take(1), 9).size(), 1u);
  EXPECT_EQ(first(s.take(3), 9).size(), 3u);
  EXPECT_EQ(s.take(0), schedule{});
  EXPECT_EQ(s.then(s).take(0), s);
  EXPECT_EQ(schedule{}.take(3), schedule{});
}

TEST(schedule, until_admits_a_sum_that_is_equal) {
  auto s = schedule::constant(10ms);
  EXPECT_EQ(first(s.until(30ms), 9).size(), 3u);
  EXPECT_EQ(first(s.until(30ms - 1ns), 9).size(), 2u);
  EXPECT_EQ(first(s.until(9ms), 9).size(), 0u);
  EXPECT_EQ(first(schedule::constant(0s).until(0s), 9).size(), 9u);
  EXPECT_EQ(first(schedule::constant(unlimited).until(unlimited), 9).size(),
            9u);
}

TEST(schedule, segments_follow_each_other_and_start_from_zero) {
  auto s = schedule::constant(1ms)
             .take(2)
             .then(schedule::linear(10ms, 1ms).until(21ms))
             .then(schedule::fibonacci(100ms).take(3));
  EXPECT_EQ(first(s, 99),
            (durations{1ms, 1ms, 10ms, 11ms, 100ms, 100ms, 200ms}));
}

TEST(schedule, stays_exhausted) {
  auto s = schedule::constant(1s).take(1);
  random_source random{1};
  schedule::cursor at;
  EXPECT_TRUE(s.next(at, random));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(s.next(at, random), std::nullopt);
}

TEST(schedule, builders_change_the_last_segment_only) {
  auto head = schedule::constant(1s).take(1);
  auto s = head.then(schedule::constant(2s))
             .limit(9s)
             .jittered(jitter::factor, 0.5)
             .take(3)
             .until(8s);
  ASSERT_EQ(s.segments().size(), 2u);
  EXPECT_EQ(s.segments()[0], head.segments()[0]);
  const auto& tail = s.segments()[1];
  EXPECT_EQ(tail.max, 9s);
  EXPECT_EQ(tail.spread, jitter::factor);
  EXPECT_EQ(tail.spread_factor, 0.5);
  EXPECT_EQ(tail.take, 3u);
  EXPECT_EQ(tail.until, 8s);
  EXPECT_EQ(schedule{}.limit(1s).jittered(jitter::full).until(1s), schedule{});
}

// -- jitter -------------------------------------------------------------------

struct bounds {
  duration lo; // seen at least once within 10 ns
  duration hi; // never reached, but seen within 10 ns
};

bounds seen(const schedule& s) {
  bounds out{unlimited, duration::zero()};
  for (auto d : first(s, 2000)) {
    out.lo = std::min(out.lo, d);
    out.hi = std::max(out.hi, d);
  }
  return out;
}

TEST(jitter, fills_its_interval_and_leaves_out_the_upper_end) {
  auto s = schedule::constant(100ns);
  const std::pair<schedule, bounds> cases[] = {
    {s, {100ns, 101ns}},
    {s.jittered(jitter::full), {0ns, 100ns}},
    {s.jittered(jitter::equal), {50ns, 100ns}},
    {s.jittered(jitter::factor), {75ns, 125ns}},
    {s.jittered(jitter::factor, 1), {0ns, 200ns}},
    {s.jittered(jitter::factor, 0), {100ns, 101ns}},
    {s.jittered(jitter::factor).limit(110ns), {75ns, 110ns}},
  };
  for (const auto& [x, expected] : cases) {
    auto b = seen(x);
    EXPECT_EQ(b.lo, expected.lo) << to_text(x);
    EXPECT_EQ(b.hi, expected.hi - 1ns) << to_text(x);
  }
}

TEST(jitter, of_a_delay_of_zero_or_one_is_zero) {
  for (auto kind : {jitter::full, jitter::equal, jitter::factor}) {
    EXPECT_EQ(first(schedule::constant(0s).jittered(kind), 2),
              (durations{0s, 0s}));
  }
  EXPECT_EQ(first(schedule::constant(1ns).jittered(jitter::full), 1),
            durations{0s});
}

TEST(jitter, does_not_compound) {
  // With full jitter the mean of the n-th delay is half of its plain value; if
  // jitter compounded it would be far less by the sixth.
  auto s = schedule::exponential(1000ns).jittered(jitter::full);
  duration sum{};
  for (std::uint64_t seed = 0; seed < 2000; ++seed)
    sum += first(s, 6, seed)[5];
  EXPECT_NEAR(static_cast<double>((sum / 2000).count()), 16000, 800);
}

TEST(jitter, is_the_same_for_the_same_seed) {
  auto s = schedule::exponential(1s).jittered(jitter::full);
  EXPECT_EQ(first(s, 20, 5), first(s, 20, 5));
  EXPECT_NE(first(s, 20, 5), first(s, 20, 6));
}

TEST(jitter, of_an_endless_delay_stays_in_range) {
  auto s = schedule::constant(unlimited);
  for (auto kind : {jitter::full, jitter::equal, jitter::factor})
    for (auto d : first(s.jittered(kind, 1), 200))
      EXPECT_GE(d, 0s);
}

// -- as text ------------------------------------------------------------------

TEST(schedule_text, is_one_readable_line) {
  EXPECT_EQ(to_text(schedule{}), "none");
  EXPECT_EQ(to_text(schedule::constant(10ms)), "constant 10ms");
  EXPECT_EQ(to_text(schedule::linear(10ms, 5ms)), "linear 10ms +5ms");
  EXPECT_EQ(
    to_text(schedule::exponential(50ms).limit(2s).jittered(jitter::full)),
    "exponential 50ms ×2 up to 2s, full jitter");
  EXPECT_EQ(to_text(schedule::exponential(50ms, 1.5).jittered(jitter::equal)),
            "exponential 50ms ×1.5, equal jitter");
  EXPECT_EQ(to_text(schedule::fibonacci(1s).jittered(jitter::factor, 0.1)),
            "fibonacci 1s, jitter ±0.1 of the delay");
  EXPECT_EQ(to_text(schedule::decorrelated(10ms, 1s)),
            "decorrelated 10ms ×3 up to 1s");
  EXPECT_EQ(to_text(schedule::list({10ms, 1s}).jittered(jitter::full)),
            "list 10ms, 1s, full jitter");
  EXPECT_EQ(to_text(schedule::list(std::vector<duration>(17, 1s))).substr(61),
            "1s, 1s … (17 delays)");
  EXPECT_EQ(to_text(schedule::custom({}).take(2)), "custom function, 2 times");
  EXPECT_EQ(to_text(schedule::constant(1s).take(1).then(
              schedule::constant(2s).until(10s))),
            "constant 1s, once; then constant 2s, 10s in total");
}

TEST(schedule, knows_whether_it_is_random) {
  EXPECT_FALSE(schedule{}.random());
  EXPECT_FALSE(schedule::exponential(10ms).random());
  EXPECT_TRUE(schedule::constant(10ms).jittered(jitter::equal).random());
  EXPECT_TRUE(schedule::decorrelated(10ms, 1s).random());
  EXPECT_TRUE(schedule::constant(10ms)
                .take(1)
                .jittered(jitter::full)
                .then(schedule::constant(1s))
                .random());
}

} // namespace
} // namespace caisson
