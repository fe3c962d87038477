// Outcomes that count for and against the worker.
#include <policies/throttle/model/throttle_rig.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::test::throttling {
namespace {

outcome worker_error(std::string_view category, std::uint8_t code,
                     answer_class kind = answer_class::unknown) {
  outcome o;
  o.ok = false;
  o.from_worker = true;
  o.code = code;
  o.category = category_hash(category);
  o.kind = kind;
  return o;
}

// How a call with that outcome counts.
std::string sign_of(const outcome& o, classifier how = {}) {
  auto c = bare();
  c.classify = std::move(how);
  throttle_rig h{c};
  h.finish(h.arrive(), o);
  std::string found;
  for (auto name : {"accepted", "not_accepted", "ignored"})
    if (h.count(name) == 1)
      found += name;
  auto counts = found == "ignored" ? 0 : 1;
  EXPECT_EQ(h.count("requests"), counts);
  EXPECT_EQ(h.count("accepts"), found == "accepted" ? 1 : 0);
  return found;
}

TEST(throttle_outcomes, of_each_code) {
  struct row {
    errc code;
    const char* expected;
  };
  const row rows[] = {
    {errc::breaker_open, "ignored"},
    {errc::queue_full, "not_accepted"},
    {errc::wait_timeout, "not_accepted"},
    {errc::rate_limited, "not_accepted"},
    {errc::deadline_exceeded, "not_accepted"},
    {errc::cancelled, "ignored"},
    {errc::worker_down, "not_accepted"},
    {errc::budget_exhausted, "ignored"},
    {errc::shed, "not_accepted"},
    {errc::batch_failed, "accepted"},
    {errc::no_such_permit, "ignored"},
    {errc::invalid_config, "ignored"},
    {errc::draining, "ignored"},
    {errc::callback_failed, "ignored"},
    {errc::call_loop, "ignored"},
    {errc::injected, "not_accepted"},
    {errc::feature_off, "ignored"},
    {errc::internal_error, "ignored"},
    {errc::throttled, "ignored"},
  };
  EXPECT_EQ(std::size(rows), last_errc);
  for (const auto& x : rows)
    for (auto executed : {false, true})
      EXPECT_EQ(sign_of(outcome::failure(x.code, executed)), x.expected)
        << name_of(x.code);
}

TEST(throttle_outcomes, of_answers_of_the_worker) {
  EXPECT_EQ(sign_of(outcome::success()), "accepted");
  EXPECT_EQ(sign_of(worker_error("app", 3)), "accepted");
  EXPECT_EQ(sign_of(worker_error("system_error", 1)), "accepted");
  struct row {
    answer_class kind;
    const char* expected;
  };
  for (auto x :
       {row{answer_class::conflict, "accepted"},
        row{answer_class::fail, "accepted"}, row{answer_class::ok, "accepted"},
        row{answer_class::retry, "not_accepted"},
        row{answer_class::retry_after, "not_accepted"},
        row{answer_class::shed, "not_accepted"}})
    EXPECT_EQ(sign_of(worker_error("app", 3, x.kind)), x.expected)
      << name_of(x.kind);
}

TEST(throttle_outcomes, of_no_answer_and_of_too_little_time) {
  auto silent = worker_error("transport", 1);
  silent.unanswered = true;
  EXPECT_EQ(sign_of(silent), "not_accepted");
  auto late = worker_error("app", 3, answer_class::fail);
  late.out_of_time = true;
  EXPECT_EQ(sign_of(late), "not_accepted");
}

TEST(throttle_outcomes, of_permits_that_were_released) {
  EXPECT_EQ(sign_of(outcome::without_verdict()), "ignored");
}

TEST(throttle_outcomes, follow_the_lists) {
  classifier c;
  c.allow = {"app:3", "http:503"};
  c.deny = {"app:4"};
  EXPECT_EQ(sign_of(worker_error("app", 3), c), "not_accepted");
  EXPECT_EQ(sign_of(worker_error("app", 4), c), "ignored");
  EXPECT_EQ(sign_of(worker_error("app", 5), c), "accepted");
  EXPECT_EQ(sign_of(outcome::success(), c), "accepted");
  EXPECT_EQ(sign_of(outcome::failure(errc::shed, false), c), "accepted");
  // It was not the worker who accepted these.
  EXPECT_EQ(sign_of(outcome::failure(errc::breaker_open, false), c), "ignored");
  EXPECT_EQ(sign_of(outcome::failure(errc::cancelled, true), c), "ignored");
  auto busy = worker_error("app", 9, answer_class::fail);
  busy.answer = {answer_protocol::http, 503};
  EXPECT_EQ(sign_of(busy, c), "not_accepted");
}

TEST(throttle_outcomes, may_be_taken_out_of_the_default_table) {
  classifier c;
  c.deny = {"worker_down"};
  EXPECT_EQ(sign_of(outcome::failure(errc::worker_down, true), c), "ignored");
  EXPECT_EQ(sign_of(outcome::failure(errc::shed, true), c), "not_accepted");
  c.deny = {};
  c.allow = {"breaker_open", "cancelled"};
  EXPECT_EQ(sign_of(outcome::failure(errc::breaker_open, false), c),
            "not_accepted");
  // One that was called off has no outcome, whatever the list says.
  EXPECT_EQ(sign_of(outcome::failure(errc::cancelled, true), c), "ignored");
}

TEST(throttle_outcomes, follow_the_function) {
  auto v = verdict::success;
  classifier c;
  c.by_value = [&](const outcome&) { return v; };
  for (auto [input, expected] : {std::pair{verdict::success, "accepted"},
                                 std::pair{verdict::failure, "accepted"},
                                 std::pair{verdict::transient, "not_accepted"},
                                 std::pair{verdict::refused, "not_accepted"},
                                 std::pair{verdict::neutral, "ignored"}}) {
    v = input;
    EXPECT_EQ(sign_of(outcome::success(), c), expected);
    EXPECT_EQ(sign_of(outcome::failure(errc::cancelled, true), c), "ignored");
  }
  c.by_value = [](const outcome&) -> verdict {
    throw std::runtime_error{"oops"};
  };
  EXPECT_EQ(sign_of(outcome::success(), c), "ignored");
}

TEST(throttle_outcomes, of_calls_that_were_cut_off) {
  throttle_rig h;
  h.abandon(h.arrive(), errc::deadline_exceeded);
  EXPECT_EQ(h.count("not_accepted"), 1);
  EXPECT_EQ(h.count("requests"), 1);
  h.abandon(h.arrive(), errc::cancelled);
  EXPECT_EQ(h.count("ignored"), 1);
  EXPECT_EQ(h.count("requests"), 1);
  EXPECT_EQ(h.count("abandoned"), 2);
}

} // namespace
} // namespace caisson::test::throttling
