#include <policies/fallback/model/fallback_model.hpp>
#include <policies/fallback/model/fallback_rig.hpp>
#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using namespace falling_back;
using strings = std::vector<std::string>;

// -- configuration ------------------------------------------------------------

TEST(fallback, refuses_what_is_out_of_range_and_says_why) {
  auto c = simple_fallback(1'000'001);
  c.classify.allow = {"tired"};
  c.classify.deny = {"app:256"};
  try {
    fallback{c, 0};
    ADD_FAILURE() << "accepted";
  } catch (const config_error& e) {
    EXPECT_EQ(kinds_and_keys(e.all()),
              (strings{"range max_concurrent", "range fall_back_on",
                       "range ignore", "missing alternatives"}));
  }
  EXPECT_THROW((fallback{simple_fallback(), 0}), config_error);
  EXPECT_EQ((fallback{simple_fallback(), 1}.alternatives()), 1u);
}

// -- the chain ----------------------------------------------------------------

TEST(fallback, passes_an_answer_of_the_worker_up) {
  fallback_rig h{simple_fallback(), 2u};
  auto id = h.arrive();
  EXPECT_EQ(h.where(id), place::below);
  h.finish(id);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.count("calls"), 1);
  EXPECT_EQ(h.count("primary_answered"), 1);
  EXPECT_EQ(h.count("running"), 0);
  EXPECT_TRUE(h.e.reports.empty());
}

TEST(fallback, asks_the_first_alternative_when_the_worker_fails) {
  fallback_rig h{simple_fallback(), 2u};
  auto id = h.arrive();
  h.fail(id);
  expect_at(h, id, 0);
  EXPECT_EQ(h.count("fell_back"), 1);
  EXPECT_EQ(h.count("running"), 1);
  EXPECT_TRUE(h.e.reports.empty());
  h.finish(id);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_TRUE(h.calls.at(id).result.ok);
  EXPECT_EQ(h.count("answered_by_alternative"), 1);
  EXPECT_EQ(h.count("primary_answered"), 0);
  EXPECT_EQ(h.count("running"), 0);
  EXPECT_EQ(h.e.reports, (strings{"fell_back:>0"}));
}

TEST(fallback, asks_the_alternatives_in_order) {
  fallback_rig h{simple_fallback(), 3u};
  auto id = h.arrive();
  for (std::uint64_t i = 0; i < 3; ++i) {
    h.fail(id);
    expect_at(h, id, i);
    EXPECT_EQ(h.count("running"), 1);
  }
  h.finish(id);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.count("fell_back"), 1);
  EXPECT_EQ(h.count("tried_next"), 2);
  EXPECT_EQ(h.count("answered_by_alternative"), 1);
  EXPECT_EQ(h.e.reports, (strings{"fell_back:>2"}));
}

TEST(fallback, gives_up_with_the_last_outcome) {
  fallback_rig h{simple_fallback(), 2u};
  auto id = h.arrive();
  h.fail(id, errc::worker_down);
  h.fail(id, errc::rate_limited);
  h.finish(id, outcome::failure(errc::queue_full, true, 3s));
  EXPECT_EQ(h.where(id), place::passed);
  auto& o = h.calls.at(id).result;
  EXPECT_TRUE(o.is(errc::queue_full));
  EXPECT_EQ(o.retry_after, 3s);
  EXPECT_EQ(h.count("all_failed"), 1);
  EXPECT_EQ(h.count("running"), 0);
  EXPECT_TRUE(h.e.reports.empty());
}

TEST(fallback, reports_upwards_whether_the_call_may_have_executed) {
  for (bool worker : {false, true})
    for (bool alternative : {false, true}) {
      fallback_rig h{simple_fallback(), 1u};
      auto id = h.arrive();
      h.fail(id, errc::worker_down, worker);
      h.fail(id, errc::worker_down, alternative);
      EXPECT_EQ(h.calls.at(id).result.may_have_executed, worker || alternative);
    }
}

TEST(fallback, begins_nothing_that_is_out_of_time) {
  struct row {
    duration left;
    bool redirected;
  };
  for (auto& x : std::vector<row>{{2ms, true}, {1ms, false}, {0ms, false}}) {
    fallback_rig h{simple_fallback(), 2u};
    auto id = h.arrive_with(x.left);
    h.advance(1ms);
    h.fail(id);
    EXPECT_EQ(h.where(id), x.redirected ? place::redirected : place::passed);
    EXPECT_EQ(h.count("out_of_time"), x.redirected ? 0 : 1);
    if (x.redirected) {
      h.advance(1ms);
      h.fail(id);
      EXPECT_EQ(h.where(id), place::passed);
      EXPECT_EQ(h.count("out_of_time"), 1);
      EXPECT_EQ(h.count("running"), 0);
    }
  }
}

// -- what it falls back from --------------------------------------------------

TEST(fallback, knows_by_itself_what_needs_another_answer) {
  for (auto [code, falls] :
       std::vector<std::pair<errc, bool>>{{errc::breaker_open, true},
                                          {errc::queue_full, true},
                                          {errc::wait_timeout, true},
                                          {errc::rate_limited, true},
                                          {errc::deadline_exceeded, true},
                                          {errc::worker_down, true},
                                          {errc::batch_failed, true},
                                          {errc::shed, true},
                                          {errc::cancelled, false},
                                          {errc::budget_exhausted, false},
                                          {errc::no_such_permit, false},
                                          {errc::invalid_config, false},
                                          {errc::draining, false},
                                          {errc::feature_off, true},
                                          {errc::throttled, true}})
    for (bool may_have_executed : {false, true}) {
      fallback_rig h{simple_fallback(), 1u};
      auto id = h.arrive();
      h.fail(id, code, may_have_executed);
      EXPECT_EQ(h.where(id), falls ? place::redirected : place::passed)
        << name_of(code);
      EXPECT_EQ(h.count("passed_up"), falls ? 0 : 1);
    }
}

TEST(fallback, falls_back_from_errors_of_the_worker_too) {
  outcome o;
  o.ok = false;
  o.code = 1;
  // The worker has no handler: trying again would not help, but another might.
  for (auto category : {"app", "system_error"}) {
    o.category = category_hash(category);
    fallback_rig h{simple_fallback(), 1u};
    auto id = h.arrive();
    h.finish(id, o);
    EXPECT_EQ(h.where(id), place::redirected) << category;
  }
}

TEST(fallback, follows_its_lists) {
  struct row {
    strings fall_back_on;
    strings ignore;
    errc code;
    bool falls;
  };
  for (auto& x :
       std::vector<row>{{{"draining"}, {}, errc::draining, true},
                        {{"draining"}, {}, errc::worker_down, false},
                        {{"draining"}, {}, errc::shed, false},
                        {{"shed"}, {}, errc::shed, true},
                        {{"shed"}, {"caisson:*"}, errc::shed, false},
                        {{}, {"shed"}, errc::shed, false},
                        {{}, {"caisson:*"}, errc::shed, false},
                        {{}, {"worker_down"}, errc::worker_down, false},
                        {{}, {"worker_down"}, errc::shed, true},
                        {{}, {"worker_down"}, errc::queue_full, true}}) {
    auto c = simple_fallback();
    c.classify.allow = x.fall_back_on;
    c.classify.deny = x.ignore;
    fallback_rig h{c, 1u};
    auto id = h.arrive();
    h.fail(id, x.code);
    EXPECT_EQ(h.where(id), x.falls ? place::redirected : place::passed)
      << name_of(x.code);
    EXPECT_EQ(h.count("passed_up"), x.falls ? 0 : 1);
  }
}

TEST(fallback, a_function_has_the_last_word) {
  struct row {
    verdict choice;
    bool falls;
    std::string counter;
  };
  for (auto& x : std::vector<row>{{verdict::success, false, "primary_answered"},
                                  {verdict::failure, true, "fell_back"},
                                  {verdict::transient, true, "fell_back"},
                                  {verdict::refused, true, "fell_back"},
                                  {verdict::neutral, false, "passed_up"}})
    for (auto& o : {outcome::success(), outcome::failure(errc::shed, false)}) {
      auto c = simple_fallback();
      c.classify.by_value = [v = x.choice](const outcome&) { return v; };
      fallback_rig h{c, 1u};
      auto id = h.arrive();
      h.finish(id, o);
      EXPECT_EQ(h.where(id), x.falls ? place::redirected : place::passed);
      EXPECT_EQ(h.count(x.counter), 1) << x.counter;
    }
}

TEST(fallback, passes_up_what_an_alternative_says_that_is_no_failure_of_it) {
  fallback_rig h{simple_fallback(), 2u};
  auto id = h.arrive();
  h.fail(id);
  h.fail(id, errc::cancelled);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_TRUE(h.calls.at(id).result.is(errc::cancelled));
  EXPECT_EQ(h.count("passed_up"), 1);
  EXPECT_EQ(h.count("answered_by_alternative"), 0);
  EXPECT_EQ(h.count("running"), 0);
}

// -- how many at once ---------------------------------------------------------

TEST(fallback, passes_the_outcome_up_when_too_many_are_falling_back) {
  fallback_rig h{simple_fallback(2), 1u};
  auto a = h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  h.fail(a);
  h.fail(b);
  h.fail(c, errc::breaker_open);
  EXPECT_EQ(h.where(b), place::redirected);
  EXPECT_EQ(h.where(c), place::passed);
  EXPECT_TRUE(h.calls.at(c).result.is(errc::breaker_open));
  EXPECT_EQ(h.count("fallback_full"), 1);
  EXPECT_EQ(h.count("running"), 2);
  h.finish(a);
  auto d = h.arrive();
  h.fail(d);
  EXPECT_EQ(h.where(d), place::redirected);
}

TEST(fallback, a_call_that_moves_on_keeps_its_place) {
  fallback_rig h{simple_fallback(1), 2u};
  auto a = h.arrive();
  h.fail(a);
  h.fail(a);
  expect_at(h, a, 1);
  EXPECT_EQ(h.count("running"), 1);
}

// -- values -------------------------------------------------------------------

fallback_rig with_chain(std::vector<alternative_kind> chain,
                        std::uint32_t places) {
  return fallback_rig{simple_fallback(places), std::move(chain)};
}

TEST(fallback, has_a_value_for_every_call_of_a_burst) {
  auto h = with_chain({a_value}, 1);
  auto ids = h.arrive_together(50);
  // They fail at the same instant, before any of them is given its value.
  for (auto id : ids)
    h.fail(id);
  for (auto id : ids)
    expect_at(h, id, 0);
  EXPECT_EQ(h.count("running"), 0);
  for (auto id : ids)
    h.finish(id);
  EXPECT_EQ(h.count("answered_by_alternative"), 50);
  EXPECT_EQ(h.count("fallback_full"), 0);
  EXPECT_EQ(h.count("running"), 0);
}

TEST(fallback, passes_over_actors_that_have_no_place) {
  auto h = with_chain({an_actor, an_actor, a_value}, 1);
  auto a = h.arrive();
  auto b = h.arrive();
  h.fail(a);
  h.fail(b);
  expect_at(h, a, 0);
  expect_at(h, b, 2);
  EXPECT_EQ(h.count("passed_over"), 1);
  EXPECT_EQ(h.count("fell_back"), 2);
  EXPECT_EQ(h.count("running"), 1);
  h.finish(b);
  EXPECT_EQ(h.e.reports, (strings{"fell_back:>2"}));
  // The one that has a place keeps it for the next actor.
  h.fail(a);
  expect_at(h, a, 1);
  EXPECT_EQ(h.count("passed_over"), 1);
}

TEST(fallback, gives_its_place_back_when_it_comes_to_a_value) {
  auto h = with_chain({an_actor, a_value, an_actor}, 1);
  auto a = h.arrive();
  h.fail(a);
  EXPECT_EQ(h.count("running"), 1);
  h.fail(a);
  expect_at(h, a, 1);
  EXPECT_EQ(h.count("running"), 0);
  // The place is another call's now; the value was an error, say.
  auto b = h.arrive();
  h.fail(b);
  expect_at(h, b, 0);
  h.fail(a, errc::queue_full);
  EXPECT_EQ(h.where(a), place::passed);
  EXPECT_TRUE(h.calls.at(a).result.is(errc::queue_full));
  EXPECT_EQ(h.count("fallback_full"), 1);
  EXPECT_EQ(h.count("running"), 1);
  h.abandon(b);
  EXPECT_EQ(h.count("running"), 0);
}

TEST(fallback, zero_means_no_limit) {
  fallback_rig h{simple_fallback(0), 1u};
  for (int i = 0; i < 1'000; ++i)
    h.fail(h.arrive());
  EXPECT_EQ(h.count("running"), 1'000);
  EXPECT_EQ(h.count("fallback_full"), 0);
}

TEST(fallback, an_abandoned_call_gives_its_place_back) {
  fallback_rig h{simple_fallback(1), 1u};
  h.abandon(h.arrive());
  EXPECT_EQ(h.count("abandoned"), 1);
  EXPECT_EQ(h.count("running"), 0);
  auto id = h.arrive();
  h.fail(id);
  h.abandon(id);
  EXPECT_EQ(h.count("abandoned_in_fallback"), 1);
  EXPECT_EQ(h.count("running"), 0);
}

TEST(fallback, observing_it_gives_its_place_back_at_once) {
  // The host abandons what the policy wants to hold, before it looks at the
  // redirect, and ignores that.
  fallback f{simple_fallback(1), 1};
  random_source random;
  env e{fallback_rig::start(), random};
  call_info call;
  slot notes;
  f.admit(call, notes, e);
  auto o = outcome::failure(errc::worker_down, true);
  EXPECT_EQ(f.complete(call, notes, o, e).what, decision::kind::hold);
  f.abandon(call, notes, o, false, e);
  ASSERT_EQ(e.actions.size(), 1u);
  std::vector<metric> ms;
  f.list_metrics(ms);
  EXPECT_EQ(ms.back().name, "running");
  EXPECT_EQ(ms.back().value, 0);
  EXPECT_TRUE(ms.back().gauge);
}

// -- operation ----------------------------------------------------------------

TEST(fallback, holds_without_an_end_of_its_own) {
  fallback_rig h{simple_fallback(), 1u};
  auto id = h.arrive();
  h.fail(id);
  EXPECT_EQ(h.calls.at(id).until, never);
  h.set_clock(-1h);
  h.advance(1'000h);
  expect_at(h, id, 0);
}

TEST(fallback, reconfigured_it_keeps_calls_with_their_alternative) {
  fallback_rig h{simple_fallback(3), 2u};
  std::vector<call_id> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(h.arrive());
    h.fail(ids.back());
  }
  h.reconfigure(simple_fallback(1));
  EXPECT_EQ(h.policy.config().max_concurrent, 1u);
  EXPECT_EQ(h.count("running"), 3);
  h.fail(ids[0]);
  expect_at(h, ids[0], 1);
  h.finish(ids[0]);
  h.finish(ids[1]);
  auto id = h.arrive();
  h.fail(id);
  EXPECT_EQ(h.where(id), place::passed);
  h.finish(ids[2]);
  id = h.arrive();
  h.fail(id);
  EXPECT_EQ(h.where(id), place::redirected);
}

TEST(fallback, obeys_the_commands_that_it_knows) {
  using enum operator_command;
  fallback_rig h{simple_fallback(), 1u};
  auto id = h.arrive();
  h.fail(id);
  for (auto [c, known] :
       std::vector<std::pair<operator_command, bool>>{{force_open, false},
                                                      {force_closed, false},
                                                      {off, false},
                                                      {enable, true},
                                                      {observe, false}})
    EXPECT_EQ(h.command(c), known) << name_of(c);
  EXPECT_EQ(h.count("fell_back"), 1);
  EXPECT_TRUE(h.command(reset));
  EXPECT_EQ(h.count("fell_back"), 0);
  EXPECT_EQ(h.count("running"), 1);
  h.finish(id);
  EXPECT_EQ(h.count("running"), 0);
}

TEST(fallback, wants_the_content_of_calls_to_be_kept) {
  fallback f{simple_fallback(), 1};
  EXPECT_TRUE(f.resends());
  EXPECT_EQ(f.kind(), "fallback");
  EXPECT_EQ(f.state(), "");
  EXPECT_EQ(f.wakeup(), never);
}

RC_GTEST_PROP(fallback_property, does_as_its_model_does, ()) {
  check_against_model<fallback_model>();
}

} // namespace
} // namespace caisson::test
