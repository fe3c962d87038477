// Thresholds that shedders report to their callers, and follow themselves.
#include <policies/shedder/model/shedder_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// -- reporting ----------------------------------------------------------------

// It passes at this level and above.
TEST(shedder_follow, reports_a_threshold_below_which_no_call_passes) {
  shedder_rig h;
  h.load->value.cpu = 1;
  std::uint16_t last = 0;
  decision d;
  auto offer = [&](std::uint8_t user) {
    auto c = of_user(user);
    slot notes;
    d = h.policy.admit(c, notes, h.e);
    auto o = outcome::success();
    if (d.what == decision::kind::pass)
      h.policy.complete(c, notes, o, h.e);
    else
      last = d.threshold;
    return d.what == decision::kind::pass;
  };
  for (int i = 0; i < 12'800; ++i) {
    offer(static_cast<std::uint8_t>(1 + i % 128));
    h.advance(1ms);
  }
  ASSERT_EQ(h.policy.state(), "shedding");
  h.advance(1ms);
  ASSERT_FALSE(offer(1));
  EXPECT_EQ(d.code, errc::shed);
  EXPECT_EQ(d.threshold, last);
  // A part of the calls without a user at the level below the gauge passes.
  EXPECT_EQ(last, h.count("threshold") - 1);
  EXPECT_GT(last, middle + 30);
  EXPECT_LT(last, middle + 100);
}

TEST(shedder_follow, takes_the_user_priority_in_place_of_the_key) {
  shedder_rig h;
  h.load->value.cpu = 1;
  for (int i = 0; i < 12'800; ++i) {
    auto c = of_user(static_cast<std::uint8_t>(1 + i % 128));
    c.key = "one of all";
    h.offer(c);
    h.advance(1ms);
  }
  for (int i = 0; i < 10; ++i) {
    auto c = of_user(128);
    c.key = std::to_string(i);
    EXPECT_TRUE(h.offer(c));
    c.user_priority = 1;
    EXPECT_FALSE(h.offer(c));
  }
}

TEST(shedder_follow, gives_calls_with_a_key_a_user_priority_for_the_callee) {
  follower h;
  std::set<int> all;
  for (int i = 0; i < 2'000; ++i) {
    auto id = h.arrive(important(0, std::to_string(i)));
    int user = h.calls.at(id).call.user_priority;
    EXPECT_GE(user, 1);
    EXPECT_LE(user, 128);
    all.insert(user);
    h.finish(id);
    EXPECT_EQ(
      h.calls.at(h.arrive(important(3, std::to_string(i)))).call.user_priority,
      user);
  }
  EXPECT_EQ(all.size(), 128u);
  EXPECT_EQ(h.calls.at(h.arrive(of_user(7))).call.user_priority, 7);
  EXPECT_EQ(h.calls.at(h.arrive()).call.user_priority, 0);
}

TEST(shedder_follow, counts_a_call_for_those_that_it_stands_for) {
  for (std::uint16_t weight : {0, 16}) {
    shedder_rig h;
    h.load->value.cpu = 1;
    auto second = [&](int unimportant, std::uint16_t stands_for) {
      auto c = of_user(1);
      c.stands_for = stands_for;
      for (int i = 0; i < 1'000; ++i) {
        h.offer(of_user(128));
        if (i * unimportant / 1'000 < (i + 1) * unimportant / 1'000)
          h.offer(c);
        h.advance(1ms);
      }
    };
    for (int i = 0; i < 10; ++i)
      second(1'000, 0);
    h.load->value.cpu = 0;
    // Their caller keeps most of them back, or most have gone.
    second(62, weight);
    second(62, weight);
    EXPECT_EQ(h.policy.state(), weight == 0 ? "passing" : "shedding");
  }
}

// What it would have shed as well does not come to the shedders below.
TEST(shedder_follow, passes_on_for_how_many_a_call_stands_that_it_lets_pass) {
  for (auto m : {mode::enforce, mode::observe}) {
    auto c = by_cpu();
    c.mode = m;
    shedder_rig h{c};
    auto left_of = [&](std::uint8_t user) {
      auto sample = of_user(user);
      sample.stands_for = 16;
      return h.calls.at(h.arrive(sample)).call.stands_for;
    };
    EXPECT_EQ(left_of(1), 16) << "nothing is shed";
    h.load->value.cpu = 1;
    for (int i = 0; i < 12'800; ++i) {
      h.offer(of_user(static_cast<std::uint8_t>(1 + i % 128)));
      h.advance(1ms);
    }
    ASSERT_EQ(h.policy.state(), "shedding");
    h.advance(900ms);
    auto by_minimum = h.count("passed_by_minimum");
    EXPECT_EQ(left_of(1), m == mode::enforce ? 0 : 16);
    EXPECT_EQ(h.count("passed_by_minimum"), by_minimum + 1);
    EXPECT_EQ(left_of(128), 16);
  }
}

// -- following ----------------------------------------------------------------

TEST(shedder_follow, rejects_what_the_callee_would) {
  follower h;
  EXPECT_TRUE(h.offer(of_user(1, -16))) << "nothing was reported";
  h.on_threshold(middle + 10, 3s);
  EXPECT_EQ(h.count("thresholds_received"), 1);
  EXPECT_EQ(h.count("callee_threshold"), middle + 10);
  EXPECT_TRUE(h.offer(of_user(11))) << "this is the threshold";
  EXPECT_TRUE(h.offer(of_user(1, 1)));
  auto id = h.arrive(of_user(10));
  EXPECT_EQ(h.where(id), place::rejected);
  EXPECT_EQ(h.calls.at(id).code, errc::shed);
  EXPECT_EQ(h.calls.at(id).retry_after, 3s);
  EXPECT_EQ(h.e.details.back(), "reported by the callee");
  EXPECT_FALSE(h.offer(of_user(128, -1)));
  EXPECT_EQ(h.count("shed_early"), 2);
  EXPECT_EQ(h.count("passed"), 16 + 3);
  EXPECT_EQ(h.policy.state(), "passing") << "nothing is too much for itself";
}

TEST(shedder_follow, shows_its_own_callers_nothing_of_the_callee) {
  follower h;
  h.on_threshold(4'096);
  auto c = of_user(10);
  slot notes;
  auto d = h.policy.admit(c, notes, h.e);
  ASSERT_EQ(d.what, decision::kind::reject);
  EXPECT_EQ(d.threshold, 0);
}

TEST(shedder_follow, does_not_follow_by_default) {
  auto c = followed();
  c.follow_for = 0s;
  follower h{c};
  EXPECT_EQ(shedder_config{}.follow_for, 0s);
  h.on_threshold(4'096);
  EXPECT_EQ(h.count("thresholds_received"), 0);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(h.weight_of(of_user(1)), 0);
  EXPECT_EQ(h.count("passed"), 16 + 100);
  EXPECT_EQ(h.count("asked"), 0);
}

TEST(shedder_follow, believes_what_was_reported_for_a_time) {
  follower h;
  h.on_threshold(4'096);
  h.advance(1s - 1ns);
  EXPECT_FALSE(h.offer(of_user(5)));
  h.advance(1ns);
  // From now on all pass, until it is reported again.
  EXPECT_EQ(h.weight_of(of_user(5)), 2);
  EXPECT_EQ(h.count("asked"), 1);
  EXPECT_EQ(h.weight_of(of_user(5)), 0);
  EXPECT_EQ(h.count("callee_threshold"), 0);
  EXPECT_EQ(h.count("asked"), 1);
  h.on_threshold(4'096);
  EXPECT_FALSE(h.offer(of_user(5)));
  h.advance(999ms);
  h.on_threshold(4'096);
  h.advance(999ms);
  EXPECT_FALSE(h.offer(of_user(5))) << "it was reported anew";
}

TEST(shedder_follow, shows_no_threshold_that_is_too_old) {
  follower h;
  h.on_threshold(4'096);
  EXPECT_EQ(h.count("callee_threshold"), 4'096);
  h.advance(3s);
  EXPECT_EQ(h.count("callee_threshold"), 0);
}

TEST(shedder_follow, goes_by_what_was_reported_last) {
  follower h;
  h.on_threshold(middle + 10);
  h.on_threshold(middle + 5);
  EXPECT_TRUE(h.offer(of_user(6)));
  EXPECT_FALSE(h.offer(of_user(5)));
  h.on_threshold(middle + 20);
  EXPECT_FALSE(h.offer(of_user(6)));
}

TEST(shedder_follow, asks_the_callee_with_one_call_in_16) {
  follower h;
  h.on_threshold(4'096);
  for (int i = 1; i <= 160; ++i)
    EXPECT_EQ(h.weight_of(of_user(5)), i % 16 == 0 ? 16 : 0);
  EXPECT_EQ(h.count("shed_early"), 150);
  EXPECT_EQ(h.count("asked"), 10);
  EXPECT_EQ(h.count("passed"), 16 + 10);
}

// Another attempt at the same call stands for itself.
TEST(shedder_follow, forgets_for_how_many_a_call_stood_when_it_is_back) {
  for (auto is_cut_off : {false, true}) {
    follower h;
    h.on_threshold(4'096);
    for (int i = 1; i < 16; ++i)
      h.offer(of_user(5));
    auto id = h.arrive(of_user(5));
    ASSERT_EQ(h.calls.at(id).call.stands_for, 16);
    if (is_cut_off)
      h.abandon(id);
    else
      h.fail(id);
    EXPECT_EQ(h.calls.at(id).call.stands_for, 0);
  }
}

TEST(shedder_follow, draws_a_user_for_calls_without_one_where_it_decides) {
  follower h;
  auto draws = h.random;
  h.on_threshold(middle);
  EXPECT_TRUE(h.offer(important(0)));
  EXPECT_FALSE(h.offer(important(-1)));
  EXPECT_EQ(h.random.bits(), draws.bits()) << "nothing was drawn";
  h.on_threshold(middle + 128);
  EXPECT_FALSE(h.offer(important(0)));
  EXPECT_EQ(h.random.bits(), draws.bits());
  h.on_threshold(middle + 32);
  int passed = 0;
  for (int i = 0; i < 4'000; ++i) {
    auto id = h.arrive(important(0));
    if (h.where(id) != place::below)
      continue;
    int user = h.calls.at(id).call.user_priority;
    auto asks = h.calls.at(id).call.stands_for > 0;
    EXPECT_EQ(user > 32, !asks) << user;
    EXPECT_GE(user, 1);
    EXPECT_LE(user, 128);
    passed += asks ? 0 : 1;
    h.finish(id);
  }
  EXPECT_NEAR(passed, 3'000, 100);
}

// -- with signals of its own --------------------------------------------------

// It sheds the users 1 and 2 itself, and the callee the first of them.
class busy_follower : public follower {
public:
  busy_follower() : follower(busy()) {
    load->value.cpu = 1;
    offer_over(30s, 30'000, of_user(128));
    for (int i = 0; i < 20; ++i)
      offer(of_user(2));
    EXPECT_FALSE(offer(of_user(2))) << "the minimum is used up";
    on_threshold(middle + 1);
  }

private:
  static shedder_config busy() {
    auto c = followed();
    c.max_cpu = 0.9;
    c.minimum = 5;
    c.follow_for = 1min;
    return c;
  }
};

TEST(shedder_follow, takes_no_minimum_for_what_the_callee_would_reject) {
  busy_follower h;
  h.advance(1s);
  auto before = h.count("passed_by_minimum");
  for (int i = 1; i < 16; ++i)
    EXPECT_FALSE(h.offer(of_user(1)));
  EXPECT_EQ(h.count("shed_early"), 15);
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(h.offer(of_user(2)));
  EXPECT_FALSE(h.offer(of_user(2)));
  EXPECT_EQ(h.count("passed_by_minimum"), before + 5);
}

TEST(shedder_follow, has_no_calls_if_the_callee_would_reject_all) {
  busy_follower h;
  h.advance(2s);
  auto tightened = h.count("tightened");
  auto relaxed = h.count("relaxed");
  for (int i = 0; i < 15; ++i) {
    EXPECT_FALSE(h.offer(of_user(1)));
    h.advance(200ms);
  }
  EXPECT_EQ(h.count("tightened"), tightened);
  EXPECT_EQ(h.count("relaxed"), relaxed + 3);
}

// The callee learns of what is kept from it by the next one that passes.
TEST(shedder_follow, asks_the_callee_again_if_it_sheds_that_call_itself) {
  busy_follower h;
  for (int i = 1; i < 16; ++i)
    h.offer(of_user(1));
  auto shed = h.count("shed_cpu");
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(h.offer(of_user(1)));
  EXPECT_EQ(h.count("shed_cpu"), shed + 10);
  EXPECT_EQ(h.count("shed_early"), 15);
  EXPECT_EQ(h.count("asked"), 0);
  h.advance(200ms);
  EXPECT_EQ(h.weight_of(of_user(1)), 16);
  EXPECT_EQ(h.count("asked"), 1);
  EXPECT_FALSE(h.offer(of_user(1)));
  EXPECT_EQ(h.count("shed_early"), 16);
  EXPECT_EQ(h.count("shed_cpu"), shed + 10);
}

// Not after what was reported is too old, either.
TEST(shedder_follow, asks_the_callee_late_if_nothing_passed_in_time) {
  busy_follower h;
  h.advance(1min);
  ASSERT_EQ(h.policy.state(), "shedding");
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(h.offer(of_user(2)));
  EXPECT_FALSE(h.offer(of_user(1)));
  EXPECT_FALSE(h.offer(of_user(1)));
  EXPECT_EQ(h.count("asked"), 0);
  h.advance(1s);
  EXPECT_EQ(h.weight_of(of_user(1)), 1);
  EXPECT_EQ(h.count("asked"), 1);
  EXPECT_EQ(h.weight_of(of_user(1)), 0);
}

// -- what may be anything -----------------------------------------------------

TEST(shedder_follow, hears_nothing_from_a_shedder_of_its_own_gate) {
  follower h;
  auto id = h.arrive(of_user(1));
  h.finish(id, shed_within(4'096));
  EXPECT_EQ(h.count("thresholds_received"), 0);
  EXPECT_TRUE(h.offer(of_user(1)));
  id = h.arrive(of_user(1));
  h.finish(id, rejection_with(4'096));
  EXPECT_EQ(h.count("thresholds_received"), 1);
  EXPECT_FALSE(h.offer(of_user(1)));
}

// A policy of the user's may set any.
TEST(shedder_follow, takes_a_user_priority_that_does_not_exist_for_none) {
  shedder_rig h;
  for (auto user : {129, 255}) {
    auto c = of_user(static_cast<std::uint8_t>(user), 15);
    EXPECT_EQ(h.calls.at(h.arrive(c)).call.user_priority, 0);
    c.key = "x";
    int found = h.calls.at(h.arrive(c)).call.user_priority;
    EXPECT_GE(found, 1);
    EXPECT_LE(found, 128);
  }
  EXPECT_EQ(h.calls.at(h.arrive(of_user(128, 15))).call.user_priority, 128);
}

TEST(shedder_follow, bounds_the_time_to_retry) {
  for (auto [retry_after, expected] :
       {std::pair<duration, duration>{-1s, 0s}, {unlimited, 1h}, {0s, 0s}}) {
    follower h;
    h.on_threshold(4'096, retry_after);
    auto id = h.arrive(of_user(1));
    ASSERT_EQ(h.where(id), place::rejected);
    EXPECT_EQ(h.calls.at(id).retry_after, expected);
  }
}

TEST(shedder_follow, lets_calls_pass_whatever_the_callee_says) {
  follower h;
  int passed = 0;
  for (int i = 0; i < 1'600; ++i) {
    auto id = h.arrive(of_user(1));
    if (h.where(id) == place::below) {
      h.finish(id, rejection_with(4'096, unlimited));
      ++passed;
    }
  }
  EXPECT_EQ(passed, 1 + 1'599 / 16);
}

// -- operation ----------------------------------------------------------------

TEST(shedder_follow, keeps_back_nothing_in_observe_mode) {
  auto c = followed();
  c.mode = mode::observe;
  follower h{c};
  h.on_threshold(middle + 64);
  for (int i = 0; i < 64; ++i) {
    auto id = h.arrive(important(0));
    EXPECT_EQ(h.calls.at(id).call.stands_for, 0);
    EXPECT_EQ(h.calls.at(id).call.user_priority, 0);
  }
  EXPECT_GT(h.count("shed_early"), 15);
  EXPECT_GT(h.count("asked"), 0);
  // From now on it acts: those before went to the callee.
  h.on_threshold(4'096);
  for (int i = 0; i < 7; ++i)
    h.offer(of_user(1));
  h.policy.set_acting(true);
  for (int i = 1; i < 16; ++i)
    EXPECT_FALSE(h.offer(of_user(1)));
  h.policy.set_acting(true);
  EXPECT_EQ(h.weight_of(of_user(1)), 16);
}

TEST(shedder_follow, is_reset_with_the_layer) {
  follower h;
  h.on_threshold(4'096);
  h.offer(of_user(1));
  h.command(operator_command::reset);
  EXPECT_EQ(h.count("callee_threshold"), 0);
  EXPECT_EQ(h.count("thresholds_received"), 0);
  EXPECT_EQ(h.weight_of(of_user(1)), 0);
  h.on_threshold(4'096);
  for (int i = 1; i < 16; ++i)
    EXPECT_FALSE(h.offer(of_user(1)));
  EXPECT_EQ(h.weight_of(of_user(1)), 16) << "none was kept back before";
}

TEST(shedder_follow, changes_its_time_at_once) {
  auto c = followed();
  c.follow_for = 1min;
  follower h{c};
  h.on_threshold(4'096);
  c.follow_for = 2s;
  h.reconfigure(c);
  h.advance(2s - 1ns);
  EXPECT_FALSE(h.offer(of_user(1)));
  h.advance(1ns);
  EXPECT_TRUE(h.offer(of_user(1)));
  h.on_threshold(4'096);
  // What was reported is not believed for longer than was set then.
  c.follow_for = 1min;
  h.reconfigure(c);
  h.advance(2s);
  EXPECT_TRUE(h.offer(of_user(1)));
  h.on_threshold(4'096);
  c.follow_for = 0s;
  h.reconfigure(c);
  EXPECT_EQ(h.weight_of(of_user(1)), 0);
  c.follow_for = 1s;
  h.reconfigure(c);
  EXPECT_EQ(h.weight_of(of_user(1)), 0);
}

} // namespace
} // namespace caisson::test
