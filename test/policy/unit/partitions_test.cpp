// Partitions of the permits of semaphores and adaptive limits.
#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>
#include <caisson/policies/semaphore.hpp>

#include <support/partitioned.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// -- turns --------------------------------------------------------------------

TEST(partitions, a_call_belongs_to_the_one_that_its_key_names) {
  shared_rig h{partitioned(two)};
  for (const auto* key : {"live", "live/", "live/alice/7"})
    h.of(key);
  h.of("batch/live");
  for (const auto* key : {"", "liv", "live2", "Live", "/live", "rest", "rest/"})
    h.of(key);
  EXPECT_EQ(h.count("in_use_live"), 3);
  EXPECT_EQ(h.count("in_use_batch"), 1);
  EXPECT_EQ(h.count("in_use_rest") + h.count("waiting_rest"), 7);
}

TEST(partitions, who_has_less_than_its_part_is_served_first) {
  shared_rig h{partitioned(two)};
  auto batch = h.flood("batch", 15);
  EXPECT_EQ(h.count("in_use_batch"), 10) << "nobody else needs them";
  auto live = h.flood("live", 3);
  EXPECT_EQ(h.count("waiting_live"), 3) << "the limit holds";
  h.finish(batch[0]);
  h.finish(batch[1]);
  EXPECT_EQ(h.where(live[1]), place::below);
  EXPECT_EQ(h.where(batch[10]), place::held) << "it came before";
  h.finish(batch[2]);
  h.finish(batch[3]);
  EXPECT_EQ(h.where(batch[10]), place::below) << "no other wants it";
}

TEST(partitions, those_who_borrow_wait_for_the_one_that_uses_least) {
  shared_rig h{partitioned({{"a", 0.4}, {"b", 0.4}, {"c", 0.2}})};
  auto c = h.flood("c", 10);
  h.flood("a", 8);
  h.flood("b", 8);
  // Each gets its part, in turn, and neither more than the other.
  for (std::size_t i = 0; i < 8; ++i) {
    h.finish(c[i]);
    EXPECT_EQ(h.count("in_use_a"), static_cast<int>(i / 2 + 1));
  }
  EXPECT_EQ(h.count("in_use_a"), 4);
  EXPECT_EQ(h.count("in_use_b"), 4);
  h.finish(c[8]);
  h.finish(c[9]);
  EXPECT_EQ(h.count("in_use_a"), 5);
  EXPECT_EQ(h.count("in_use_b"), 5);
}

TEST(partitions, a_heavy_borrower_does_not_hold_up_others_within_their_part) {
  shared_rig h{partitioned(two)};
  auto live = h.flood("live", 6);
  auto heavy_one = h.of("batch", 5);
  EXPECT_EQ(h.where(heavy_one), place::held);
  EXPECT_EQ(h.where(h.of("live")), place::below) << "within its part";
  EXPECT_EQ(h.where(h.of("live")), place::held) << "a borrower, too";
  EXPECT_EQ(h.where(h.of("other")), place::below);
  for (std::size_t i = 0; i < 4; ++i)
    h.finish(live[i]);
  EXPECT_EQ(h.where(heavy_one), place::below);
}

// It uses less than the other one, in relation to their parts.
TEST(partitions, a_borrower_waits_for_a_heavy_call_within_its_part) {
  shared_rig h{partitioned({{"a", 0.7}, {"b", 0.2}})};
  auto light = h.flood("x", 4);
  h.of("a");
  auto heavy_call = h.of("a", 6);
  EXPECT_EQ(h.where(heavy_call), place::held) << "5 are free";
  auto borrower = h.of("b", 3);
  EXPECT_EQ(h.where(borrower), place::held);
  h.finish(light[0]);
  EXPECT_EQ(h.where(heavy_call), place::below);
  EXPECT_EQ(h.where(borrower), place::held);
}

TEST(partitions, without_a_share_get_what_nobody_wants) {
  shared_rig h{partitioned({{"spare", 0}, {"live", 0.5}}, 4)};
  auto live = h.flood("live", 4);
  auto spare = h.of("spare");
  auto rest = h.of("x");
  auto more = h.of("live");
  h.finish(live[0]);
  EXPECT_EQ(h.where(rest), place::below);
  h.finish(live[1]);
  EXPECT_EQ(h.where(more), place::below);
  h.finish(live[2]);
  EXPECT_EQ(h.where(spare), place::below);
}

TEST(partitions, that_must_not_borrow_leave_permits_free) {
  auto c = partitioned(two);
  c.partitions.borrow = false;
  shared_rig h{c};
  auto batch = h.flood("batch", 3);
  EXPECT_EQ(h.where(batch[2]), place::held);
  EXPECT_EQ(h.count("in_use"), 2);
  EXPECT_EQ(h.where(h.of("batch", 3)), place::rejected);
  EXPECT_EQ(h.count("too_heavy"), 1);
  EXPECT_EQ(h.count("in_use_live"), 0);
  h.flood("live", 7);
  EXPECT_EQ(h.count("in_use_live"), 7);
  h.finish(batch[0]);
  EXPECT_EQ(h.where(batch[2]), place::below);
}

// -- a full queue -------------------------------------------------------------

TEST(partitions, that_must_not_borrow_have_their_own_places) {
  auto c = partitioned(two);
  c.max_waiters = 10;
  c.partitions.borrow = false;
  shared_rig h{c};
  auto batch = h.flood("batch", 5);
  EXPECT_EQ(h.where(batch[3]), place::held);
  EXPECT_EQ(h.where(batch[4]), place::rejected) << "two run, two wait";
  EXPECT_EQ(h.count("queue_full"), 1);
  h.finish(batch[0]);
  EXPECT_EQ(h.where(h.of("batch")), place::held);
}

TEST(partitions, a_flood_does_not_take_the_places_of_others) {
  auto c = partitioned(two);
  c.max_waiters = 10;
  shared_rig h{c};
  auto batch = h.flood("batch", 20);
  EXPECT_EQ(h.where(h.of("batch")), place::rejected);
  auto live = h.of("live");
  EXPECT_EQ(h.where(live), place::held);
  EXPECT_EQ(h.where(batch.back()), place::rejected) << "the newest";
  EXPECT_EQ(h.count("evicted"), 1);
  EXPECT_EQ(h.where(h.of("x")), place::held);
  EXPECT_EQ(h.where(h.of("x")), place::rejected) << "it has one place";
  EXPECT_EQ(h.count("waiting"), 10);
}

// What was next may leave for a newcomer, and others may then run.
TEST(partitions, others_move_up_when_a_heavy_call_leaves_for_a_newcomer) {
  auto c = partitioned({{"q", 0.3}, {"p", 0.7}});
  c.max_waiters = 1;
  shared_rig h{c};
  auto p = h.of("p", 8);
  auto q = h.of("q", 3);
  EXPECT_EQ(h.where(q), place::held) << "2 are free";
  auto light = h.of("p", 1);
  EXPECT_EQ(h.where(q), place::rejected);
  EXPECT_EQ(h.where(light), place::below);
  h.finish(p);
  h.finish(light);
  EXPECT_EQ(h.count("in_use"), 0);
}

TEST(partitions, rejections_of_one_over_its_share_are_delayed) {
  auto c = partitioned(two);
  c.max_waiters = 0;
  c.partitions.reject_delay = 100ms;
  c.partitions.max_delayed = 2;
  shared_rig h{c};
  auto batch = h.flood("batch", 12);
  EXPECT_EQ(h.where(batch[10]), place::held);
  EXPECT_EQ(h.where(h.of("batch")), place::rejected) << "two are delayed";
  EXPECT_EQ(h.where(h.of("live")), place::rejected) << "it has its share left";
  EXPECT_EQ(h.count("delayed"), 2);
  EXPECT_EQ(h.count("queue_full"), 4);
  EXPECT_EQ(h.count("waiting"), 0);
  h.advance(99ms);
  EXPECT_EQ(h.where(batch[10]), place::held);
  h.abandon(batch[11]);
  auto late = of_key("batch");
  late.deadline = h.e.now + 100ms;
  EXPECT_EQ(h.where(h.arrive(late)), place::rejected) << "not in time";
  late.deadline = h.e.now + 101ms;
  EXPECT_EQ(h.where(h.arrive(late)), place::held);
  h.advance(1ms);
  EXPECT_EQ(h.where(batch[10]), place::rejected);
  EXPECT_EQ(h.calls.at(batch[10]).code, errc::queue_full);
  EXPECT_EQ(h.count("gave_up"), 0);
  EXPECT_EQ(h.count("abandoned"), 0);
  EXPECT_EQ(h.count("in_use"), 10);
}

TEST(partitions, are_counted_in_observe_mode) {
  auto c = partitioned(two);
  c.partitions.reject_delay = 100ms;
  c.max_waiters = 1;
  shared_rig h{c};
  h.acts = mode::observe;
  h.flood("batch", 13);
  EXPECT_EQ(h.count("in_use_batch"), 10);
  EXPECT_EQ(h.count("queued"), 3);
  EXPECT_EQ(h.count("gave_up"), 3);
  EXPECT_EQ(h.count("waiting"), 0);
  c.max_waiters = 0;
  h.reconfigure(c);
  h.flood("batch", 101);
  EXPECT_EQ(h.count("delayed"), 101) << "none stays";
}

// -- changes ------------------------------------------------------------------

TEST(partitions, that_are_new_get_the_calls_that_wait) {
  shared_rig h{partitioned({})};
  auto batch = h.flood("batch/1", 15);
  auto live = h.flood("live/1", 2);
  h.reconfigure(partitioned(two));
  EXPECT_EQ(h.count("in_use_rest"), 10) << "they run already";
  EXPECT_EQ(h.count("waiting_batch"), 5);
  EXPECT_EQ(h.count("waiting_live"), 2);
  h.finish(batch[0]);
  EXPECT_EQ(h.count("in_use_batch"), 1) << "as it came first";
  h.finish(batch[1]);
  h.finish(batch[2]);
  EXPECT_EQ(h.where(live[1]), place::below);
  h.finish(live[1]);
  EXPECT_EQ(h.count("in_use_live"), 1);
  h.abandon(batch[14]);
  EXPECT_EQ(h.count("waiting_batch"), 2);
}

TEST(partitions, that_are_gone_leave_their_calls_to_the_rest) {
  shared_rig h{partitioned(two)};
  auto batch = h.flood("batch", 12);
  h.reconfigure(partitioned({{"live", 0.7}}));
  EXPECT_EQ(h.count("in_use_rest"), 10);
  EXPECT_EQ(h.count("waiting_rest"), 2);
  h.reconfigure(partitioned(two));
  EXPECT_EQ(h.count("in_use_rest"), 10) << "they stay there";
  EXPECT_EQ(h.count("waiting_batch"), 2);
  for (auto id : batch)
    h.finish(id);
  EXPECT_EQ(h.count("in_use"), 0);
  EXPECT_EQ(h.count("in_use_rest"), 0);
  EXPECT_EQ(h.count("in_use_batch"), 0);
  h.reconfigure(partitioned({}));
  h.flood("batch", 12);
  EXPECT_EQ(h.count("in_use"), 10);
  EXPECT_EQ(h.count("in_use_rest"), -1) << "there are none";
}

TEST(partitions, with_less_than_a_call_weighs_reject_it) {
  shared_rig h{partitioned(two)};
  h.of("live", 10);
  auto batch = h.of("batch", 3);
  auto c = partitioned(two);
  c.partitions.borrow = false;
  h.reconfigure(c);
  EXPECT_EQ(h.where(batch), place::rejected);
  EXPECT_EQ(h.count("outgrown"), 1);
  EXPECT_EQ(h.count("waiting_batch"), 0);
}

// -- functions ----------------------------------------------------------------

TEST(partitions, can_be_named_by_a_function) {
  auto c = partitioned(two);
  c.partitions.by_call = [](const call_info& x) {
    if (x.priority > 5)
      throw std::runtime_error{"too important"};
    return x.priority > 0 ? "live" : x.priority < 0 ? "none" : "batch";
  };
  shared_rig h{c};
  for (auto priority : {1, 0, -1, 6}) {
    call_info x;
    x.key = "live";
    x.priority = priority;
    h.arrive(x);
  }
  EXPECT_EQ(h.count("in_use_live"), 1);
  EXPECT_EQ(h.count("in_use_batch"), 1);
  EXPECT_EQ(h.count("in_use_rest"), 1);
  EXPECT_EQ(h.e.threw, std::vector<std::string>{"by_call: too important"});
  h.flood("x", 9);
  c.partitions.by_call = [](const call_info&) { return "live"; };
  h.reconfigure(c);
  EXPECT_EQ(h.count("waiting_live"), 2) << "it is asked again";
}

TEST(partitions, whose_function_throws_cost_no_other_call_its_place) {
  auto c = partitioned(two);
  c.max_waiters = 10;
  c.partitions.by_call = [](const call_info& x) -> std::string {
    if (x.key == "bad")
      throw std::runtime_error{"no"};
    return "live";
  };
  shared_rig h{c};
  auto live = h.flood("live", 20);
  auto bad = h.of("bad");
  EXPECT_EQ(h.where(bad), place::rejected);
  EXPECT_EQ(h.calls.at(bad).code, errc::callback_failed);
  EXPECT_EQ(h.where(live[19]), place::held);
  EXPECT_EQ(h.count("evicted"), 0);
}

// -- adaptive limits ----------------------------------------------------------

TEST(partitions, of_an_adaptive_limit_follow_it) {
  adaptive_limit_config c;
  c.algorithm = limit_algorithm::aimd;
  c.initial_limit = 10;
  c.min_limit = 3;
  c.max_waiters = 100;
  c.min_samples = 1;
  c.window = 1ms;
  c.backoff = 0.5;
  c.partitions.list = two;
  rig<adaptive_limit> h{c};
  std::vector<call_id> batch;
  for (int i = 0; i < 12; ++i)
    batch.push_back(h.arrive(of_key("batch")));
  EXPECT_EQ(h.count("guaranteed_live"), 7);
  auto live = h.arrive(of_key("live"));
  h.fail(batch[0]);
  h.advance(2ms);
  h.fail(batch[1]);
  EXPECT_EQ(h.count("limit"), 5);
  EXPECT_EQ(h.count("guaranteed_live"), 3);
  EXPECT_EQ(h.count("guaranteed_batch"), 1);
  EXPECT_EQ(h.count("guaranteed_rest"), 1);
  EXPECT_EQ(h.where(live), place::below);
  h.finish(live);
  for (auto id : batch)
    if (h.where(id) == place::below)
      h.finish(id);
  for (auto id : batch)
    if (h.where(id) == place::below)
      h.finish(id);
  EXPECT_EQ(h.count("in_use"), 0);
  EXPECT_EQ(h.count("in_use_batch"), 0);
}

// A partition that must not borrow does not show that the limit is too low.
TEST(partitions, that_must_not_borrow_raise_no_limit) {
  adaptive_limit_config c;
  c.algorithm = limit_algorithm::aimd;
  c.initial_limit = 10;
  c.max_waiters = 100;
  c.min_samples = 1;
  c.window = 1ms;
  c.partitions = {.list = two, .borrow = false};
  rig<adaptive_limit> h{c};
  for (int i = 0; i < 20; ++i)
    h.arrive(of_key("batch"));
  for (call_id id = 1; id <= 20; ++id) {
    h.advance(2ms);
    h.finish(id);
  }
  EXPECT_EQ(h.count("limit"), 10);
  EXPECT_GT(h.count("unused"), 5);
}

// -- scale --------------------------------------------------------------------

// A quadratic step would take minutes.
TEST(partitions, a_storm_over_all_of_them_takes_linear_time) {
  share_list many;
  for (int i = 0; i < 31; ++i)
    many.push_back({"p" + std::to_string(i), 0.03});
  for (auto order : {wait_order::fifo, wait_order::fair}) {
    auto c = partitioned(many, 100);
    c.max_waiters = 100'000;
    c.order = order;
    shared_rig h{c};
    std::vector<slot> notes(100'100);
    std::vector<call_info> calls(100'100);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      calls[i].id = i + 1;
      calls[i].key = "p" + std::to_string(i % 40);
      h.policy.admit(calls[i], notes[i], h.e);
    }
    EXPECT_EQ(h.count("waiting"), 100'000);
    c.partitions.list.push_back({"p39", 0.03});
    h.reconfigure(c);
    EXPECT_EQ(h.count("waiting"), 100'000);
    std::vector<call_id> below;
    for (call_id i = 1; i <= 100; ++i)
      below.push_back(i);
    auto result = outcome::success();
    for (std::size_t i = 0; i < below.size(); ++i) {
      auto n = below[i] - 1;
      h.policy.complete(calls[n], notes[n], result, h.e);
      for (auto& a : std::exchange(h.e.actions, {}))
        below.push_back(a.call);
    }
    EXPECT_EQ(below.size(), 100'100u);
    EXPECT_EQ(h.count("in_use"), 0);
    EXPECT_EQ(h.count("in_use_p39"), 0);
  }
}

} // namespace
} // namespace caisson::test
