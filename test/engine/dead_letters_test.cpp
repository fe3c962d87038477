// Dead letters: which calls are some, and what they say.
#include <support/holding.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct dead_letters : holding {
  // What was sent is kept for the letters alone.
  dead_letters() { a.keeps_content = false; }

  engine_world& start_with(dead_letter_calls which, world_setup s = {}) {
    s.dead_letters = which;
    return start(std::move(s));
  }

  /// No layer holds calls.
  void let_pass() { a.on_admit = {}; }
};

constexpr auto all = dead_letter_calls::all;
constexpr auto plain_sends = dead_letter_calls::plain_sends;

TEST_F(dead_letters, are_plain_sends_that_fail) {
  let_pass();
  auto& w = start_with(plain_sends);
  w.send("x");
  w.send("y");
  w.call("z");
  for (std::size_t n : {0, 2})
    w.fail(n);
  w.answer(1, "good");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "0s worker <- y #1",
                             "0s worker <- z #2", "0s letter x: failed",
                             "0s call 2 = failed"}));
  EXPECT_FALSE(w.letters.at(0).answered);
  EXPECT_EQ(w.metric("dead_letters"), 1);
}

TEST_F(dead_letters, are_requests_by_choice_and_come_before_the_answer) {
  let_pass();
  auto& w = start_with(all);
  w.call("x");
  w.fail(0);
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "0s letter x: failed",
                             "0s call 0 = failed"}));
  EXPECT_TRUE(w.letters.at(0).answered);
}

TEST_F(dead_letters, describe_their_call) {
  let_pass();
  auto& w = start_with(all);
  w.pass(1s);
  call_options o;
  o.time_left = 5s;
  o.priority = -3;
  o.permits = 4;
  o.idempotent = idempotence::yes;
  o.attempt = 2;
  o.key = "k";
  o.idempotency_key = "once";
  o.traceparent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
  o.propagated.set_tracestate("rojo=1");
  o.propagated.set_baggage("user=7");
  o.path = {7, 8};
  o.user_priority = 9;
  o.stands_for = 10;
  w.call("x", o);
  w.pass(2s);
  w.fail(0);
  const auto& x = w.letters.at(0);
  EXPECT_EQ(x.gate, "gate");
  EXPECT_EQ(x.attempts, 1u);
  EXPECT_TRUE(x.may_have_executed);
  EXPECT_EQ(x.age, 2s);
  EXPECT_EQ(x.options.priority, -3);
  EXPECT_EQ(x.options.user_priority, 9);
  EXPECT_EQ(x.options.stands_for, 0);
  EXPECT_EQ(x.options.permits, 4u);
  EXPECT_EQ(x.options.idempotent, idempotence::yes);
  EXPECT_EQ(x.options.attempt, 1u);
  EXPECT_EQ(x.options.key, "k");
  EXPECT_EQ(x.options.idempotency_key, "once");
  EXPECT_EQ(x.options.traceparent, o.traceparent);
  EXPECT_EQ(x.options.propagated.tracestate(), "rojo=1");
  EXPECT_EQ(x.options.propagated.baggage(), "user=7");
  // It can be sent again, from the start.
  EXPECT_EQ(x.options.time_left, 0s);
  EXPECT_EQ(x.options.deadline_ns, 0);
  EXPECT_TRUE(x.options.path.empty());
}

TEST_F(dead_letters, come_from_each_way_to_end_a_call) {
  let_pass();
  auto& w = start_with(all, {.config = {.name = "gate",
                                        .default_deadline = unlimited,
                                        .max_calls = 3}});
  b.on_admit = [](call_info& c, auto&, auto&) {
    return c.key == "no" ? decision::reject(errc::shed, 3s) : decision::pass();
  };
  call_options no;
  no.key = "no";
  w.call("rejected", no);
  call_options late;
  late.time_left = no_time_left;
  w.call("late", late);
  call_options loops;
  loops.path = std::vector<std::uint64_t>(max_path_length, 1);
  w.call("loops", loops);
  call_options brief;
  brief.time_left = 1s;
  w.call("brief", brief);
  w.call("dies");
  w.call("bounces");
  w.call("too many");
  w.take();
  w.at(1s);
  w.bounce(2);
  w.kill(0);
  w.call("nobody");
  w.drain();
  w.call("drained");
  lines log;
  for (auto& line : w.take())
    if (line.find("letter") != std::string::npos)
      log.push_back(std::move(line));
  EXPECT_EQ(log, (lines{"1s letter brief: deadline_exceeded by gate, executed",
                        "1s letter bounces: worker_down by gate, executed",
                        "1s letter dies: worker_down by gate, executed",
                        "1s letter nobody: worker_down by gate",
                        "1s letter drained: draining by gate"}));
  EXPECT_EQ(words_of(w.letters.at(0).answer), "shed by inner, after 3s");
  EXPECT_EQ(words_of(w.letters.at(1).answer), "deadline_exceeded by gate");
  EXPECT_EQ(words_of(w.letters.at(2).answer),
            "call_loop by gate: the call exceeds the maximum of 64 gates");
  EXPECT_TRUE(w.letters.at(2).options.path.empty());
  EXPECT_EQ(words_of(w.letters.at(3).content), "too many");
  EXPECT_EQ(w.metric("dead_letters"), 9);
}

TEST_F(dead_letters, are_not_cancelled_requests) {
  let_pass();
  auto& w = start_with(all);
  w.call("x", {}, 5, 77);
  w.cancel(5, 77);
  // Callers are watched while their calls wait.
  a.on_admit = [](auto&, auto&, auto&) { return decision::hold(); };
  w.call("y", {}, 6);
  w.caller_down(6);
  a.on_admit = {};
  EXPECT_TRUE(w.letters.empty());
  // Nobody waits for a plain send.
  a.on_admit = [](auto&, auto&, auto&) { return decision::hold(); };
  w.send("sent");
  a.on_admit = {};
  EXPECT_TRUE(w.letters.empty());
  w.caller_down(*w.watched().begin());
  ASSERT_EQ(w.letters.size(), 1u);
  EXPECT_EQ(words_of(w.letters[0].content), "sent");
  // A gate behind that has ended says the same word.
  w.call("z");
  w.answer(1, caf::make_message(make_error(errc::cancelled)));
  EXPECT_EQ(w.letters.size(), 2u);
}

TEST_F(dead_letters, are_no_permits) {
  let_pass();
  auto& w = start_with(all);
  auto n = w.acquire_permit({.time_left = 1s});
  w.release_permit(w.permit_of(n), true);
  w.acquire_permit({.time_left = 1s});
  w.at(5s);
  EXPECT_TRUE(w.letters.empty());
}

TEST_F(dead_letters, include_items_of_a_batch_that_failed) {
  auto& w = start_with(plain_sends);
  w.send("x");
  w.send("y");
  w.call("z");
  outer.on_content = [](auto, auto items, auto&) {
    return caf::make_message(batch{std::move(items)});
  };
  start_child();
  w.fail(0);
  EXPECT_EQ(w.take(), (lines{"0s worker <- [x y z] #0", "0s letter x: failed",
                             "0s letter y: failed", "0s call 2 = failed"}));
  // The batch itself is none.
  EXPECT_EQ(w.metric("dead_letters"), 2);
  EXPECT_EQ(w.letters.at(0).attempts, 1u);
}

TEST_F(dead_letters, include_calls_left_when_the_gate_stops) {
  auto& w = start_with(plain_sends);
  w.send("held");
  a.on_admit = {};
  w.send("sent");
  w.call("asked");
  w.stop();
  ASSERT_EQ(w.letters.size(), 2u);
  EXPECT_EQ(words_of(w.letters[0].content), "held");
  EXPECT_EQ(words_of(w.letters[0].answer), "cancelled by gate");
  EXPECT_FALSE(w.letters[0].may_have_executed);
  EXPECT_EQ(words_of(w.letters[1].content), "sent");
  EXPECT_TRUE(w.letters[1].may_have_executed);
}

TEST_F(dead_letters, count_messages_of_children) {
  auto& w = start_with(all, {.worker = {.is_gate = true}});
  w.call("x");
  w.call("y");
  start_child();
  // It was sent, and not carried out.
  w.answer(0, caf::make_message(make_error(
                errc::shed, rejection{"elsewhere", 3ms, false, "busy"})));
  ASSERT_EQ(w.letters.size(), 2u);
  EXPECT_EQ(w.letters[1].attempts, 1u);
  EXPECT_FALSE(w.letters[1].may_have_executed);
  held.clear();
  w.call("z");
  start_child();
  w.stop();
  ASSERT_EQ(w.letters.size(), 3u);
  EXPECT_EQ(w.letters[2].attempts, 1u);
  EXPECT_TRUE(w.letters[2].may_have_executed);
}

TEST_F(dead_letters, are_none_if_not_configured) {
  let_pass();
  auto& w = start();
  w.send("x");
  w.fail(0);
  EXPECT_TRUE(w.letters.empty());
  EXPECT_EQ(w.metric("dead_letters"), 0);
}

} // namespace
} // namespace caisson::test
