#include <caisson/policies/retrier/retrier.hpp>

#include <policies/retrier/model/retrier_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace retrying;
using namespace std::chrono_literals;

// -- what is retried ----------------------------------------------------------

TEST(retrier, retries_only_what_may_be_repeated) {
  using enum idempotence;
  struct row {
    bool idempotent;
    idempotence mark;
    bool may_have_executed;
    bool retried;
  };
  for (auto& x : std::vector<row>{{false, unmarked, false, true},
                                  {false, unmarked, true, false},
                                  {false, yes, false, true},
                                  {false, yes, true, true},
                                  {false, no, false, true},
                                  {false, no, true, false},
                                  {true, unmarked, false, true},
                                  {true, unmarked, true, true},
                                  {true, yes, true, true},
                                  {true, no, false, true},
                                  {true, no, true, false}}) {
    auto c = simple_retrier();
    c.idempotent = x.idempotent;
    retrier_rig h{c};
    call_info call;
    call.idempotent = x.mark;
    auto id = h.arrive(call);
    h.fail(id, errc::worker_down, x.may_have_executed);
    EXPECT_EQ(h.where(id), x.retried ? place::held : place::passed);
    EXPECT_EQ(h.count("not_idempotent"), x.retried ? 0 : 1);
  }
}

TEST(retrier, remembers_that_an_earlier_attempt_may_have_executed) {
  retrier_rig h{simple_retrier()};
  auto id = h.arrive();
  backoff_after(h, id);
  // From here on the call may not be repeated any more, and the second attempt
  // not having executed does not change that.
  auto c = simple_retrier();
  c.idempotent = false;
  h.reconfigure(c);
  h.fail(id, errc::worker_down, false);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.count("not_idempotent"), 1);
}

TEST(retrier, reports_upwards_whether_any_attempt_may_have_executed) {
  auto c = simple_retrier();
  c.max_attempts = 2;
  for (bool first : {false, true})
    for (bool second : {false, true}) {
      retrier_rig h{c};
      auto id = h.arrive();
      backoff_after(h, id, outcome::failure(errc::worker_down, first));
      h.fail(id, errc::worker_down, second);
      EXPECT_EQ(h.calls.at(id).result.may_have_executed, first || second);
    }
}

TEST(retrier, retries_what_is_transient_or_refused) {
  struct row {
    verdict choice;
    place expected;
    std::string counter;
  };
  for (auto& x :
       std::vector<row>{{verdict::success, place::passed, "succeeded"},
                        {verdict::failure, place::passed, "not_retryable"},
                        {verdict::neutral, place::passed, "not_retryable"},
                        {verdict::transient, place::held, "retried"},
                        {verdict::refused, place::held, "retried"}})
    for (bool ok : {false, true}) {
      auto c = simple_retrier();
      c.classify.by_value = [v = x.choice](const outcome&) { return v; };
      retrier_rig h{c};
      auto id = h.arrive();
      h.finish(id, ok ? outcome::success() : worker_failed());
      EXPECT_EQ(h.where(id), x.expected);
      EXPECT_EQ(h.count(x.counter), 1) << x.counter;
    }
}

TEST(retrier, knows_by_itself_what_is_worth_another_attempt) {
  for (auto [code, retried] :
       std::vector<std::pair<errc, bool>>{{errc::breaker_open, true},
                                          {errc::queue_full, true},
                                          {errc::wait_timeout, true},
                                          {errc::rate_limited, true},
                                          {errc::deadline_exceeded, true},
                                          {errc::worker_down, true},
                                          {errc::batch_failed, true},
                                          {errc::cancelled, false},
                                          {errc::budget_exhausted, false},
                                          {errc::shed, false},
                                          {errc::no_such_permit, false},
                                          {errc::invalid_config, false},
                                          {errc::draining, false},
                                          {errc::throttled, false}}) {
    retrier_rig h{simple_retrier()};
    auto id = h.arrive();
    h.fail(id, code);
    EXPECT_EQ(h.where(id), retried ? place::held : place::passed)
      << name_of(code);
  }
}

TEST(retrier, follows_its_lists) {
  auto c = simple_retrier();
  c.classify.allow = {"shed", "app:*"};
  c.classify.deny = {"app:3"};
  auto app = [](std::uint8_t code) {
    outcome o;
    o.ok = false;
    o.code = code;
    o.category = category_hash("app");
    return o;
  };
  for (auto& [o, retried] : std::vector<std::pair<outcome, bool>>{
         {outcome::failure(errc::shed, false), true},
         {outcome::failure(errc::breaker_open, false), false},
         {app(4), true},
         {app(3), false}}) {
    retrier_rig h{c};
    auto id = h.arrive();
    h.finish(id, o);
    EXPECT_EQ(h.where(id), retried ? place::held : place::passed)
      << int{o.code};
  }
}

// -- schedule and pushback ----------------------------------------------------

TEST(retrier, gives_up_when_the_schedule_is_exhausted) {
  auto c = simple_retrier();
  c.backoff = schedule::constant(1ms).take(1).then(
    schedule::linear(5ms, 1ms).take(2));
  retrier_rig h{c};
  auto id = h.arrive();
  EXPECT_EQ(backoff_after(h, id), 1ms);
  EXPECT_EQ(backoff_after(h, id), 5ms);
  EXPECT_EQ(backoff_after(h, id), 6ms);
  h.fail(id);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.count("gave_up_schedule"), 1);
}

TEST(retrier, never_retries_without_a_schedule) {
  auto c = simple_retrier();
  c.backoff = schedule{};
  retrier_rig h{c};
  auto id = h.arrive();
  h.fail(id);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.count("gave_up_schedule"), 1);
}

TEST(retrier, gives_each_call_its_own_place_in_the_schedule) {
  auto c = simple_retrier();
  c.backoff = schedule::exponential(10ms);
  retrier_rig h{c};
  auto first = h.arrive();
  EXPECT_EQ(backoff_after(h, first), 10ms);
  EXPECT_EQ(backoff_after(h, first), 20ms);
  auto second = h.arrive();
  EXPECT_EQ(backoff_after(h, second), 10ms);
  EXPECT_EQ(backoff_after(h, first), 40ms);
}

TEST(retrier, waits_at_least_as_long_as_retry_after) {
  struct row {
    duration scheduled;
    duration reports;
    duration expected;
  };
  for (auto& x : std::vector<row>{{10ms, 0ns, 10ms},
                                  {10ms, 10ms - 1ns, 10ms},
                                  {10ms, 10ms + 1ns, 10ms + 1ns},
                                  {0ns, 1ns, 1ns},
                                  {1s, 1h, 1h}}) {
    auto c = simple_retrier();
    c.unsafe = true;
    c.backoff = schedule::constant(x.scheduled);
    retrier_rig h{c};
    auto id = h.arrive();
    EXPECT_EQ(backoff_after(h, id, pushback(x.reports)), x.expected);
    EXPECT_EQ(h.count("pushed_back"), x.reports > 0ns ? 1 : 0);
  }
}

// -- delays from outcomes -----------------------------------------------------

TEST(retrier, a_function_may_choose_the_delay_by_the_outcome) {
  struct row {
    std::optional<duration> chosen;
    duration reports;
    duration expected;
  };
  for (auto& x : std::vector<row>{{3ms, 0ns, 3ms},
                                  {0ns, 0ns, 0ns},
                                  {-5ms, 0ns, 0ns},
                                  {std::nullopt, 0ns, 10ms},
                                  {3ms, 5ms, 5ms},
                                  {7ms, 5ms, 7ms},
                                  {std::nullopt, 5ms, 10ms}}) {
    auto c = simple_retrier();
    c.delay_of = [&](const outcome& o) {
      EXPECT_EQ(o.retry_after, x.reports);
      return x.chosen;
    };
    retrier_rig h{c};
    EXPECT_EQ(backoff_after(h, h.arrive(), pushback(x.reports)), x.expected);
  }
}

TEST(retrier, the_schedule_still_says_how_many_delays_there_are) {
  auto c = simple_retrier();
  c.backoff = schedule::constant(10ms).take(1);
  c.delay_of = [](const outcome&) { return std::optional<duration>{1ms}; };
  retrier_rig h{c};
  auto id = h.arrive();
  EXPECT_EQ(backoff_after(h, id), 1ms);
  h.fail(id);
  EXPECT_EQ(h.count("gave_up_schedule"), 1);
}

TEST(retrier, a_chosen_delay_has_no_jitter_but_a_schedules_one_has) {
  auto c = simple_retrier();
  c.backoff = schedule::constant(20ms).jittered(jitter::full);
  c.delay_of = [](const outcome& o) {
    return o.may_have_executed ? std::optional<duration>{1ms} : std::nullopt;
  };
  retrier_rig h{c};
  auto id = h.arrive();
  EXPECT_EQ(backoff_after(h, id), 1ms);
  auto d = backoff_after(h, id, pushback(5ms));
  EXPECT_GE(d, 5ms);
  EXPECT_LT(d, 25ms);
  EXPECT_NE(d, 5ms);
  // Nor is one added to what the answer asks for.
  c.delay_of = [](const outcome&) { return std::optional<duration>{3ms}; };
  retrier_rig other{c};
  EXPECT_EQ(backoff_after(other, other.arrive(), pushback(5ms)), 5ms);
}

TEST(retrier, a_function_for_delays_that_throws_has_not_chosen) {
  auto c = simple_retrier();
  c.delay_of = [](const outcome&) -> std::optional<duration> {
    throw std::runtime_error{"out of wine"};
  };
  retrier_rig h{c};
  EXPECT_EQ(backoff_after(h, h.arrive()), 10ms);
  EXPECT_EQ(h.e.threw, std::vector<std::string>{"delay_of: out of wine"});
}

// Otherwise all who got the same instant would come at that instant.
TEST(retrier, jitter_spreads_retry_after_and_does_not_undercut_it) {
  auto c = simple_retrier();
  c.backoff = schedule::constant(20ms).jittered(jitter::full);
  retrier_rig h{c};
  std::set<duration> seen;
  for (int i = 0; i < 200; ++i) {
    auto d = backoff_after(h, h.arrive(), pushback(10ms));
    EXPECT_GE(d, 10ms);
    EXPECT_LT(d, 30ms);
    seen.insert(d);
  }
  EXPECT_GT(seen.size(), 190u);
}

// Of the standard mode of AWS' SDKs: between its own delay and 5 s more.
TEST(retrier, waits_for_a_server_only_so_much_longer_than_for_itself) {
  struct row {
    duration asked;
    duration waits;
  };
  auto c = simple_retrier();
  c.backoff = schedule::constant(2s);
  c.retry_after_margin = 5s;
  for (auto& x : std::vector<row>{
         {0s, 2s}, {1s, 2s}, {3s, 3s}, {7s, 7s}, {8s, 7s}, {1h, 7s}}) {
    retrier_rig h{c};
    EXPECT_EQ(backoff_after(h, h.arrive(), pushback(x.asked)), x.waits)
      << to_text(x.asked);
  }
  c.retry_after_margin = 0s;
  c.delay_of = [](const outcome&) { return std::optional<duration>{-1s}; };
  retrier_rig h{c};
  EXPECT_EQ(backoff_after(h, h.arrive(), pushback(3s)), 0s);
}

// Or a server that asks for an hour each time would get ever more attempts.
TEST(retrier, goes_on_in_its_series_if_the_worker_does_not_get_its_time) {
  auto c = simple_retrier();
  c.backoff = schedule::exponential(50ms);
  c.retry_after_margin = 10ms;
  retrier_rig h{c};
  auto id = h.arrive();
  for (auto waits : {60ms, 110ms, 210ms, 410ms})
    EXPECT_EQ(backoff_after(h, id, pushback(1h)), waits);
  EXPECT_EQ(backoff_after(h, id, pushback(805ms)), 805ms);
  EXPECT_EQ(backoff_after(h, id, pushback(1h)), 60ms);
}

TEST(retrier, jitter_stays_within_what_a_server_may_ask_for) {
  auto c = simple_retrier();
  c.backoff = schedule::constant(20ms).jittered(jitter::full);
  c.retry_after_margin = 5ms;
  retrier_rig h{c};
  std::set<duration> seen;
  for (int i = 0; i < 200; ++i) {
    auto d = backoff_after(h, h.arrive(), pushback(1s));
    EXPECT_GE(d, 5ms);
    EXPECT_LT(d, 25ms);
    seen.insert(d);
  }
  EXPECT_GT(seen.size(), 190u);
}

TEST(retrier, waits_longer_after_an_overload) {
  auto c = simple_retrier();
  c.backoff = schedule::exponential(50ms);
  c.overload_factor = 20;
  c.classify.allow = {"caisson:*", "class:retry_after", "class:shed"};
  retrier_rig h{c};
  auto id = h.arrive();
  auto after = [&](errc code) {
    return backoff_after(h, id, outcome::failure(code, false));
  };
  EXPECT_EQ(after(errc::worker_down), 50ms);
  EXPECT_EQ(after(errc::rate_limited), 2s);
  EXPECT_EQ(after(errc::breaker_open), 200ms);
  id = h.arrive();
  EXPECT_EQ(after(errc::queue_full), 1s);
  EXPECT_EQ(after(errc::wait_timeout), 2s);
  EXPECT_EQ(after(errc::shed), 4s);
  EXPECT_EQ(after(errc::throttled), 8s);
  id = h.arrive();
  // What an adapter says of an answer goes before the error.
  auto answer = outcome::failure(errc::rate_limited, true);
  answer.kind = answer_class::retry_after;
  EXPECT_EQ(backoff_after(h, id, answer), 50ms);
  answer.kind = answer_class::shed;
  EXPECT_EQ(backoff_after(h, id, answer), 2s);
  // What the server asks for is the least, and not multiplied.
  id = h.arrive();
  EXPECT_EQ(backoff_after(h, id, pushback(3s)), 3s);
  EXPECT_EQ(backoff_after(h, id, pushback(10ms)), 1s);
}

TEST(retrier, starts_its_series_over_after_a_pushback) {
  auto c = simple_retrier();
  c.backoff = schedule::exponential(10ms).take(3);
  retrier_rig h{c};
  auto id = h.arrive();
  EXPECT_EQ(backoff_after(h, id), 10ms);
  EXPECT_EQ(backoff_after(h, id), 20ms);
  EXPECT_EQ(backoff_after(h, id, pushback(1s)), 1s);
  EXPECT_EQ(backoff_after(h, id), 10ms);
  EXPECT_EQ(backoff_after(h, id), 20ms);
  EXPECT_EQ(backoff_after(h, id), 40ms);
  // The limit of a finite schedule is not lifted by a pushback that comes when
  // it is exhausted.
  h.finish(id, pushback(1s));
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.count("gave_up_schedule"), 1);
}

TEST(retrier, a_negative_pushback_means_do_not_come_back) {
  retrier_rig h{simple_retrier()};
  auto id = h.arrive();
  h.finish(id, pushback(-1ns));
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.count("gave_up_pushback"), 1);
}

TEST(retrier, begins_no_wait_without_end) {
  retrier_rig h{simple_retrier()};
  auto id = h.arrive();
  h.finish(id, pushback(unlimited));
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.count("gave_up_deadline"), 1);
}

// -- the order of questions ---------------------------------------------------

// Everything speaks against a retry at first; each row removes one reason.
TEST(retrier, gives_the_first_of_several_reasons) {
  retrier_config c;
  c.max_attempts = 1;
  c.backoff = schedule{};
  c.classify.deny = {"cancelled"};
  c.budget_ratio = 0.000001;
  c.budget_reserve = 0;
  auto call = call_info{};
  auto o = outcome::failure(errc::cancelled, true, -1ns);
  auto reason = [&] {
    retrier_rig h{c};
    call.deadline = time_after(h.e.now, 5ms);
    auto id = h.arrive(call);
    h.finish(id, o);
    EXPECT_EQ(h.where(id), place::passed);
    for (auto name : {"not_retryable", "not_idempotent", "gave_up_pushback",
                      "gave_up_attempts", "gave_up_deadline",
                      "gave_up_schedule", "gave_up_budget"})
      if (h.count(name) == 1)
        return std::string{name};
    return std::string{};
  };
  EXPECT_EQ(reason(), "not_retryable");
  o.code = static_cast<std::uint8_t>(errc::worker_down);
  EXPECT_EQ(reason(), "not_idempotent");
  call.idempotent = idempotence::yes;
  EXPECT_EQ(reason(), "gave_up_pushback");
  o.retry_after = 0ns;
  EXPECT_EQ(reason(), "gave_up_attempts");
  c.max_attempts = 2;
  EXPECT_EQ(reason(), "gave_up_schedule");
  c.backoff = schedule::constant(10ms);
  EXPECT_EQ(reason(), "gave_up_deadline");
  c.backoff = schedule::constant(1ms);
  EXPECT_EQ(reason(), "gave_up_budget");
}

} // namespace
} // namespace caisson::test
