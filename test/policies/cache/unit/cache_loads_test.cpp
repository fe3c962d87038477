// Loads of a cache for what it does not have, and its answers meanwhile.
#include <caisson/policies/cache/cache.hpp>

#include <policies/cache/model/cache_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// A cache that has `old` for "k", whose time is over after ten seconds.
cache_rig with_old(cache_config c) {
  c.ttl = 10s;
  cache_rig h{std::move(c)};
  h.read("k");
  h.reply(1, "old");
  return h;
}

// -- single flight ------------------------------------------------------------

TEST(cache_loads, calls_for_one_key_share_one_child) {
  cache_rig h;
  std::vector<call_id> all;
  for (int i = 0; i < 100; ++i)
    all.push_back(h.read("k"));
  EXPECT_EQ(h.children(), 1u);
  h.reply(1, "v");
  for (auto id : all)
    EXPECT_EQ(h.got(id), "v");
  EXPECT_EQ(h.count("misses"), 1);
  EXPECT_EQ(h.count("joined"), 99);
}

TEST(cache_loads, they_share_its_error_and_the_next_one_tries_again) {
  cache_rig h;
  auto a = h.read("k");
  auto b = h.read("k");
  h.refuse(1, errc::breaker_open);
  EXPECT_EQ(h.got(a), "breaker_open");
  EXPECT_EQ(h.got(b), "breaker_open");
  h.read("k");
  EXPECT_EQ(h.children(), 2u);
}

TEST(cache_loads, go_on_for_those_that_are_left) {
  cache_rig h;
  auto a = h.read("k");
  auto b = h.read("k");
  h.drop(a);
  h.reply(1, "v");
  EXPECT_EQ(h.got(b), "v");
  EXPECT_EQ(h.count("abandoned"), 1);
}

TEST(cache_loads, leave_nothing_behind_when_the_last_one_leaves) {
  cache_rig h;
  auto a = h.read("k");
  auto b = h.read("k");
  h.drop(a);
  h.drop(b);
  EXPECT_EQ(h.count("loading"), 0);
  EXPECT_EQ(h.count("keys"), 0);
  h.read("k");
  EXPECT_EQ(h.children(), 2u);
}

TEST(cache_loads, are_joined_for_a_while_only) {
  cache_rig h{{.join_within = 5s}};
  auto a = h.read("k");
  h.pass(5s - 1ns);
  auto b = h.read("k");
  EXPECT_EQ(h.children(), 1u);
  h.pass(1ns);
  auto c = h.read("k");
  auto d = h.read("k");
  EXPECT_EQ(h.children(), 2u);
  h.reply(2, "second");
  EXPECT_EQ(h.got(c), "second");
  EXPECT_EQ(h.got(d), "second");
  EXPECT_EQ(h.got(a), "...");
  // What began earlier knows less.
  h.reply(1, "first");
  EXPECT_EQ(h.got(b), "first");
  EXPECT_EQ(h.get("k"), "second");
}

TEST(cache_loads, without_single_flight_each_call_goes_alone) {
  cache_rig h{{.single_flight = false}};
  auto a = h.read("k");
  auto b = h.read("k");
  EXPECT_EQ(h.got(a), "below");
  EXPECT_EQ(h.got(b), "below");
  h.reply_to(b, "second");
  h.reply_to(a, "first");
  EXPECT_EQ(h.get("k"), "second");
  EXPECT_EQ(h.count("misses"), 2);
  EXPECT_EQ(h.children(), 0u);
}

TEST(cache_loads, observing_lets_calls_pass_and_learns_from_them) {
  cache_rig h{{.ttl = 10s, .stale_while = 5s}};
  auto observe = [&] {
    auto id = h.read("k", {.acts = mode::observe});
    if (h.got(id) != "below")
      return h.got(id); // The host would let it pass.
    h.reply_to(id, "v");
    return std::string{"alone"};
  };
  EXPECT_EQ(observe(), "alone");
  EXPECT_EQ(observe(), "v");
  h.pass(10s);
  EXPECT_EQ(observe(), "alone");
  EXPECT_EQ(observe(), "v");
  EXPECT_EQ(h.count("misses"), 1);
  EXPECT_EQ(h.count("stale_hits"), 1);
  EXPECT_EQ(h.count("hits"), 2);
  EXPECT_EQ(h.children(), 0u);
}

// -- stale while revalidating -------------------------------------------------

TEST(cache_loads, an_old_value_answers_while_it_is_refreshed) {
  auto h = with_old({.stale_while = 5s});
  h.pass(10s);
  EXPECT_EQ(h.get("k"), "old");
  EXPECT_EQ(h.get("k"), "old");
  ASSERT_EQ(h.children(), 2u);
  EXPECT_TRUE(h.e.children[1].parents.empty());
  auto content = h.policy.take_content(2);
  ASSERT_TRUE(content);
  EXPECT_EQ(*static_cast<const std::string*>(content.get()), "ask k");
  h.reply(2, "new");
  EXPECT_EQ(h.get("k"), "new");
  EXPECT_EQ(h.count("stale_hits"), 2);
  EXPECT_EQ(h.count("refreshed"), 1);
  EXPECT_EQ(h.count("misses"), 1);
}

TEST(cache_loads, a_refresh_is_to_layers_below_what_its_call_is) {
  auto h = with_old({.stale_while = 5s, .refresh_timeout = 3s});
  h.pass(10s);
  call_info call;
  call.permits = 4;
  call.priority = 7;
  call.idempotent = idempotence::yes;
  h.read("k", {}, call);
  const auto& child = h.e.children.at(1);
  EXPECT_EQ(child.key, "k");
  EXPECT_EQ(child.permits, 4u);
  EXPECT_EQ(child.priority, 7);
  EXPECT_EQ(child.idempotent, idempotence::yes);
  EXPECT_EQ(child.deadline - h.e.now, 3s);
}

TEST(cache_loads, a_failed_refresh_is_not_repeated_at_once) {
  auto h = with_old({.stale_while = 5s, .refresh_backoff = 1s});
  h.pass(10s);
  h.get("k");
  h.reply(2, "!down");
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(h.get("k"), "old");
  h.pass(1s - 1ns);
  EXPECT_EQ(h.get("k"), "old");
  EXPECT_EQ(h.children(), 2u);
  h.pass(1ns);
  EXPECT_EQ(h.get("k"), "old");
  EXPECT_EQ(h.children(), 3u);
  EXPECT_EQ(h.count("refresh_failed"), 1);
}

TEST(cache_loads, one_refresh_of_a_key_at_a_time) {
  auto h = with_old({.join_within = 1ms, .stale_while = 5s});
  h.pass(10s);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(h.get("k"), "old");
    h.pass(1s);
  }
  EXPECT_EQ(h.children(), 2u);
}

TEST(cache_loads, a_value_that_must_not_be_kept_ends_the_old_one) {
  auto h = with_old({.stale_while = 5s});
  h.pass(10s);
  h.get("k");
  h.reply(2, "for 0 seconds");
  EXPECT_EQ(h.get("k"), "...");
}

TEST(cache_loads, an_error_that_is_kept_ends_the_old_value) {
  auto h = with_old(
    {.negative_ttl = 1s, .stale_while = 5s, .stale_if_error = 1h});
  h.pass(10s);
  h.get("k");
  h.reply(2, "!none");
  EXPECT_EQ(h.get("k"), "!none");
  EXPECT_EQ(h.count("refreshed"), 1);
}

TEST(cache_loads, calls_join_a_refresh_when_the_value_is_too_old) {
  auto h = with_old({.stale_while = 1s});
  h.pass(10s);
  h.get("k");
  h.pass(1s);
  auto a = h.read("k");
  EXPECT_EQ(h.got(a), "...");
  EXPECT_EQ(h.children(), 2u);
  h.reply(2, "new");
  EXPECT_EQ(h.got(a), "new");
}

TEST(cache_loads, who_joined_a_refresh_that_timed_out_asks_for_himself) {
  auto h = with_old({.stale_while = 1s});
  h.pass(10s);
  h.get("k");
  h.pass(1s);
  auto a = h.read("k");
  auto b = h.read("k");
  h.refuse(2, errc::deadline_exceeded, true);
  EXPECT_EQ(h.got(a), "...");
  ASSERT_EQ(h.children(), 3u);
  h.reply(3, "new");
  EXPECT_EQ(h.got(a), "new");
  EXPECT_EQ(h.got(b), "new");
}

TEST(cache_loads, but_with_no_other_error_of_it) {
  auto h = with_old({.stale_while = 1s});
  h.pass(10s);
  h.get("k");
  h.pass(1s);
  auto a = h.read("k");
  h.refuse(2, errc::breaker_open);
  EXPECT_EQ(h.got(a), "breaker_open");
  EXPECT_EQ(h.children(), 2u);
}

// -- time limits --------------------------------------------------------------

TEST(cache_loads, who_has_more_time_loads_again) {
  cache_rig h;
  auto a = h.read_within("k", 50ms);
  auto b = h.read_within("k", 5s);
  auto c = h.read_within("k", 3s);
  h.pass(49ms);
  h.refuse(1, errc::deadline_exceeded, true);
  EXPECT_EQ(h.got(a), "deadline_exceeded");
  EXPECT_EQ(h.got(b), "...");
  ASSERT_EQ(h.children(), 2u);
  EXPECT_EQ(h.e.children[1].parents, (std::vector{b, c}));
  // One that comes now joins them.
  auto d = h.read_within("k", 1s);
  h.reply(2, "v");
  for (auto id : {b, c, d})
    EXPECT_EQ(h.got(id), "v");
  EXPECT_EQ(h.children(), 2u);
  EXPECT_EQ(h.count("misses"), 2);
  EXPECT_EQ(h.count("joined"), 4);
}

TEST(cache_loads, whatever_says_that_the_time_was_over) {
  struct {
    answer_class kind;
    bool out_of_time;
    bool again;
  } const rows[] = {
    {answer_class::retry, true, true},
    {answer_class::shed, true, true},
    {answer_class::retry, false, false},
  };
  for (const auto& row : rows) {
    cache_rig h{{.negative_ttl = 1h}};
    h.read_within("k", 50ms);
    auto b = h.read_within("k", 5s);
    h.no_answer(1, row.kind, row.out_of_time);
    EXPECT_EQ(h.children(), row.again ? 2u : 1u);
    EXPECT_EQ(h.got(b), row.again ? "..." : "!");
    EXPECT_EQ(h.count("stored_negative"), 0);
  }
}

TEST(cache_loads, who_has_no_more_time_than_the_load_had_does_not) {
  cache_rig h;
  h.read_within("k", 5s);
  auto b = h.read_within("k", 5s);
  auto c = h.read_within("k", 1s);
  h.refuse(1, errc::deadline_exceeded, true);
  EXPECT_EQ(h.got(b), "deadline_exceeded");
  EXPECT_EQ(h.got(c), "deadline_exceeded");
  EXPECT_EQ(h.children(), 1u);
}

TEST(cache_loads, a_burst_with_different_times_loads_once_again) {
  cache_rig h;
  h.read_within("k", 1ms);
  std::vector<call_id> all;
  for (int i = 1; i <= 1'000; ++i)
    all.push_back(h.read_within("k", 1s + i * 1ms));
  h.refuse(1, errc::deadline_exceeded, true);
  // It has the time of the last of them, so this one does not load again.
  all.push_back(h.read_within("k", 1500ms));
  h.refuse(2, errc::deadline_exceeded, true);
  EXPECT_EQ(h.children(), 2u);
  for (auto id : all)
    EXPECT_EQ(h.got(id), "deadline_exceeded");
}

TEST(cache_loads, a_write_that_came_meanwhile_is_what_they_get) {
  cache_rig h;
  h.read_within("k", 50ms);
  auto b = h.read_within("k", 5s);
  h.write("k", "new");
  h.refuse(1, errc::deadline_exceeded, true);
  EXPECT_EQ(h.got(b), "new");
  EXPECT_EQ(h.children(), 1u);
}

TEST(cache_loads, so_is_the_value_of_a_later_load) {
  cache_rig h{{.join_within = 1ms}};
  h.read_within("k", 50ms);
  auto b = h.read_within("k", 5s);
  h.pass(1ms);
  h.read_within("k", 5s);
  h.reply(2, "v");
  h.refuse(1, errc::deadline_exceeded, true);
  EXPECT_EQ(h.got(b), "v");
  EXPECT_EQ(h.children(), 2u);
}

TEST(cache_loads, who_leaves_the_next_load_leaves_nothing_behind) {
  cache_rig h;
  h.read_within("k", 50ms);
  auto b = h.read_within("k", 5s);
  h.refuse(1, errc::deadline_exceeded, true);
  h.drop(b);
  EXPECT_EQ(h.count("loading"), 0);
  EXPECT_EQ(h.count("keys"), 0);
}

// -- stale if error -----------------------------------------------------------

TEST(cache_loads, an_old_value_stands_in_for_errors) {
  struct {
    errc code;
    bool stands_in;
  } const rows[] = {
    {errc::breaker_open, true},      {errc::queue_full, true},
    {errc::worker_down, true},       {errc::shed, true},
    {errc::deadline_exceeded, true}, {errc::call_loop, false},
    {errc::callback_failed, false},  {errc::internal_error, true},
  };
  for (const auto& row : rows) {
    auto h = with_old({.stale_if_error = 5s});
    h.pass(10s);
    auto a = h.read("k");
    auto b = h.read("k");
    h.refuse(2, row.code);
    EXPECT_EQ(h.got(a), row.stands_in ? "old" : name_of(row.code));
    EXPECT_EQ(h.got(b), h.got(a));
    EXPECT_EQ(h.count("stale_on_error"), row.stands_in ? 2 : 0);
  }
}

TEST(cache_loads, it_stands_in_for_so_long_and_no_longer) {
  auto h = with_old({.stale_if_error = 5s, .refresh_backoff = 1ms});
  h.pass(15s - 1ns);
  auto a = h.read("k");
  h.reply(2, "!down");
  EXPECT_EQ(h.got(a), "old");
  h.pass(1ns);
  auto b = h.read("k");
  EXPECT_EQ(h.count("expired"), 1);
  h.pass(1ms);
  h.reply(3, "!down");
  EXPECT_EQ(h.got(b), "!down");
}

TEST(cache_loads, it_stands_in_for_faults_of_the_server_only) {
  using enum answer_class;
  for (auto kind : {unknown, retry, retry_after, shed}) {
    auto h = with_old({.stale_if_error = 5s});
    h.pass(10s);
    auto a = h.read("k");
    h.answer(2, kind, 0s);
    EXPECT_EQ(h.got(a), "old") << name_of(kind);
    EXPECT_EQ(h.count("entries"), 1);
  }
  for (auto kind : {fail, conflict}) {
    auto h = with_old({.stale_if_error = 5s});
    h.pass(10s);
    auto a = h.read("k");
    auto b = h.read("k");
    h.answer(2, kind, 0s);
    EXPECT_EQ(h.got(a), "!") << name_of(kind);
    EXPECT_EQ(h.got(b), "!");
    // It is over for good.
    auto c = h.read("k");
    h.refuse(3, errc::worker_down);
    EXPECT_EQ(h.got(c), "worker_down");
  }
}

TEST(cache_loads, it_stands_in_for_others_if_they_are_listed) {
  cache_config c{.stale_if_error = 5s};
  c.failures.allow = {"class:fail"};
  auto h = with_old(c);
  h.pass(10s);
  auto a = h.read("k");
  h.reply(2, "!none");
  EXPECT_EQ(h.got(a), "old");
  EXPECT_EQ(h.count("entries"), 1);
}

TEST(cache_loads, a_refresh_that_finds_nothing_ends_the_old_value) {
  auto h = with_old({.stale_while = 5s, .stale_if_error = 1h});
  h.pass(10s);
  EXPECT_EQ(h.get("k"), "old");
  h.reply(2, "!none");
  auto a = h.read("k");
  EXPECT_EQ(h.got(a), "...");
  h.reply(3, "!none");
  EXPECT_EQ(h.got(a), "!none");
}

TEST(cache_loads, what_was_asked_before_a_newer_answer_ends_no_value) {
  cache_rig h{{.join_within = 1ms, .stale_if_error = 1h}};
  h.read("k");
  h.pass(1ms);
  h.read("k");
  h.reply(2, "v");
  h.reply(1, "!none");
  EXPECT_EQ(h.get("k"), "v");
}

TEST(cache_loads, a_value_that_grows_too_old_meanwhile_does_not_stand_in) {
  auto h = with_old({.stale_if_error = 5s});
  h.pass(14s);
  auto a = h.read("k");
  h.pass(1s);
  h.reply(2, "!down");
  EXPECT_EQ(h.got(a), "!down");
}

TEST(cache_loads, a_worker_that_failed_is_left_alone_for_a_while) {
  auto h = with_old({.stale_if_error = 5s, .refresh_backoff = 1s});
  h.pass(10s);
  h.read("k");
  h.reply(2, "!down");
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(h.get("k"), "old");
  EXPECT_EQ(h.children(), 2u);
  EXPECT_EQ(h.count("stale_on_error"), 11);
  h.pass(1s);
  auto b = h.read("k");
  h.reply(3, "new");
  EXPECT_EQ(h.got(b), "new");
  EXPECT_EQ(h.get("k"), "new");
}

TEST(cache_loads, the_lists_say_which_errors) {
  cache_config c{.stale_if_error = 5s};
  c.failures.deny = {"app:3"};
  auto h = with_old(c);
  h.pass(10s);
  auto a = h.read("k");
  h.reply(2, "!odd");
  EXPECT_EQ(h.got(a), "!odd");
  auto b = h.read("k");
  h.refuse(3, errc::breaker_open);
  EXPECT_EQ(h.got(b), "old");
}

TEST(cache_loads, an_error_that_was_kept_does_not_stand_in) {
  cache_rig h{{.negative_ttl = 1s, .stale_if_error = 1h}};
  h.read("k");
  h.reply(1, "!none");
  h.pass(1s);
  auto a = h.read("k");
  h.refuse(2, errc::breaker_open);
  EXPECT_EQ(h.got(a), "breaker_open");
}

TEST(cache_loads, it_stands_in_for_a_call_that_went_alone) {
  auto h = with_old({.stale_if_error = 5s});
  h.reconfigure({.ttl = 10s, .single_flight = false, .stale_if_error = 5s});
  h.pass(10s);
  auto a = h.read("k");
  EXPECT_EQ(h.got(a), "below");
  h.reply_to(a, "!down");
  EXPECT_EQ(h.got(a), "old");
}

} // namespace
} // namespace caisson::test
