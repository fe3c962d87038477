// Policies per key: which keys there are, and which of them go when.
#include <policies/keyed/model/keyed_rig.hpp>

#include <caisson/base/sip_hash.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using testing::ElementsAre;

template <class Policy>
void use(keyed_rig<Policy>& h, const std::string& key) {
  auto id = h.arrive(of_key(key));
  if (h.where(id) == place::below)
    h.finish(id);
}

template <class Policy>
std::vector<std::string> keys_of(keyed_rig<Policy>& h) {
  std::vector<std::string> out;
  for (auto& x : h.policy.busiest(1000))
    out.push_back(x.key);
  std::sort(out.begin(), out.end());
  return out;
}

// -- time without calls -------------------------------------------------------

TEST(keyed_idle, drops_a_key_that_was_not_used_for_so_long) {
  keyed_rig<semaphore> h{keyed_config<semaphore>{{}, {.idle = 10s}}};
  use(h, "a");
  h.advance(4s);
  use(h, "b");
  EXPECT_EQ(h.policy.wakeup(), h.start() + 10s);
  h.advance_to(10s - 1ns);
  EXPECT_THAT(keys_of(h), ElementsAre("a", "b"));
  h.advance_to(10s);
  EXPECT_THAT(keys_of(h), ElementsAre("b"));
  EXPECT_EQ(h.count("keys_expired"), 1);
  h.advance_to(14s);
  EXPECT_TRUE(keys_of(h).empty());
  EXPECT_EQ(h.policy.wakeup(), never);
}

TEST(keyed_idle, counts_from_when_the_last_call_came_or_went) {
  keyed_rig<semaphore> h{
    keyed_config<semaphore>{{.permits = 1}, {.idle = 10s}}};
  auto a = h.arrive(of_key("a"));
  h.advance(60s);
  EXPECT_THAT(keys_of(h), ElementsAre("a"));
  h.finish(a);
  h.advance(9s);
  use(h, "a");
  h.advance(9s);
  EXPECT_THAT(keys_of(h), ElementsAre("a"));
  h.advance(1s);
  EXPECT_TRUE(keys_of(h).empty());
}

TEST(keyed_idle, takes_a_refused_call_for_a_use) {
  keyed_rig<breaker> h{keyed_config<breaker>{brittle(), {.idle = 10s}}};
  trip(h, "a");
  h.advance(9s);
  EXPECT_EQ(h.where(h.arrive(of_key("a"))), place::rejected);
  h.advance(9s);
  EXPECT_THAT(keys_of(h), ElementsAre("a"));
}

TEST(keyed_idle, keeps_an_open_breaker_until_its_interval_is_over) {
  auto c = brittle();
  c.open = schedule::constant(25s);
  keyed_rig<breaker> h{keyed_config<breaker>{c, {.idle = 10s}}};
  trip(h, "a");
  h.advance_to(29s);
  EXPECT_EQ(h.policy.circuit("a"), circuit::open);
  h.advance_to(30s);
  EXPECT_TRUE(keys_of(h).empty());
}

TEST(keyed_idle, keeps_a_bucket_until_it_is_full) {
  keyed_rig<limiter> h{keyed_config<limiter>{
    {.rate = 10, .per = 24h, .burst = 10}, {.idle = 10min}}};
  for (int i = 0; i < 10; ++i)
    use(h, "a");
  h.advance(23h);
  EXPECT_EQ(h.where(h.arrive(of_key("a"))), place::below);
  for (int i = 0; i < 8; ++i)
    use(h, "a");
  EXPECT_EQ(h.where(h.arrive(of_key("a"))), place::rejected);
  use(h, "b");
  h.advance(3h);
  // Two tokens have come since; b had nine left and is full.
  EXPECT_THAT(keys_of(h), ElementsAre("a"));
}

TEST(keyed_idle, takes_the_wake_up_of_a_key_with_it) {
  breaker_config c;
  c.initial = breaker_start::half_open;
  c.ramp = 1h;
  keyed_rig<breaker> h{keyed_config<breaker>{c, {.idle = 10s}}};
  use(h, "a");
  EXPECT_EQ(h.policy.circuit("a"), circuit::closed);
  h.advance(10s);
  EXPECT_TRUE(keys_of(h).empty());
  EXPECT_EQ(h.policy.wakeup(), never);
}

TEST(keyed_idle, never_ends_without_a_limit) {
  keyed_rig<semaphore> h{keyed_config<semaphore>{{}, {.idle = unlimited}}};
  use(h, "a");
  EXPECT_EQ(h.policy.wakeup(), never);
}

TEST(keyed_idle, is_not_disturbed_by_a_clock_that_steps_back) {
  keyed_rig<semaphore> h{keyed_config<semaphore>{{}, {.idle = 10s}}};
  h.advance(100s);
  use(h, "a");
  h.set_clock(50s);
  use(h, "b");
  h.advance_to(109s);
  EXPECT_THAT(keys_of(h), ElementsAre("a", "b"));
  h.advance_to(110s);
  EXPECT_TRUE(keys_of(h).empty());
}

// -- too many keys ------------------------------------------------------------

TEST(keyed_bound, drops_the_key_without_calls_that_was_not_used_for_longest) {
  keyed_rig<semaphore> h{
    keyed_config<semaphore>{{.permits = 5}, {.max_keys = 3}}};
  auto busy = h.arrive(of_key("busy"));
  use(h, "b");
  use(h, "c");
  use(h, "b");
  use(h, "d");
  EXPECT_THAT(keys_of(h), ElementsAre("b", "busy", "d"));
  h.finish(busy);
  use(h, "e");
  EXPECT_THAT(keys_of(h), ElementsAre("busy", "d", "e"));
  EXPECT_EQ(h.count("keys_evicted"), 2);
}

TEST(keyed_bound, refuses_a_new_key_if_each_one_has_calls) {
  keyed_rig<semaphore> h{
    keyed_config<semaphore>{{.permits = 5}, {.max_keys = 2}}};
  auto a = h.arrive(of_key("a"));
  h.arrive(of_key("b"));
  auto x = h.arrive(of_key("c"));
  EXPECT_EQ(h.where(x), place::rejected);
  EXPECT_EQ(h.calls.at(x).code, errc::shed);
  EXPECT_EQ(h.count("refused_keys"), 1);
  EXPECT_THAT(h.e.details, ElementsAre("max_keys reached"));
  EXPECT_EQ(h.where(h.arrive(of_key("a"))), place::below);
  h.finish(a);
  EXPECT_EQ(h.where(h.arrive(of_key("c"))), place::rejected);
}

TEST(keyed_bound, does_not_close_an_open_breaker_for_a_new_key) {
  keyed_rig<breaker> h{keyed_config<breaker>{brittle(), {.max_keys = 2}}};
  trip(h, "a");
  for (int i = 0; i < 100; ++i)
    use(h, "flood " + std::to_string(i));
  EXPECT_EQ(h.policy.circuit("a"), circuit::open);
  trip(h, "b");
  EXPECT_EQ(h.calls.at(h.arrive(of_key("c"))).code, errc::shed);
  h.advance(10s);
  use(h, "a");
  EXPECT_EQ(h.policy.circuit("a"), circuit::closed);
  EXPECT_EQ(h.where(h.arrive(of_key("c"))), place::below);
  EXPECT_EQ(h.policy.circuit("b"), circuit::open);
}

TEST(keyed_bound, can_be_lowered_but_not_below_the_keys_with_calls) {
  keyed_config<semaphore> c{{.permits = 5}};
  keyed_rig<semaphore> h{c};
  auto a = h.arrive(of_key("a"));
  h.arrive(of_key("b"));
  use(h, "c");
  use(h, "d");
  c.per_key.max_keys = 1;
  h.reconfigure(c);
  EXPECT_THAT(keys_of(h), ElementsAre("a", "b"));
  EXPECT_EQ(h.where(h.arrive(of_key("c"))), place::rejected);
  h.finish(a);
  // Its place is one too many.
  EXPECT_EQ(h.where(h.arrive(of_key("c"))), place::rejected);
  EXPECT_THAT(keys_of(h), ElementsAre("b"));
}

TEST(keyed_bound, holds_for_100000_keys_at_once) {
  keyed_rig<limiter> h{keyed_config<limiter>{{}, {.max_keys = 1000}}};
  call_info call;
  slot notes;
  auto o = outcome::success();
  for (int i = 0; i < 100'000; ++i) {
    call.id = static_cast<call_id>(i + 1);
    call.key = "key " + std::to_string(i);
    h.policy.admit(call, notes, h.e);
    h.policy.complete(call, notes, o, h.e);
  }
  EXPECT_EQ(h.count("keys"), 1000);
  EXPECT_EQ(h.count("keys_evicted"), 99'000);
  EXPECT_EQ(h.count("passed"), 100'000);
  h.advance(1h);
  EXPECT_EQ(h.count("keys"), 0);
}

TEST(keyed_bound, holds_for_20000_breakers_that_open_at_once) {
  auto c = brittle();
  c.eager_half_open = true;
  keyed_rig<breaker> h{
    keyed_config<breaker>{c, {.max_keys = 20'000, .idle = 1min}}};
  call_info call;
  slot notes;
  for (int i = 0; i < 20'000; ++i) {
    call.id = static_cast<call_id>(i + 1);
    call.key = std::to_string(i);
    h.policy.admit(call, notes, h.e);
    auto o = outcome::failure(errc::worker_down, true);
    h.policy.complete(call, notes, o, h.e);
  }
  EXPECT_EQ(h.count("opened"), 20'000);
  h.advance(10s);
  EXPECT_EQ(h.count("half_opened"), 20'000);
  h.advance(1h);
  EXPECT_EQ(h.count("keys"), 0);
  EXPECT_EQ(h.count("opened"), 20'000);
}

// -- calls that go without being completed ------------------------------------

TEST(keyed_held, drops_a_key_whose_waiting_calls_were_all_rejected) {
  // The oldest of those who wait leaves a full stack.
  keyed_rig<semaphore> h{keyed_config<semaphore>{
    {.permits = 1, .max_waiters = 1, .order = wait_order::lifo},
    {.max_keys = 1}}};
  auto runs = h.arrive(of_key("a"));
  auto old = h.arrive(of_key("a"));
  auto young = h.arrive(of_key("a"));
  EXPECT_EQ(h.where(old), place::rejected);
  h.abandon(young);
  EXPECT_EQ(h.where(h.arrive(of_key("b"))), place::rejected);
  h.finish(runs);
  EXPECT_EQ(h.where(h.arrive(of_key("b"))), place::below);
}

TEST(keyed_held, does_not_count_a_call_twice_that_is_gone_when_it_is_rejected) {
  keyed_rig<semaphore> h{keyed_config<semaphore>{
    {.permits = 1, .max_waiters = 1, .order = wait_order::lifo},
    {.max_keys = 1}}};
  auto runs = h.arrive(of_key("a"));
  auto old = h.arrive(of_key("a"));
  // The host learns that `old` is rejected, and cuts it off before it carries
  // that out.
  call_info third = of_key("a");
  third.id = 99;
  slot notes;
  h.policy.admit(third, notes, h.e);
  ASSERT_EQ(h.e.actions.size(), 1u);
  h.e.actions.clear();
  auto& x = h.calls.at(old);
  auto why = outcome::failure(errc::cancelled, false);
  h.policy.abandon(x.call, x.notes, why, false, h.e);
  h.policy.abandon(third, notes, why, false, h.e);
  h.e.actions.clear();
  EXPECT_EQ(h.where(h.arrive(of_key("b"))), place::rejected);
  h.finish(runs);
  EXPECT_EQ(h.where(h.arrive(of_key("b"))), place::below);
}

// -- the hash -----------------------------------------------------------------

// From the reference implementation: key and text are the bytes 0, 1, 2, ...
TEST(sip_hash, gives_the_published_numbers) {
  if constexpr (std::endian::native != std::endian::little)
    GTEST_SKIP();
  detail::sip_secret secret{0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
  std::string text;
  for (char c = 0; c < 15; ++c)
    text += c;
  auto hash = [&](std::size_t n) {
    return detail::sip_hash<2, 4>(secret, std::string_view{text}.substr(0, n));
  };
  EXPECT_EQ(hash(0), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(hash(15), 0xa129ca6149be45e5u);
}

} // namespace
} // namespace caisson::test
