// A queue of calls: who waits, whose turn it is, and who leaves.
#include <caisson/base/random.hpp>
#include <caisson/policy/waiting_queue.hpp>

#include <support/times.hpp>
#include <support/violations.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using stay = waiting_queue::stay;

call_info call_of(call_id id) {
  call_info c;
  c.id = id;
  return c;
}

// Joins with calls 1, 2, … of these weights.
std::vector<stay> join(waiting_queue& q, std::vector<std::uint32_t> weights) {
  std::vector<stay> out;
  for (auto permits : weights) {
    out.push_back({.permits = permits});
    q.join(call_of(out.size()), out.back(), {});
  }
  return out;
}

std::vector<call_id> turns(waiting_queue& q) {
  std::vector<call_id> out;
  while (!q.empty())
    out.push_back(q.take_next().call);
  return out;
}

using call_ids = std::vector<call_id>;

TEST(waiting_queue, gives_turns_in_the_order_of_arrival_or_against_it) {
  waiting_queue fifo;
  join(fifo, {1, 1, 1});
  EXPECT_EQ(turns(fifo), (call_ids{1, 2, 3}));
  waiting_queue lifo{wait_order::lifo};
  join(lifo, {1, 1, 1});
  EXPECT_EQ(turns(lifo), (call_ids{3, 2, 1}));
}

TEST(waiting_queue, knows_how_long_each_has_waited) {
  waiting_queue q;
  auto stays = std::vector<stay>(3);
  for (int i = 0; i < 3; ++i)
    q.join(call_of(static_cast<call_id>(i + 1)),
           stays[static_cast<std::size_t>(i)], start + std::chrono::seconds(i));
  auto now = start + std::chrono::seconds(10);
  EXPECT_EQ(q.leave(stays[1]).waited(now), std::chrono::seconds(9));
  EXPECT_EQ(q.take_next().waited(now), std::chrono::seconds(10));
  // The clock has stepped back.
  EXPECT_EQ(q.take_next().waited(start), duration::zero());
}

TEST(waiting_queue, gives_back_what_was_noted_on_a_call) {
  waiting_queue q;
  stay a;
  stay b;
  q.join(call_of(1), a, start, never, 7);
  q.join(call_of(2), b, start);
  EXPECT_EQ(q.take_next().note, 7u);
  EXPECT_EQ(q.take_next().note, 0u);
}

TEST(waiting_queue, goes_on_in_another_order_with_everybody_in_it) {
  waiting_queue q;
  join(q, {1, 1, 1, 1});
  EXPECT_EQ(q.take_next().call, 1u);
  q.reorder(wait_order::lifo, {}, start);
  EXPECT_EQ(q.take_next().call, 4u);
  EXPECT_EQ(q.drop_next().call, 3u);
  EXPECT_EQ(turns(q), (call_ids{2}));
}

TEST(waiting_queue, knows_whether_a_newcomer_would_be_next) {
  waiting_queue q;
  EXPECT_TRUE(q.newcomer_is_next({}, start));
  join(q, {1});
  EXPECT_FALSE(q.newcomer_is_next({}, start));
  q.reorder(wait_order::lifo, {}, start);
  EXPECT_TRUE(q.newcomer_is_next({}, start));
}

TEST(waiting_queue, weighs_those_who_wait) {
  waiting_queue q;
  auto stays = join(q, {5, 2, 7});
  EXPECT_EQ(q.weight(), 14);
  q.leave(stays[1]);
  EXPECT_EQ(q.weight(), 12);
  EXPECT_EQ(q.next().permits, 5u);
  q.take_next();
  EXPECT_EQ(q.weight(), 7);
  q.take_next();
  EXPECT_EQ(q.weight(), 0);
}

TEST(waiting_queue, forgets_who_left_also_if_the_place_has_another_owner) {
  waiting_queue q;
  auto first = join(q, {1})[0];
  EXPECT_TRUE(q.waits(first, 1));
  EXPECT_FALSE(q.waits(first, 2));
  q.leave(first);
  EXPECT_FALSE(q.waits(first, 1));
  stay second;
  q.join(call_of(2), second, {});
  ASSERT_EQ(second.place, first.place) << "places are reused";
  EXPECT_FALSE(q.waits(first, 1));
  EXPECT_TRUE(q.waits(second, 2));
  EXPECT_FALSE(q.waits(stay{}, 3));
}

TEST(waiting_queue, takes_out_what_is_too_heavy_oldest_first) {
  waiting_queue q;
  join(q, {5, 3, 4, 9});
  call_ids removed_calls;
  q.take_heavier(3, [&](const auto& w) { removed_calls.push_back(w.call); });
  EXPECT_EQ(removed_calls, (call_ids{1, 3, 4}));
  EXPECT_EQ(q.weight(), 3);
  EXPECT_EQ(turns(q), (call_ids{2}));
}

TEST(waiting_queue, agrees_with_a_plain_list_under_random_operations) {
  random_source random{5};
  waiting_queue q;
  std::vector<std::pair<call_id, stay>> model;
  for (call_id id = 1; id <= 20'000; ++id) {
    if (model.empty() || random.below(100) < 51) {
      stay s{.permits = static_cast<std::uint32_t>(1 + random.below(9))};
      q.join(call_of(id), s, {});
      model.emplace_back(id, s);
    } else {
      auto i = static_cast<std::ptrdiff_t>(random.below(model.size()));
      q.leave(model[static_cast<std::size_t>(i)].second);
      model.erase(model.begin() + i);
    }
    std::int64_t weight = 0;
    for (auto& [_, s] : model)
      weight += s.permits;
    ASSERT_EQ(q.weight(), weight);
    ASSERT_EQ(q.size(), model.size());
    if (!model.empty()) {
      ASSERT_EQ(q.next().call, model.front().first);
      ASSERT_TRUE(q.waits(model.back().second, model.back().first));
    }
  }
}

TEST(waiting_queue, nobody_is_to_leave_if_nobody_waits) {
  violations_throw guard;
  waiting_queue q;
  EXPECT_THROW(q.drop_last(), invariant_violation);
  EXPECT_THROW(q.make_room(call_of(1), {}), invariant_violation);
}

} // namespace
} // namespace caisson::test
