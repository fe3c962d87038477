// The times at which CoDel sheds.
#include <caisson/base/random.hpp>
#include <caisson/policy/codel_law.hpp>

#include <support/times.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using detail::codel_law;

struct judged_call {
  duration at;
  duration waited;
  bool shed;
  bool must_stay = false;
};

void expect_all(codel_law& law, const std::vector<judged_call>& all) {
  for (const auto& x : all)
    EXPECT_EQ(law.sheds(at(x.at), x.waited, x.must_stay), x.shed)
      << "at " << to_text(x.at) << ", waited " << to_text(x.waited);
}

// -- step by step -------------------------------------------------------------

TEST(codel_law, sheds_one_call_after_an_interval_of_long_waits) {
  codel_law law{5ms, 100ms};
  expect_all(law, {{0ms, 5ms, false},
                   {50ms, 20ms, false},
                   {99'999us, 20ms, false},
                   {100ms, 20ms, true},
                   {100ms, 20ms, false},
                   {199ms, 20ms, false}});
}

TEST(codel_law, sheds_sooner_and_sooner_while_waits_stay_long) {
  codel_law law{5ms, 100ms};
  // 100 ms after the last, then 100/√2 = 70.71 ms, then 100/√3 = 57.74 ms.
  expect_all(law, {{0ms, 9ms, false},
                   {100ms, 9ms, true},
                   {199ms, 9ms, false},
                   {200ms, 9ms, true},
                   {270ms, 9ms, false},
                   {271ms, 9ms, true},
                   {328ms, 9ms, false},
                   {329ms, 9ms, true}});
}

TEST(codel_law, catches_up_with_what_it_has_missed) {
  codel_law law{5ms, 100ms};
  // Due at 200, 270.7, 328.4 and 378.4 ms.
  expect_all(law, {{0ms, 9ms, false},
                   {100ms, 9ms, true},
                   {350ms, 9ms, true},
                   {350ms, 9ms, true},
                   {350ms, 9ms, true},
                   {350ms, 9ms, false},
                   {378ms, 9ms, false},
                   {379ms, 9ms, true}});
}

TEST(codel_law, begins_anew_after_one_wait_that_is_short) {
  codel_law law{5ms, 100ms};
  expect_all(law, {{0ms, 9ms, false},
                   {90ms, 4'999us, false},
                   {100ms, 9ms, false},
                   {199ms, 9ms, false},
                   {200ms, 9ms, true},
                   {250ms, 1ms, false},
                   {300ms, 9ms, false},
                   {399ms, 9ms, false},
                   {400ms, 9ms, true}});
}

TEST(codel_law, begins_anew_when_nobody_waits) {
  codel_law law{5ms, 100ms};
  expect_all(law, {{0ms, 9ms, false}});
  law.nobody_waits();
  expect_all(law, {{100ms, 9ms, false}, {200ms, 9ms, true}});
  law.nobody_waits();
  expect_all(law, {{300ms, 9ms, false}, {399ms, 9ms, false}});
}

TEST(codel_law, goes_on_from_two_less_if_it_must_begin_again_soon) {
  auto begin_again = [](duration pause) {
    codel_law law{5ms, 100ms};
    expect_all(law, {{0ms, 9ms, false},
                     {100ms, 9ms, true},
                     {200ms, 9ms, true},
                     {271ms, 9ms, true},
                     {329ms, 9ms, true},
                     {330ms, 1ms, false}});
    // The next one would have been at 378.45 ms. Four were shed.
    auto t = 378'450us + pause;
    expect_all(law, {{t - 100ms, 9ms, false}, {t, 9ms, true}});
    // The pause before the next is 100/√2 ms, or that of a first one.
    expect_all(law, {{t + 70ms, 9ms, false}});
    return law.sheds(at(t + 71ms), 9ms, false);
  };
  EXPECT_TRUE(begin_again(799ms));
  EXPECT_FALSE(begin_again(801ms));
}

TEST(codel_law, goes_on_from_one_if_it_had_shed_no_more_than_two) {
  codel_law law{5ms, 100ms};
  expect_all(law, {{0ms, 9ms, false},
                   {100ms, 9ms, true},
                   {200ms, 9ms, true},
                   {201ms, 1ms, false},
                   {210ms, 9ms, false},
                   {310ms, 9ms, true},
                   {409ms, 9ms, false},
                   {410ms, 9ms, true}});
}

TEST(codel_law, begins_anew_after_what_must_stay) {
  codel_law law{5ms, 100ms};
  expect_all(law, {{0ms, 9ms, false},
                   {100ms, 9ms, false, true},
                   {101ms, 9ms, false},
                   {200ms, 9ms, false},
                   {201ms, 9ms, true},
                   {300ms, 9ms, false, true},
                   // Nothing of the time in which none could be shed is left.
                   {60s, 9ms, false},
                   {60'099ms, 9ms, false},
                   {60'100ms, 9ms, true}});
}

TEST(codel_law, waits_no_longer_than_a_new_interval) {
  codel_law law{5ms, 100ms};
  expect_all(law, {{0ms, 9ms, false}});
  law.adapt(5ms, 20ms, at(10ms));
  expect_all(law, {{29ms, 9ms, false}, {30ms, 9ms, true}});
  law.adapt(5ms, 10ms, at(31ms));
  expect_all(law, {{40ms, 9ms, false}, {41ms, 9ms, true}});
  // A longer one does not put off what is due.
  law.adapt(5ms, 1s, at(41ms));
  expect_all(law, {{48ms, 9ms, false}, {49ms, 9ms, true}});
  codel_law other{5ms, 100ms};
  expect_all(other, {{0ms, 9ms, false}});
  other.adapt(5ms, 1s, at(50ms));
  expect_all(other, {{99ms, 9ms, false}, {100ms, 9ms, true}});
  law.adapt(10ms, 1s, at(50ms));
  expect_all(law, {{2s, 9'999us, false}});
}

// -- at random ----------------------------------------------------------------

// Keeps what was judged, and works out from that what is due.
class textbook {
public:
  textbook(duration target, duration interval)
    : target_(target), interval_(interval) {}

  bool sheds(time_point now, duration waited, bool must_stay) {
    if (waited < target_ || must_stay) {
      long_since_.reset();
      if (!drops_.empty() && !ended_)
        ended_ = true;
      return false;
    }
    if (!long_since_) {
      long_since_ = now;
      return false;
    }
    auto running = !drops_.empty() && !ended_;
    auto due = running ? due_ : *long_since_ + interval_;
    if (now < due)
      return false;
    if (!running) {
      auto many = drops_.empty() ? 0 : drops_.back();
      auto again = many > 2 && now < due_ + 8 * interval_;
      drops_.assign(1, again ? many - 2 : 1);
      due_ = now;
      ended_ = false;
    } else {
      drops_.push_back(drops_.back() + 1);
    }
    auto gap = static_cast<double>(interval_.count())
               / std::sqrt(drops_.back());
    due_ += duration{static_cast<std::int64_t>(std::round(gap))};
    return true;
  }

private:
  duration target_;
  duration interval_;
  std::optional<time_point> long_since_;
  // What the count was with each call shed since it began.
  std::vector<int> drops_;
  bool ended_ = true;
  time_point due_;
};

TEST(codel_law, does_as_the_textbook_says) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    random_source random{seed};
    codel_law law{5ms, 100ms};
    textbook book{5ms, 100ms};
    auto now = start;
    auto shed = 0;
    for (int i = 0; i < 2'000; ++i) {
      now += 100us * static_cast<std::int64_t>(random.below(60));
      auto quiet = (i / 300) % 2 == 1;
      auto waited = 1ms
                    * static_cast<std::int64_t>(random.below(quiet ? 6 : 400)
                                                + (quiet ? 0 : 4));
      auto stays = random.below(300) == 0;
      auto expected = book.sheds(now, waited, stays);
      shed += expected ? 1 : 0;
      ASSERT_EQ(law.sheds(now, waited, stays), expected)
        << "call " << i << " of seed " << seed;
    }
    EXPECT_GT(shed, 10);
  }
}

} // namespace
} // namespace caisson::test
