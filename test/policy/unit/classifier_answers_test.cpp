// Policies and the class that an adapter gives an answer.
#include "policies/breaker/model/breaker_rig.hpp"
#include "policies/limiter/model/limiter_rig.hpp"
#include "policies/retrier/model/retrier_rig.hpp"
#include "support/judging.hpp"

#include <caisson/policies/fallback.hpp>
#include <caisson/policy/answer_tables.hpp>
#include <caisson/policy/policy_config.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace caisson::test {
namespace {

using strings = std::vector<std::string>;

// What an adapter makes of a value.
outcome answer(const answer_info& x) {
  outcome o;
  o.kind = x.kind;
  o.answer = x.code;
  o.max_attempts = x.max_attempts;
  o.retry_after = x.retry_after;
  o.ok = x.kind == answer_class::ok || x.kind == answer_class::unknown;
  o.may_have_executed = x.may_have_executed;
  o.from_worker = true;
  return o;
}

outcome http(int status) {
  return answer(http_answer(status));
}

outcome of_class(answer_class kind) {
  return answer({.kind = kind});
}

// -- verdicts -----------------------------------------------------------------

TEST(answer_verdicts, each_class_has_one_for_retriers_and_one_for_breakers) {
  const struct {
    answer_class kind;
    verdict retrier;
    verdict breaker;
  } table[] = {
    {answer_class::unknown, verdict::success, verdict::success},
    {answer_class::ok, verdict::success, verdict::success},
    {answer_class::retry, verdict::transient, verdict::transient},
    {answer_class::retry_after, verdict::transient, verdict::transient},
    {answer_class::conflict, verdict::failure, verdict::success},
    {answer_class::fail, verdict::failure, verdict::success},
    {answer_class::shed, verdict::refused, verdict::refused},
  };
  EXPECT_EQ(std::size(table), static_cast<std::size_t>(last_answer_class) + 1);
  for (const auto& x : table) {
    EXPECT_EQ(judged({}, of_class(x.kind), retry_lists), x.retrier)
      << name_of(x.kind);
    EXPECT_EQ(judged({}, of_class(x.kind), count_lists), x.breaker)
      << name_of(x.kind);
  }
}

TEST(answer_verdicts, the_class_of_an_error_comes_before_the_default_table) {
  auto o = app_error(3);
  EXPECT_EQ(judged({}, o, retry_lists), verdict::transient);
  o.kind = answer_class::fail;
  EXPECT_EQ(judged({}, o, retry_lists), verdict::failure);
  o.kind = answer_class::ok;
  EXPECT_EQ(judged({}, o, retry_lists), verdict::success);
  // Its own name is still its name.
  classifier c;
  c.deny = {"app:3"};
  EXPECT_EQ(judged(c, o, retry_lists), verdict::failure);
}

TEST(answer_verdicts, lists_come_before_the_class) {
  classifier c;
  c.allow = {"http:404", "class:shed"};
  EXPECT_EQ(judged(c, http(404), retry_lists), verdict::transient);
  EXPECT_EQ(judged(c, http(429), retry_lists), verdict::transient);
  EXPECT_EQ(judged(c, http(503), retry_lists), verdict::failure);
  EXPECT_EQ(judged(c, http(503), count_lists), verdict::neutral);
  c.deny = {"http:4xx"};
  EXPECT_EQ(judged(c, http(404), retry_lists), verdict::failure);
  EXPECT_EQ(judged(c, http(404), count_lists), verdict::neutral);
}

TEST(answer_verdicts, a_success_is_one_whatever_the_lists_name) {
  classifier c;
  c.allow = {"http:404"};
  c.deny = {"http:*"};
  EXPECT_EQ(judged(c, http(200), retry_lists), verdict::success);
  c.by_value = [](const outcome& o) {
    return o.answer == http(202).answer ? verdict::transient
                                        : classifier::standard(o);
  };
  EXPECT_EQ(judged(c, http(202), retry_lists), verdict::transient);
  EXPECT_EQ(judged(c, http(200), retry_lists), verdict::success);
}

TEST(answer_verdicts, names_of_other_protocols_do_not_fit) {
  classifier c;
  c.allow = {"http:503", "http:*", "class:fail"};
  EXPECT_EQ(judged(c, answer(grpc_answer(14)), retry_lists), verdict::failure);
  EXPECT_EQ(judged(c, answer(sqlstate_answer("40001")), retry_lists),
            verdict::failure);
  EXPECT_EQ(judged(c, app_error(3), retry_lists), verdict::failure);
}

// -- limits -------------------------------------------------------------------

TEST(attempts_for, is_the_smaller_limit_where_the_table_decides) {
  classifier c;
  EXPECT_EQ(c.attempts_for(http(500), 5), 2u);
  EXPECT_EQ(c.attempts_for(http(500), 1), 1u);
  EXPECT_EQ(c.attempts_for(http(503), 5), 5u);
  c.deny = {"http:404"};
  EXPECT_EQ(c.attempts_for(http(500), 5), 2u);
  c.allow = {"http:500"};
  EXPECT_EQ(c.attempts_for(http(500), 5), 5u);
  c.allow = {};
  c.by_value = classifier::standard;
  EXPECT_EQ(c.attempts_for(http(500), 5), 5u);
}

// -- names --------------------------------------------------------------------

TEST(answer_names, that_are_wrong_are_reported_with_those_that_are_allowed) {
  const struct {
    std::string name;
    std::string_view problem;
  } table[] = {
    {"http:99", "\"http:99\" names no answer, allowed: \"http:<100 to 599>\", "
                "\"http:4xx\" or \"http:*\""},
    {"grpc:gone", "\"grpc:gone\" names no answer, allowed: "
                  "\"grpc:unavailable\", another code's name or number (1 to "
                  "16) or \"grpc:*\""},
    {"sqlstate:4000", "\"sqlstate:4000\" names no answer, allowed: "
                      "\"sqlstate:40001\", \"sqlstate:40*\" or "
                      "\"sqlstate:*\""},
    {"class:ok", "\"class:ok\" names no answer, allowed: \"class:\" with "
                 "retry, retry_after, conflict, fail or shed"},
  };
  for (const auto& x : table) {
    problems found;
    check_error_names({"shed", x.name, "http:503"}, "fail_on", "stack.db",
                      found);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].kind, problem_kind::range);
    EXPECT_EQ(found[0].message, x.problem);
  }
  EXPECT_EQ(
    classifier::problem_with({"http:503", "http:5xx", "grpc:14", "grpc:aborted",
                              "sqlstate:40*", "class:retry", "app:3", "app:*"}),
    "");
}

// -- policies -----------------------------------------------------------------

TEST(answer_policies, a_retrier_repeats_what_the_matrix_allows) {
  const struct {
    int status;
    int attempts;
    std::string counter;
  } table[] = {
    {200, 1, "succeeded"},        {404, 1, "not_retryable"},
    {409, 1, "not_retryable"},    {500, 2, "gave_up_attempts"},
    {501, 1, "not_retryable"},    {503, 4, "gave_up_attempts"},
    {429, 4, "gave_up_attempts"},
  };
  for (const auto& x : table) {
    auto c = retrying::simple_retrier();
    c.max_attempts = 4;
    rig<retrier> h{c};
    auto id = h.arrive();
    h.finish(id, http(x.status));
    auto attempts = 1;
    while (h.where(id) == place::held) {
      h.advance_to(10ms * attempts);
      ++attempts;
      h.finish(id, http(x.status));
    }
    EXPECT_EQ(attempts, x.attempts) << x.status;
    EXPECT_EQ(h.count(x.counter), 1) << x.status;
  }
}

TEST(answer_policies, a_retrier_repeats_what_was_certainly_not_done) {
  auto c = retrying::simple_retrier();
  c.idempotent = false;
  for (auto [code, repeated] : {std::pair{"40001", true},
                                {"40P01", true},
                                {"08001", true},
                                {"08006", false},
                                {"40003", false},
                                {"57P01", false}}) {
    rig<retrier> h{c};
    auto id = h.arrive();
    h.finish(id, answer(sqlstate_answer(code)));
    EXPECT_EQ(h.where(id), repeated ? place::held : place::passed) << code;
    EXPECT_EQ(h.count("not_idempotent"), repeated ? 0 : 1) << code;
  }
}

TEST(answer_policies, a_retrier_obeys_retry_after_up_to_its_cap) {
  auto c = retrying::simple_retrier();
  c.retry_after_cap = 2s;
  for (auto [reports, waits] : {std::pair<duration, duration>{2s, 2s},
                                {0s, 10ms},
                                {2s + 1ns, do_not_retry},
                                {do_not_retry, do_not_retry}}) {
    rig<retrier> h{c};
    auto id = h.arrive();
    auto o = http(503);
    o.retry_after = reports;
    h.finish(id, o);
    EXPECT_EQ(h.where(id), waits == do_not_retry ? place::passed : place::held);
    EXPECT_EQ(h.count("gave_up_pushback"), waits == do_not_retry ? 1 : 0);
    if (waits != do_not_retry) {
      EXPECT_EQ(retrying::wait_of(h, id), waits);
    }
  }
}

TEST(answer_policies, a_breaker_opens_only_on_the_faults_of_the_server) {
  for (auto [status, counter] : {std::pair{200, "successes"},
                                 {404, "successes"},
                                 {409, "successes"},
                                 {429, "refused"},
                                 {500, "failures"},
                                 {501, "successes"},
                                 {503, "failures"}}) {
    breaker_rig r{with_threshold(1)};
    r.call(http(status));
    EXPECT_EQ(r.count(counter), 1) << status;
    EXPECT_EQ(r.state(), counter == std::string{"failures"} ? "open" : "closed")
      << status;
  }
}

TEST(answer_policies, a_half_open_breaker_closes_on_answers_about_requests) {
  auto c = with_threshold(1);
  breaker_rig r{c};
  r.call(http(503));
  r.advance(10s);
  r.call(http(404));
  EXPECT_EQ(r.state(), "closed");
}

TEST(answer_policies, a_fallback_steps_in_unless_the_request_is_at_fault) {
  for (auto [status, falls] : {std::pair{200, false},
                               {404, false},
                               {409, false},
                               {429, true},
                               {500, true},
                               {503, true}}) {
    rig<fallback> h{fallback_config{}, 1u};
    auto id = h.arrive();
    h.finish(id, http(status));
    EXPECT_EQ(h.where(id), falls ? place::redirected : place::passed) << status;
    EXPECT_EQ(h.count("primary_answered"), status == 200 ? 1 : 0);
  }
  // Unless it is asked to.
  fallback_config c;
  c.classify.allow = strings{"http:404"};
  rig<fallback> h{c, 1u};
  auto id = h.arrive();
  h.finish(id, http(404));
  EXPECT_EQ(h.where(id), place::redirected);
}

TEST(answer_policies, a_limiter_is_drained_by_too_many_requests) {
  for (auto [status, drained] :
       {std::pair{429, 1}, {503, 0}, {404, 0}, {200, 0}}) {
    rig<limiter> h{some_limiter(10, 1s, 5)};
    h.finish(h.arrive(), http(status));
    EXPECT_EQ(h.count("drained"), drained) << status;
  }
  rig<limiter> h{some_limiter(10, 1s, 5)};
  auto o = http(503);
  o.retry_after = 2s;
  h.finish(h.arrive(), o);
  EXPECT_EQ(h.count("drained"), 1);
}

TEST(answer_policies, a_limiter_keeps_the_price_of_an_answer) {
  rig<limiter> h{some_limiter(10, 1s, 5)};
  h.finish(h.arrive(), answer(sqlstate_answer("40001")));
  EXPECT_EQ(h.count("tokens"), 4);
  EXPECT_EQ(h.count("returned"), 0);
}

} // namespace
} // namespace caisson::test
