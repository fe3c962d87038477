// Policies per key: whose call is whose, and what all of them do together.
#include <policies/keyed/model/keyed_rig.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace caisson::test {
namespace {

using testing::ElementsAre;

// -- calls --------------------------------------------------------------------

TEST(keyed, keeps_a_policy_for_each_key) {
  keyed_rig<semaphore> h{keyed_config<semaphore>{{.permits = 1}}};
  auto a = h.arrive(of_key("a"));
  EXPECT_EQ(h.where(h.arrive(of_key("a"))), place::rejected);
  auto b = h.arrive(of_key("b"));
  EXPECT_EQ(h.where(b), place::below);
  h.finish(a);
  EXPECT_EQ(h.where(h.arrive(of_key("a"))), place::below);
  EXPECT_EQ(h.where(h.arrive(of_key("b"))), place::rejected);
  EXPECT_EQ(h.count("keys"), 2);
  EXPECT_EQ(h.count("keys_made"), 2);
}

TEST(keyed, passes_on_whatever_becomes_of_a_call) {
  keyed_rig<semaphore> h{
    keyed_config<semaphore>{{.permits = 1, .max_waiters = 5, .max_wait = 2s}}};
  auto runs = h.arrive(of_key("a"));
  auto waits = h.arrive(of_key("a"));
  auto gives_up = h.arrive(of_key("a"));
  auto too_long = h.arrive(of_key("a"));
  EXPECT_EQ(h.where(waits), place::held);
  h.abandon(gives_up);
  h.finish(runs);
  EXPECT_EQ(h.where(waits), place::below);
  h.advance(2s);
  EXPECT_EQ(h.where(too_long), place::rejected);
  EXPECT_EQ(h.calls.at(too_long).code, errc::wait_timeout);
  h.abandon(waits);
  EXPECT_EQ(h.count("gave_up"), 1);
  EXPECT_EQ(h.count("timed_out"), 1);
  EXPECT_EQ(h.count("finished"), 1);
  EXPECT_EQ(h.count("abandoned"), 1);
  EXPECT_EQ(h.count("in_use"), 0);
}

TEST(keyed, reports_events_with_the_key) {
  keyed_rig<breaker> h{keyed_config<breaker>{brittle()}};
  trip(h, "gold");
  EXPECT_THAT(h.e.reports, ElementsAre("state_changed:closed>open"));
  EXPECT_THAT(h.e.keys, ElementsAre("gold"));
}

TEST(keyed, asks_the_policy_of_the_call_about_its_end) {
  keyed_rig<deadline> h{keyed_config<deadline>{
    {.timeout = 2s}, {.overrides = {{"slow", {{"timeout", "5s"}}}}}}};
  auto fast = h.arrive(of_key("fast"));
  auto slow = h.arrive(of_key("slow"));
  auto end_of = [&](call_id id) {
    auto& x = h.calls.at(id);
    return h.policy.latest_end(x.call, x.notes);
  };
  EXPECT_EQ(end_of(fast), h.start() + 2s);
  EXPECT_EQ(end_of(slow), h.start() + 5s);
}

TEST(keyed, is_done_with_a_call_that_its_deadline_cuts_off) {
  keyed_rig<deadline> h{
    keyed_config<deadline>{{.timeout = 2s}, {.max_keys = 1}}};
  auto cut = h.arrive(of_key("a"));
  h.advance(2s);
  h.pass_deadline(cut, true);
  EXPECT_EQ(h.where(cut), place::rejected);
  EXPECT_EQ(h.count("expired"), 1);
  EXPECT_EQ(h.where(h.arrive(of_key("b"))), place::below);
}

TEST(keyed, keeps_a_call_whose_deadline_is_only_observed) {
  keyed_rig<deadline> h{
    keyed_config<deadline>{{.timeout = 2s}, {.max_keys = 1}}};
  h.policy.ask_mode([] { return false; });
  auto late = h.arrive(of_key("a"));
  h.advance(2s);
  h.pass_deadline(late, false);
  EXPECT_EQ(h.where(h.arrive(of_key("b"))), place::rejected);
  h.finish(late);
  EXPECT_EQ(h.count("overran"), 1);
  EXPECT_EQ(h.where(h.arrive(of_key("b"))), place::below);
}

// -- calls without a key ------------------------------------------------------

TEST(keyed, has_one_policy_for_all_calls_without_a_key) {
  keyed_rig<semaphore> h{
    keyed_config<semaphore>{{.permits = 1}, {.max_keys = 1, .idle = 1s}}};
  auto first = h.arrive();
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  EXPECT_EQ(h.where(h.arrive(of_key("a"))), place::below);
  h.finish(first);
  h.advance(1h);
  EXPECT_EQ(h.count("keyless"), 2);
  EXPECT_EQ(h.count("keys_expired"), 0);
  EXPECT_EQ(h.policy.busiest(9).size(), 2u);
}

TEST(keyed, lets_calls_without_a_key_pass) {
  keyed_rig<semaphore> h{
    keyed_config<semaphore>{{.permits = 1}, {.keyless = keyless_calls::pass}}};
  auto a = h.arrive();
  auto b = h.arrive();
  EXPECT_EQ(h.where(b), place::below);
  h.finish(a);
  h.abandon(b);
  EXPECT_EQ(h.count("passed"), 0);
  EXPECT_EQ(h.count("keyless"), 2);
}

TEST(keyed, refuses_calls_without_a_key) {
  keyed_rig<semaphore> h{
    keyed_config<semaphore>{{}, {.keyless = keyless_calls::reject}}};
  auto x = h.arrive();
  EXPECT_EQ(h.where(x), place::rejected);
  EXPECT_EQ(h.calls.at(x).code, errc::shed);
  EXPECT_EQ(h.count("refused_keyless"), 1);
  EXPECT_THAT(h.e.details, ElementsAre("no key"));
}

TEST(keyed, keeps_to_what_was_said_of_a_call_without_a_key) {
  keyed_config<semaphore> c{{.permits = 1}, {.keyless = keyless_calls::pass}};
  keyed_rig<semaphore> h{c};
  auto passing = h.arrive();
  c.per_key.keyless = keyless_calls::share;
  h.reconfigure(c);
  auto shared = h.arrive();
  h.finish(passing);
  EXPECT_EQ(h.count("in_use"), 1);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  c.per_key.keyless = keyless_calls::reject;
  h.reconfigure(c);
  EXPECT_EQ(h.count("in_use"), 1);
  h.finish(shared);
  EXPECT_EQ(h.count("in_use"), 0);
  EXPECT_EQ(h.count("finished"), 1);
  EXPECT_TRUE(h.policy.busiest(9).empty());
}

// -- time ---------------------------------------------------------------------

TEST(keyed, wakes_each_policy_at_its_time) {
  auto c = brittle();
  c.eager_half_open = true;
  keyed_rig<breaker> h{keyed_config<breaker>{c}};
  trip(h, "a");
  h.advance(3s);
  trip(h, "b");
  EXPECT_EQ(h.policy.wakeup(), h.start() + 10s);
  h.advance_to(12s);
  EXPECT_EQ(h.policy.circuit("a"), circuit::half_open);
  EXPECT_EQ(h.policy.circuit("b"), circuit::open);
  h.advance_to(13s);
  EXPECT_EQ(h.policy.circuit("b"), circuit::half_open);
  EXPECT_THAT(h.e.keys, ElementsAre("a", "b", "a", "b"));
}

TEST(keyed, says_what_circuit_a_key_has) {
  keyed_rig<breaker> h{keyed_config<breaker>{brittle()}};
  EXPECT_EQ(h.policy.state(), "closed");
  h.finish(h.arrive(of_key("b")));
  trip(h, "a");
  EXPECT_EQ(h.policy.circuit("a"), circuit::open);
  EXPECT_EQ(h.policy.circuit("b"), circuit::closed);
  EXPECT_EQ(h.policy.circuit("c"), circuit::closed);
  EXPECT_EQ(h.policy.circuit({}), circuit::closed);
  EXPECT_EQ(h.policy.state(), "open");
}

TEST(keyed, notifies_only_the_policy_of_the_key_of_a_timed_out_attempt) {
  keyed_rig<breaker> h{keyed_config<breaker>{brittle()}};
  h.finish(h.arrive(of_key("a")));
  h.finish(h.arrive(of_key("b")));
  h.policy.attempt_timed_out("a", h.e);
  h.policy.attempt_timed_out("stranger", h.e);
  EXPECT_EQ(h.policy.circuit("a"), circuit::open);
  EXPECT_EQ(h.policy.circuit("b"), circuit::closed);
  EXPECT_EQ(h.count("attempt_timeouts"), 1);
}

// -- operation ----------------------------------------------------------------

TEST(keyed, forces_all_keys_and_those_that_come_later) {
  keyed_rig<breaker> h{keyed_config<breaker>{brittle()}};
  h.finish(h.arrive(of_key("a")));
  EXPECT_TRUE(h.command(operator_command::force_open));
  EXPECT_EQ(h.where(h.arrive(of_key("a"))), place::rejected);
  EXPECT_EQ(h.where(h.arrive(of_key("new"))), place::rejected);
  EXPECT_EQ(h.policy.state(), "forced_open");
  EXPECT_TRUE(h.command(operator_command::enable));
  EXPECT_EQ(h.where(h.arrive(of_key("a"))), place::below);
  EXPECT_EQ(h.where(h.arrive(of_key("new"))), place::below);
  EXPECT_EQ(h.where(h.arrive(of_key("newer"))), place::below);
}

TEST(keyed, shows_the_levels_of_a_new_key_if_there_is_none) {
  keyed_rig<breaker> h{keyed_config<breaker>{brittle()}};
  EXPECT_EQ(h.count("failure_rate_permille"), -1);
  EXPECT_EQ(h.count("ramp_permille"), 1000);
  EXPECT_TRUE(h.command(operator_command::force_open));
  rig<breaker> one{brittle()};
  EXPECT_TRUE(one.command(operator_command::force_open));
  EXPECT_EQ(h.count("state"), one.count("state"));
}

TEST(keyed, reports_a_command_once_and_not_for_each_key) {
  keyed_rig<breaker> h{keyed_config<breaker>{brittle()}};
  for (auto key : {"a", "b", "c"})
    h.finish(h.arrive(of_key(key)));
  EXPECT_TRUE(h.command(operator_command::force_open));
  EXPECT_THAT(h.e.reports, ElementsAre("state_changed:closed>forced_open"));
  EXPECT_THAT(h.e.keys, ElementsAre(""));
}

TEST(keyed, forces_later_keys_for_the_time_that_is_left) {
  keyed_rig<breaker> h{keyed_config<breaker>{brittle()}};
  EXPECT_TRUE(h.command({operator_command::force_open, 10s}));
  h.advance(4s);
  auto x = h.arrive(of_key("a"));
  EXPECT_EQ(h.where(x), place::rejected);
  EXPECT_EQ(h.calls.at(x).retry_after, 6s);
  h.advance_to(10s);
  EXPECT_EQ(h.where(h.arrive(of_key("a"))), place::below);
  EXPECT_EQ(h.where(h.arrive(of_key("b"))), place::below);
}

// Keys without calls follow in rounds, some after the order is over.
TEST(keyed, ends_an_order_by_a_brief_one_for_all_keys) {
  keyed_rig<breaker> h{
    keyed_config<breaker>{brittle(), {.max_keys = 10'000, .idle = unlimited}}};
  auto key = [](int i) { return of_key(std::to_string(i)); };
  for (int i = 0; i < 3'000; ++i)
    h.finish(h.arrive(key(i)));
  EXPECT_TRUE(h.command(operator_command::force_open));
  h.advance(1s);
  EXPECT_TRUE(h.command({operator_command::force_closed, 1ms}));
  h.advance(10s);
  int refused = 0;
  for (int i = 0; i < 3'000; ++i)
    refused += h.where(h.arrive(key(i))) != place::below;
  EXPECT_EQ(refused, 0);
}

TEST(keyed, knows_the_commands_that_its_policies_know) {
  keyed_rig<semaphore> h{keyed_config<semaphore>{}};
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_TRUE(h.command(operator_command::enable));
  EXPECT_FALSE(h.command(operator_command::force_open));
  EXPECT_FALSE(h.command({operator_command::force_open, 1s}));
}

TEST(keyed, forgets_keys_and_counts_on_reset_but_no_calls) {
  keyed_rig<breaker> h{keyed_config<breaker>{brittle(), {.max_keys = 3}}};
  trip(h, "open");
  auto in_flight = h.arrive(of_key("busy"));
  for (auto key : {"a", "b", "c"})
    h.finish(h.arrive(of_key(key)));
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(h.count("keys"), 1);
  EXPECT_EQ(h.count("keys_made"), 0);
  EXPECT_EQ(h.count("keys_evicted"), 0);
  EXPECT_EQ(h.count("admitted"), 0);
  EXPECT_EQ(h.policy.busiest(1).at(0).admitted, 0);
  h.finish(in_flight);
  EXPECT_EQ(h.count("late_results"), 1);
  EXPECT_EQ(h.where(h.arrive(of_key("open"))), place::below);
}

TEST(keyed, gives_new_settings_to_all_keys) {
  keyed_config<semaphore> c{{.permits = 1},
                            {.overrides = {{"gold", {{"permits", "3"}}}}}};
  keyed_rig<semaphore> h{c};
  std::vector<call_id> ids;
  auto admitted = [&](const std::string& key) {
    std::size_t n = 0;
    for (int i = 0; i < 9; ++i) {
      auto id = h.arrive(of_key(key));
      if (h.where(id) == place::below)
        ++n, ids.push_back(id);
    }
    for (auto id : std::exchange(ids, {}))
      h.finish(id);
    return n;
  };
  EXPECT_EQ(admitted("a"), 1u);
  EXPECT_EQ(admitted("gold"), 3u);
  c.permits = 2;
  h.reconfigure(c);
  EXPECT_EQ(admitted("a"), 2u);
  EXPECT_EQ(admitted("gold"), 3u);
  EXPECT_EQ(admitted("new"), 2u);
  c.per_key.overrides = {{"a", {{"permits", "4"}}}};
  h.reconfigure(c);
  EXPECT_EQ(admitted("a"), 4u);
  EXPECT_EQ(admitted("gold"), 2u);
}

TEST(keyed, hands_permits_to_waiting_calls_of_all_keys_in_the_order_of_keys) {
  keyed_config<semaphore> c{{.permits = 1, .max_waiters = 2}};
  keyed_rig<semaphore> h{c};
  std::vector<call_id> waiting;
  for (auto key : {"c", "a", "b"}) {
    h.arrive(of_key(key));
    waiting.push_back(h.arrive(of_key(key)));
  }
  c.permits = 2;
  h.policy.reconfigure(c, h.e); // Leaves the actions to be looked at.
  ASSERT_EQ(h.e.actions.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(h.e.actions[i].call, waiting[i]);
}

// -- what is said -------------------------------------------------------------

TEST(keyed, adds_up_what_its_policies_count) {
  keyed_rig<limiter> h{
    keyed_config<limiter>{{.rate = 1, .burst = 2}, {.max_keys = 2}}};
  for (auto key : {"a", "b", "b", "b", "c"}) {
    auto id = h.arrive(of_key(key));
    if (h.where(id) == place::below)
      h.finish(id);
  }
  // The key a has given way to c: what it counted stays, what it held does not.
  EXPECT_EQ(h.count("keys_evicted"), 1);
  EXPECT_EQ(h.count("passed"), 4);
  EXPECT_EQ(h.count("rate_limited"), 1);
  EXPECT_EQ(h.count("finished"), 4);
  EXPECT_EQ(h.count("tokens"), 1);
}

TEST(keyed, shows_the_largest_of_what_is_a_level) {
  keyed_rig<breaker> h{keyed_config<breaker>{brittle()}};
  trip(h, "a");
  trip(h, "b");
  h.finish(h.arrive(of_key("c")));
  EXPECT_EQ(h.count("state"), 1);
  EXPECT_EQ(h.count("openings_in_a_row"), 1);
  EXPECT_EQ(h.count("opened"), 2);
}

TEST(keyed, lists_all_its_numbers_before_the_first_key) {
  keyed_rig<breaker> h{keyed_config<breaker>{brittle()}};
  for (auto name :
       {"admitted", "opened", "state", "keys", "keys_made", "keys_evicted",
        "keys_expired", "keyless", "refused_keys", "refused_keyless"})
    EXPECT_EQ(h.count(name), 0) << name;
}

TEST(keyed, reports_the_keys_with_most_calls) {
  keyed_rig<semaphore> h{keyed_config<semaphore>{{.permits = 1}}};
  std::map<std::string, int> calls{{"b", 2}, {"a", 2}, {"few", 1}, {"many", 3}};
  for (auto& [key, n] : calls)
    for (int i = 0; i < n; ++i)
      h.finish(h.arrive(of_key(key)));
  // Those that were refused do not count.
  h.arrive(of_key("few"));
  for (int i = 0; i < 9; ++i)
    h.arrive(of_key("few"));
  auto top = h.policy.busiest(3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].key, "many");
  EXPECT_EQ(top[0].admitted, 3);
  EXPECT_EQ(top[1].key, "a");
  EXPECT_EQ(top[2].key, "b");
  EXPECT_FALSE(top[0].metrics.empty());
}

} // namespace
} // namespace caisson::test
