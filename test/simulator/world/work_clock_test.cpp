// Work whose speed changes while it is in progress.
#include <simulator/world/work_clock.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr time_point clock_start{1000s};
constexpr double standstill = std::numeric_limits<double>::infinity();

using ends_of_work = std::vector<std::pair<std::uint64_t, duration>>;

// Lets all that ends up to `t` end, and returns what ended, with its instant
// since the start.
template <class Clock>
ends_of_work ends_until(Clock& clock, duration t) {
  ends_of_work out;
  while (clock.next() <= clock_start + t) {
    auto at = clock.next();
    out.emplace_back(*clock.pop_due(at), at - clock_start);
  }
  return out;
}

ends_of_work all_ends(work_clock& clock) {
  return ends_until(clock, 1000h);
}

work_clock with_cores(std::uint32_t cores) {
  return {clock_start, cores};
}

TEST(work_clock, lets_work_take_its_time_if_nothing_slows_it_down) {
  auto x = with_cores(no_limit);
  EXPECT_EQ(x.next(), never);
  x.begin(clock_start, 1, 100ns);
  x.begin(clock_start + 30ns, 2, 50ns);
  x.begin(clock_start + 40ns, 3, 60ns);
  EXPECT_EQ(x.pop_due(clock_start + 79ns), std::nullopt);
  EXPECT_THAT(all_ends(x),
              ElementsAre(Pair(2, 80ns), Pair(1, 100ns), Pair(3, 100ns)));
  EXPECT_EQ(x.size(), 0u);
}

TEST(work_clock, shares_a_core_evenly) {
  auto x = with_cores(1);
  x.begin(clock_start, 1, 100ms);
  x.begin(clock_start + 50ms, 2, 100ms);
  EXPECT_EQ(x.used_cores(), 1u);
  EXPECT_THAT(all_ends(x), ElementsAre(Pair(1, 150ms), Pair(2, 200ms)));
  EXPECT_EQ(x.used_cores(), 0u);
}

// Up to 60 ms each has a core, then two thirds of one, then one again.
TEST(work_clock, shares_several_cores_evenly) {
  auto x = with_cores(2);
  x.begin(clock_start, 1, 100ms);
  x.begin(clock_start + 30ms, 2, 100ms);
  x.begin(clock_start + 60ms, 3, 100ms);
  EXPECT_EQ(x.used_cores(), 2u);
  EXPECT_THAT(all_ends(x),
              ElementsAre(Pair(1, 120ms), Pair(2, 150ms), Pair(3, 180ms)));
}

TEST(work_clock, stretches_what_is_in_progress) {
  auto x = with_cores(no_limit);
  x.begin(clock_start, 1, 100ms);
  x.set_stretch(clock_start + 30ms, 4);
  x.set_stretch(clock_start + 70ms, 1);
  EXPECT_THAT(all_ends(x), ElementsAre(Pair(1, 130ms)));
}

TEST(work_clock, goes_on_where_it_was_after_a_standstill) {
  auto x = with_cores(1);
  x.begin(clock_start, 1, 100ms);
  x.set_stretch(clock_start + 50ms, standstill);
  EXPECT_EQ(x.next(), never);
  x.begin(clock_start + 60ms, 2, 100ms);
  EXPECT_EQ(x.next(), never);
  x.set_stretch(clock_start + 350ms, 1);
  EXPECT_THAT(all_ends(x), ElementsAre(Pair(1, 450ms), Pair(2, 500ms)));
}

// It has nothing left to do when all stops, and still has not ended.
TEST(work_clock, stops_what_would_end_at_the_same_instant) {
  auto x = with_cores(no_limit);
  x.begin(clock_start, 1, 50ms);
  x.set_stretch(clock_start + 50ms, standstill);
  EXPECT_EQ(x.next(), never);
  EXPECT_EQ(x.pop_due(clock_start + 60ms), std::nullopt);
  x.set_stretch(clock_start + 80ms, 1);
  EXPECT_THAT(all_ends(x), ElementsAre(Pair(1, 80ms)));
}

TEST(work_clock, forgets_what_is_cancelled) {
  auto x = with_cores(1);
  auto first = x.begin(clock_start, 1, 100ms);
  auto second = x.begin(clock_start, 2, 100ms);
  EXPECT_TRUE(x.cancel(clock_start + 50ms, first));
  EXPECT_FALSE(x.cancel(clock_start + 50ms, first));
  EXPECT_FALSE(x.cancel(clock_start + 50ms, {}));
  EXPECT_THAT(all_ends(x), ElementsAre(Pair(2, 125ms)));
  EXPECT_FALSE(x.cancel(clock_start + 1s, second));
}

// The clock shows thirds of a nanosecond that do not add up to a whole.
TEST(work_clock, ends_equal_ends_in_the_order_in_which_they_began) {
  auto x = with_cores(1);
  for (std::uint64_t i = 1; i <= 3; ++i)
    x.begin(clock_start, i, 1000ns);
  for (auto t : {10ns, 11ns, 30ns, 31ns})
    x.set_stretch(clock_start + t, 1);
  // Each has done 11 ns, but the sum of the parts is a little less.
  x.begin(clock_start + 33ns, 4, 989ns);
  x.begin(clock_start + 33ns, 5, 989ns);
  auto ends = all_ends(x);
  ASSERT_EQ(ends.size(), 5u);
  for (std::uint64_t i = 1; i <= 5; ++i)
    EXPECT_THAT(ends[i - 1], Pair(i, 4978ns));
}

// Never idle, and each time the clock shows sevenths of a nanosecond.
TEST(work_clock, does_not_add_up_errors) {
  auto x = with_cores(1);
  for (std::uint64_t i = 0; i < 7; ++i)
    x.begin(clock_start, i, 100h);
  for (int i = 1; i <= 1'000'000; ++i)
    x.set_stretch(clock_start + i * 701us, 1);
  // All the time is shared by the seven, whoever looks at it.
  for (std::uint64_t i = 0; i < 7; ++i)
    EXPECT_EQ(x.pop_due(clock_start + 700h), i);
  EXPECT_EQ(x.size(), 0u);
}

TEST(work_clock, begins_anew_when_nothing_is_left) {
  auto x = with_cores(3);
  for (std::uint64_t i = 0; i < 7; ++i)
    x.begin(clock_start, i, 1ns);
  x.set_stretch(clock_start + 1ns, 1);
  (void)all_ends(x);
  x.begin(clock_start + 100h, 8, 99h);
  EXPECT_EQ(x.next(), clock_start + 199h);
}

TEST(work_clock, supports_the_extremes) {
  auto x = with_cores(1'000'000);
  x.begin(clock_start, 1, unlimited);
  EXPECT_EQ(x.next(), never);
  x.set_stretch(clock_start + 1s, 0);
  EXPECT_EQ(x.next(), clock_start + 1s);
  x.begin(clock_start + 2s, 2, 1ns);
  x.set_stretch(clock_start + 200h, 1e300);
  x.begin(clock_start + 200h, 3, unlimited);
  EXPECT_GE(x.next(), clock_start + 200h);
  x.set_stretch(clock_start + 201h, std::numeric_limits<double>::denorm_min());
  EXPECT_THAT(
    ends_until(x, 300h),
    UnorderedElementsAre(Pair(1, 201h), Pair(2, 201h), Pair(3, 201h)));
}

// -- against a naive model ----------------------------------------------------

// Knows what is left of each piece, and looks at all of them each time.
class reference_work {
public:
  using handle = std::uint64_t;

  explicit reference_work(std::uint32_t cores) : cores_(cores) {}

  handle begin(time_point now, std::uint64_t payload, duration length) {
    advance(now);
    left_[payload] = static_cast<long double>(length.count());
    return payload;
  }

  bool cancel(time_point now, handle h) {
    advance(now);
    return left_.erase(h) > 0;
  }

  void set_stretch(time_point now, double x) {
    advance(now);
    stretch_ = x;
  }

  [[nodiscard]] time_point next() const {
    auto first = first_of();
    if (first == left_.end() || std::isinf(stretch_))
      return never;
    auto takes = std::max(0.0L, first->second) * slowness();
    return at_ + duration{std::llround(takes)};
  }

  // How much longer the piece takes, if nothing changes.
  [[nodiscard]] long double left_of(time_point now, handle h) {
    advance(now);
    return left_.at(h) * slowness();
  }

private:
  using pieces = std::map<std::uint64_t, long double>;

  [[nodiscard]] pieces::const_iterator first_of() const {
    auto out = left_.begin();
    for (auto i = left_.begin(); i != left_.end(); ++i)
      if (i->second < out->second - 1e-6L)
        out = i;
    return out;
  }

  [[nodiscard]] long double slowness() const {
    auto n = static_cast<long double>(left_.size());
    return std::max(1.0L, n / cores_) * stretch_;
  }

  void advance(time_point now) {
    auto passed = static_cast<long double>((now - at_).count());
    at_ = now;
    auto slow = slowness();
    for (auto& [payload, left] : left_)
      left -= passed / slow;
  }

  std::uint32_t cores_;
  long double stretch_ = 1;
  time_point at_ = clock_start;
  pieces left_;
};

struct work_change {
  duration after;
  enum { begin, cancel, stretch } what;
  // Its length, which piece, or which stretch.
  std::uint64_t number;
};

rc::Gen<work_change> some_change() {
  using rc::gen::inRange;
  return rc::gen::mapcat(inRange(0, 6), [](int kind) {
    auto after = rc::gen::map(inRange<std::int64_t>(0, 3000),
                              [](auto n) { return duration{n}; });
    auto what = kind < 4    ? work_change::begin
                : kind == 4 ? work_change::cancel
                            : work_change::stretch;
    return rc::gen::construct<work_change>(after, rc::gen::just(what),
                                           inRange<std::uint64_t>(1, 9000));
  });
}

// A clock and its model. Both get the same ends, since the rounding of
// one shifts those that come after it.
class both_clocks {
public:
  explicit both_clocks(std::uint32_t cores)
    : fast_(clock_start, cores), slow_(cores) {}

  void make(const work_change& x) {
    constexpr double stretches[] = {1, 1, 2, 3, 10, 0.5, 0.1, 1.7, standstill};
    auto now = now_ + x.after;
    end_until(now);
    if (x.what == work_change::begin)
      begin(now, duration{static_cast<std::int64_t>(x.number)});
    else if (x.what == work_change::stretch)
      set_stretch(now, stretches[x.number % std::size(stretches)]);
    else if (!pieces_.empty())
      cancel(now, x.number % pieces_.size());
  }

  // Whatever is not cancelled ends.
  void end_all() {
    set_stretch(now_, 1);
    end_until(now_ + 100h);
    RC_ASSERT(slow_.next() == never);
  }

private:
  void begin(time_point now, duration length) {
    slow_.begin(now, pieces_.size(), length);
    pieces_.push_back(fast_.begin(now, pieces_.size(), length));
  }

  void set_stretch(time_point now, double x) {
    fast_.set_stretch(now, x);
    slow_.set_stretch(now, x);
  }

  void cancel(time_point now, std::size_t i) {
    RC_ASSERT(fast_.cancel(now, pieces_[i]) == slow_.cancel(now, i));
  }

  void end_until(time_point until) {
    while (fast_.next() <= until) {
      auto now = fast_.next();
      RC_ASSERT(std::abs((now - slow_.next()).count()) <= 1);
      auto piece = fast_.pop_due(now);
      RC_ASSERT(piece.has_value());
      RC_ASSERT(std::abs(slow_.left_of(now, *piece)) <= 1.0L);
      slow_.cancel(now, *piece);
    }
    RC_ASSERT(slow_.next() >= time_after(until, -1ns));
    now_ = until;
  }

  work_clock fast_;
  reference_work slow_;
  time_point now_ = clock_start;
  std::vector<work_clock::handle> pieces_;
};

RC_GTEST_PROP(work_clock_property, agrees_with_a_naive_model, ()) {
  auto cores = *rc::gen::element<std::uint32_t>(1, 2, 3, 7, no_limit);
  both_clocks clocks{cores};
  for (const auto& x :
       *rc::gen::container<std::vector<work_change>>(some_change()))
    clocks.make(x);
  clocks.end_all();
}

} // namespace
} // namespace caisson::sim
