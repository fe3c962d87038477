// The orders of a semaphore's queue, and who leaves a full one.
#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>
#include <caisson/policies/keyed/keyed.hpp>
#include <caisson/policies/semaphore.hpp>

#include <support/problem_texts.hpp>
#include <support/rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using ids = std::vector<call_id>;

semaphore_config ordered(wait_order order, std::uint32_t max_waiters = 9) {
  semaphore_config c;
  c.permits = 1;
  c.max_waiters = max_waiters;
  c.order = order;
  return c;
}

struct order_rig : rig<semaphore> {
  using rig::rig;

  call_id of(std::int32_t priority) {
    call_info c;
    c.priority = priority;
    return arrive(c);
  }

  call_id due(duration deadline) {
    call_info c;
    c.deadline = start() + deadline;
    return arrive(c);
  }

  call_id keyed(std::string key) { return arrive(of_key(std::move(key))); }

  // The call that has the only permit comes back, and then the others in turn.
  ids serve_all() {
    ids out;
    for (;;) {
      call_id below = 0;
      for (auto& [id, x] : calls)
        if (x.where == place::below)
          below = id;
      if (below == 0)
        return out;
      finish(below);
      out.push_back(below);
    }
  }
};

// -- settings -----------------------------------------------------------------

using key_texts = std::vector<std::string>;

key_texts wrong_in(semaphore_config c) {
  return kinds_and_keys(problems_of(std::move(c)));
}

TEST(wait_orders, need_places_to_wait_in) {
  for (auto i = 1; i < 7; ++i)
    EXPECT_EQ(wrong_in(ordered(static_cast<wait_order>(i), 0)),
              key_texts{"relation order"});
  auto c = ordered(wait_order::fifo, 0);
  c.queue.reject_hopeless = true;
  EXPECT_EQ(wrong_in(c), key_texts{"relation reject_hopeless"});
  for (auto i = 0; i < 7; ++i)
    EXPECT_EQ(wrong_in(ordered(static_cast<wait_order>(i), 11)), key_texts{});
}

TEST(wait_orders, refuse_settings_without_effect) {
  auto c = ordered(wait_order::adaptive_lifo, 10);
  EXPECT_EQ(wrong_in(c), key_texts{"relation lifo_above"});
  c.queue.lifo_above = 9;
  EXPECT_EQ(wrong_in(c), key_texts{});
  c = ordered(wait_order::codel, 1);
  EXPECT_EQ(wrong_in(c), key_texts{"relation codel_keep"});
  c.queue.codel_keep = 0;
  EXPECT_EQ(wrong_in(c), key_texts{});
  c.queue.codel_target = 101ms;
  EXPECT_EQ(wrong_in(c), key_texts{"relation codel_target"});
  c.queue.codel_target = 100ms;
  EXPECT_EQ(wrong_in(c), key_texts{});
}

TEST(wait_orders, by_key_make_no_sense_per_key) {
  for (auto i = 0; i < 7; ++i) {
    auto order = static_cast<wait_order>(i);
    auto wrong = order == wait_order::fair ? key_texts{"relation order"}
                                           : key_texts{};
    EXPECT_EQ(kinds_and_keys(
                problems_of(keyed_config<semaphore>{ordered(order, 11), {}})),
              wrong);
    adaptive_limit_config a;
    a.max_waiters = 11;
    a.order = order;
    EXPECT_EQ(kinds_and_keys(problems_of(keyed_config<adaptive_limit>{a, {}})),
              wrong);
  }
  // Not in the settings of one key, either.
  keyed_config<semaphore> k{ordered(wait_order::lifo), {}};
  k.per_key.overrides["a"] = {{"order", "fair"}};
  EXPECT_EQ(kinds_and_keys(problems_of(k)),
            key_texts{"relation per_key.overrides.a.order"});
}

TEST(wait_orders, refuse_settings_of_other_orders_in_a_table) {
  auto read = [](const char* order, const char* key, const char* value) {
    semaphore_config c;
    auto s = settings_from_text(
      {{"max_waiters", "20"}, {"order", order}, {key, value}});
    return kinds_and_keys(read_settings(s, {}, c));
  };
  EXPECT_EQ(read("codel", "codel_target", "1ms"), key_texts{});
  EXPECT_EQ(read("fifo", "codel_target", "1ms"),
            key_texts{"relation codel_target"});
  EXPECT_EQ(read("priority", "aging", "1ms"), key_texts{});
  EXPECT_EQ(read("lifo", "aging", "1ms"), key_texts{"relation aging"});
  EXPECT_EQ(read("adaptive_lifo", "lifo_above", "3"), key_texts{});
  EXPECT_EQ(read("lifo", "lifo_above", "3"), key_texts{"relation lifo_above"});
}

// -- turns --------------------------------------------------------------------

TEST(wait_orders, adaptive_lifo_serves_the_newest_only_while_many_wait) {
  auto c = ordered(wait_order::adaptive_lifo);
  c.queue.lifo_above = 2;
  order_rig h{c};
  for (int i = 0; i < 6; ++i)
    h.arrive();
  EXPECT_EQ(h.serve_all(), (ids{1, 6, 5, 4, 2, 3}));
}

TEST(wait_orders, deadline_first_serves_the_most_urgent) {
  order_rig h{ordered(wait_order::deadline_first)};
  h.arrive();
  h.arrive();
  h.due(3s);
  h.due(1s);
  h.due(2s);
  h.due(1s);
  EXPECT_EQ(h.serve_all(), (ids{1, 4, 6, 5, 3, 2}));
}

TEST(wait_orders, a_more_urgent_call_takes_a_permit_that_another_cannot_use) {
  auto c = ordered(wait_order::deadline_first);
  c.permits = 2;
  order_rig h{c};
  h.arrive();
  auto big = h.arrive(heavy(2));
  EXPECT_EQ(h.where(big), place::held);
  EXPECT_EQ(h.where(h.arrive()), place::held) << "its turn comes later";
  EXPECT_EQ(h.where(h.due(1s)), place::below);
}

TEST(wait_orders, priority_serves_the_highest_and_ages_the_others) {
  auto c = ordered(wait_order::priority);
  c.queue.aging = 100ms;
  order_rig h{c};
  h.arrive();
  auto low = h.of(-1);
  h.advance(199ms);
  auto high = h.of(1);
  h.advance(1ms);
  auto same = h.of(1);
  h.advance(1ms);
  auto later = h.of(1);
  EXPECT_EQ(h.serve_all(), (ids{1, high, same, low, later}));
}

// A permit that is left over ends to shed, however it came.
TEST(wait_orders, codel_sees_permits_that_nobody_waits_for) {
  auto c = ordered(wait_order::codel);
  c.permits = 4;
  c.queue.codel_keep = 0;
  order_rig h{c};
  auto big = h.arrive(heavy(4));
  auto first = h.arrive();
  h.advance_to(50ms);
  h.finish(big);
  EXPECT_EQ(h.where(first), place::below);
  h.advance_to(10s);
  auto other = h.arrive(heavy(3));
  auto late = h.arrive();
  h.advance_to(10s + 20ms);
  h.finish(other);
  EXPECT_EQ(h.where(late), place::below);
  EXPECT_EQ(h.count("shed"), 0);
}

TEST(wait_orders, codel_begins_anew_after_another_order) {
  auto c = ordered(wait_order::codel);
  c.queue.codel_keep = 0;
  order_rig h{c};
  auto a = h.arrive();
  auto b = h.arrive();
  h.advance(20ms);
  auto d = h.arrive();
  h.finish(a);
  EXPECT_EQ(h.where(b), place::below) << "it has waited for too long";
  auto other = c;
  other.order = wait_order::fifo;
  other.queue = {};
  h.reconfigure(other);
  h.advance(200ms);
  h.reconfigure(c);
  h.finish(b);
  EXPECT_EQ(h.where(d), place::below);
  EXPECT_EQ(h.count("shed"), 0);
}

TEST(wait_orders, no_other_order_sheds) {
  for (auto order : {wait_order::fifo, wait_order::lifo, wait_order::priority,
                     wait_order::fair, wait_order::deadline_first}) {
    order_rig h{ordered(order)};
    h.arrive();
    for (int i = 0; i < 5; ++i)
      h.arrive();
    for (int i = 0; i < 5; ++i) {
      h.advance(1s);
      for (auto& [id, x] : h.calls)
        if (x.where == place::below) {
          h.finish(id);
          break;
        }
    }
    EXPECT_EQ(h.count("shed"), 0);
    EXPECT_EQ(h.count("granted"), 5);
  }
}

TEST(wait_orders, priorities_count_however_long_they_take_to_age) {
  for (auto aging : {1h, 24h, 24h * 365, 24h * 36'500}) {
    auto c = ordered(wait_order::priority);
    c.queue.aging = aging;
    order_rig h{c};
    auto running = h.arrive();
    call_info low, high;
    low.priority = 1'000'000;
    high.priority = 2'000'000;
    auto a = h.arrive(low);
    h.advance_to(1s);
    auto b = h.arrive(high);
    h.finish(running);
    EXPECT_EQ(h.where(b), place::below);
    EXPECT_EQ(h.where(a), place::held);
  }
}

TEST(wait_orders, a_clock_that_steps_back_lets_nobody_overtake) {
  auto c = ordered(wait_order::priority);
  order_rig h{c};
  h.advance_to(10s);
  auto running = h.arrive();
  auto a = h.arrive();
  h.e.now -= 5s;
  auto b = h.arrive();
  h.finish(running);
  EXPECT_EQ(h.where(a), place::below);
  EXPECT_EQ(h.where(b), place::held);
}

TEST(wait_orders, priority_without_aging_never_serves_the_lower_first) {
  auto c = ordered(wait_order::priority);
  c.queue.aging = unlimited;
  order_rig h{c};
  h.arrive();
  auto low = h.of(-2'147'483'648);
  h.advance(1'000'000s);
  auto high = h.of(2'147'483'647);
  auto middle = h.of(0);
  EXPECT_EQ(h.serve_all(), (ids{1, high, middle, low}));
}

TEST(wait_orders, priorities_far_apart_do_not_overflow) {
  auto c = ordered(wait_order::priority);
  c.queue.aging = unlimited - 1ns;
  order_rig h{c};
  h.arrive();
  auto low = h.of(-2'147'483'648);
  auto high = h.of(2'147'483'647);
  auto higher = h.of(0);
  EXPECT_EQ(h.serve_all(), (ids{1, high, higher, low}));
}

TEST(wait_orders, fair_serves_keys_in_turn) {
  order_rig h{ordered(wait_order::fair)};
  h.keyed("a");
  h.keyed("a");
  h.keyed("a");
  h.keyed("a");
  h.keyed("b");
  h.keyed("");
  EXPECT_EQ(h.serve_all(), (ids{1, 2, 5, 6, 3, 4}));
}

TEST(wait_orders, change_while_calls_wait) {
  auto c = ordered(wait_order::fifo);
  order_rig h{c};
  h.arrive();
  auto a = h.of(1);
  auto b = h.of(2);
  auto d = h.of(3);
  auto e = h.keyed("k");
  EXPECT_EQ(h.count("waiting"), 4);
  c.order = wait_order::priority;
  h.reconfigure(c);
  EXPECT_EQ(h.count("waiting"), 4);
  h.finish(1);
  EXPECT_EQ(h.where(d), place::below);
  c.order = wait_order::fair;
  h.reconfigure(c);
  h.finish(d);
  EXPECT_EQ(h.where(a), place::below);
  h.finish(a);
  EXPECT_EQ(h.where(e), place::below) << "the other key has its turn";
  h.abandon(e);
  EXPECT_EQ(h.where(b), place::below);
}

// -- a full queue -------------------------------------------------------------

// The last call comes to a full queue. Returns who was refused.
ids refused(order_rig& h) {
  ids out;
  for (auto& [id, x] : h.calls)
    if (x.where == place::rejected) {
      EXPECT_EQ(x.code, errc::queue_full);
      out.push_back(id);
    }
  EXPECT_EQ(h.count("queue_full") + h.count("evicted"),
            static_cast<std::int64_t>(out.size()));
  return out;
}

TEST(wait_orders, full_queues_in_order_of_arrival_refuse_the_newcomer) {
  for (auto order : {wait_order::fifo, wait_order::codel}) {
    order_rig h{ordered(order, 2)};
    for (int i = 0; i < 4; ++i)
      h.arrive();
    EXPECT_EQ(refused(h), ids{4});
    EXPECT_EQ(h.count("queue_full"), 1);
  }
}

TEST(wait_orders, full_adaptive_lifo_rejects_the_oldest) {
  auto c = ordered(wait_order::adaptive_lifo, 2);
  c.queue.lifo_above = 1;
  order_rig h{c};
  for (int i = 0; i < 4; ++i)
    h.arrive();
  EXPECT_EQ(refused(h), ids{2});
  EXPECT_EQ(h.count("evicted"), 1);
}

TEST(wait_orders, full_deadline_first_rejects_the_least_urgent) {
  order_rig h{ordered(wait_order::deadline_first, 2)};
  h.arrive();
  h.due(2s);
  h.due(3s);
  h.due(3s);
  EXPECT_EQ(refused(h), ids{4});
  h.due(1s);
  EXPECT_EQ(refused(h), (ids{3, 4}));
}

TEST(wait_orders, full_priority_rejects_the_least_important) {
  order_rig h{ordered(wait_order::priority, 2)};
  h.arrive();
  h.of(0);
  h.of(1);
  h.of(0);
  EXPECT_EQ(refused(h), ids{4});
  h.of(1);
  EXPECT_EQ(refused(h), (ids{2, 4}));
}

TEST(wait_orders, full_fair_rejects_the_newest_of_the_longest) {
  order_rig h{ordered(wait_order::fair, 3)};
  h.keyed("a");
  h.keyed("a");
  h.keyed("a");
  h.keyed("a");
  h.keyed("a");
  EXPECT_EQ(refused(h), ids{5}) << "its own key has the most";
  h.keyed("b");
  EXPECT_EQ(refused(h), (ids{4, 5}));
  h.keyed("b");
  EXPECT_EQ(refused(h), (ids{4, 5, 7})) << "it would have as many";
}

// -- shedding -----------------------------------------------------------------

TEST(wait_orders, codel_sheds_while_all_wait_too_long) {
  auto c = ordered(wait_order::codel, 100);
  order_rig h{c};
  h.arrive();
  // Two come for each one that is served.
  for (int i = 0; i < 40; ++i) {
    h.arrive();
    h.arrive();
    h.advance(10ms);
    for (auto& [id, x] : h.calls)
      if (x.where == place::below) {
        h.finish(id);
        break;
      }
  }
  // The first waits of 5 ms end at 10 ms; 100 ms later one is shed, then at
  // 210, 281, 339 and 389 ms.
  EXPECT_EQ(h.count("shed"), 5);
  call_id first = 0;
  for (auto& [id, x] : h.calls)
    if (first == 0 && x.where == place::rejected)
      first = id;
  EXPECT_EQ(h.calls.at(first).code, errc::shed);
  EXPECT_EQ(h.count("queued"),
            h.count("granted") + h.count("shed") + h.count("waiting"));
}

TEST(wait_orders, codel_keeps_the_last_ones) {
  auto c = ordered(wait_order::codel, 9);
  c.queue.codel_keep = 2;
  order_rig h{c};
  h.arrive();
  for (int i = 0; i < 4; ++i)
    h.arrive();
  h.advance(10ms);
  h.finish(1);
  h.advance(100ms);
  h.finish(2);
  EXPECT_EQ(h.count("shed"), 1);
  h.advance(1s);
  h.finish(4);
  EXPECT_EQ(h.count("shed"), 1);
  EXPECT_EQ(h.where(5), place::below);
}

TEST(wait_orders, codel_begins_anew_when_a_permit_is_left_over) {
  order_rig h{ordered(wait_order::codel)};
  auto wait_too_long = [&] {
    auto a = h.arrive();
    auto b = h.arrive();
    auto d = h.arrive();
    auto e = h.arrive();
    h.advance(60ms);
    h.finish(a);
    h.advance(60ms);
    h.finish(b);
    h.advance(60ms);
    return std::pair{d, e};
  };
  auto [d, e] = wait_too_long();
  EXPECT_EQ(h.count("shed"), 0);
  h.finish(d);
  EXPECT_EQ(h.where(e), place::below);
  h.finish(e);
  wait_too_long();
  EXPECT_EQ(h.count("shed"), 0);
}

} // namespace
} // namespace caisson::test
