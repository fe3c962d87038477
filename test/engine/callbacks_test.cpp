// Functions of the user's that throw, wherever a layer calls one.
#include <support/holding.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct engine_callbacks : testing::Test {
  engine_world& start(world_setup s = {}) {
    return world.emplace(std::move(stack), std::move(s));
  }

  puppets stack;
  puppet_layer& outer = stack.add("outer");
  puppet_layer& inner = stack.add("inner");
  puppet& a = outer.machine();
  puppet& b = inner.machine();
  std::optional<engine_world> world;
};

TEST_F(engine_callbacks, in_admit_the_call_is_over) {
  b.on_admit = [](auto&, auto&, env& e) {
    throws(e);
    return decision::pass();
  };
  auto& w = start({.listens = true});
  w.call("x");
  EXPECT_EQ(w.take(),
            (lines{"0s inner: callback_failed (function: boom)",
                   "0s call 0 = callback_failed by inner: function: boom"}));
  EXPECT_EQ(b.take(), (lines{"admit", "abandon callback_failed"}));
  EXPECT_EQ(a.take(), (lines{"admit", "complete callback_failed"}));
  EXPECT_EQ(w.metric("callbacks_failed"), 1);
}

TEST_F(engine_callbacks, in_admit_prevent_a_hold) {
  b.on_admit = [](auto&, auto&, env& e) {
    throws(e);
    return decision::hold();
  };
  auto& w = start();
  w.call("x");
  EXPECT_EQ(w.answer_to(0), "callback_failed by inner: function: boom");
  EXPECT_EQ(b.inside, 0);
}

TEST_F(engine_callbacks, in_admit_a_rejection_says_which_function) {
  b.on_admit = [](auto&, auto&, env& e) {
    throws(e);
    return decision::reject(errc::callback_failed);
  };
  auto& w = start();
  w.call("x");
  EXPECT_EQ(w.answer_to(0), "callback_failed by inner: function: boom");
  EXPECT_EQ(b.inside, 0);
  EXPECT_EQ(b.take(), lines{"admit"});
}

TEST_F(engine_callbacks, in_complete_the_outcome_is_the_error) {
  b.on_complete = [](auto&, auto&, auto&, env& e) {
    throws(e);
    return decision::hold();
  };
  auto& w = start();
  w.call("x");
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0),
            "callback_failed by inner, executed: function: boom");
  EXPECT_EQ(b.take(), (lines{"admit", "complete ok", "abandon ok"}));
  EXPECT_EQ(a.take(), (lines{"admit", "complete callback_failed, executed"}));
}

TEST_F(engine_callbacks, in_expire_the_call_is_over_whatever_it_decides) {
  decision::kind what = decision::kind::pass;
  b.on_admit = [](auto&, auto&, env& e) {
    return decision::hold(time_after(e.now, 1ms));
  };
  b.on_expire = [&](auto&, auto&, env& e) {
    throws(e);
    decision d;
    d.what = what;
    return d;
  };
  auto& w = start();
  for (auto kind :
       {decision::kind::pass, decision::kind::hold, decision::kind::reject}) {
    what = kind;
    auto n = w.call("x");
    w.pass(1ms);
    EXPECT_EQ(w.answer_to(n), "callback_failed by inner: function: boom");
  }
  EXPECT_EQ(b.inside, 0);
  EXPECT_TRUE(w.attempts.empty());
}

TEST_F(engine_callbacks, in_expire_the_policy_knows_of_earlier_attempts) {
  b.keeps_content = true;
  b.on_complete = [](auto&, auto&, auto&, env& e) {
    return decision::hold(time_after(e.now, 1ms));
  };
  b.on_expire = [](auto&, auto&, env& e) {
    throws(e);
    return decision::pass();
  };
  auto& w = start();
  w.call("x");
  w.fail(0);
  w.at(1ms);
  EXPECT_EQ(w.answer_to(0),
            "callback_failed by inner, executed: function: boom");
  EXPECT_EQ(b.take(), (lines{"admit", "complete failed, executed", "expire",
                             "abandon callback_failed, executed"}));
}

TEST_F(engine_callbacks, in_a_prefilter_the_policy_is_not_asked) {
  inner.has_content = true;
  inner.on_prefilter = [](auto&, env& e) {
    throws(e);
    return std::nullopt;
  };
  auto& w = start();
  w.call("x");
  EXPECT_EQ(w.answer_to(0), "callback_failed by inner: function: boom");
  EXPECT_TRUE(b.take().empty());
}

TEST_F(engine_callbacks, of_a_layer_that_only_observes_end_no_call) {
  inner.configure_mode(mode::observe);
  b.on_admit = [](auto&, auto&, env& e) {
    throws(e);
    return decision::pass();
  };
  b.on_complete = [](auto&, auto&, auto&, env& e) {
    throws(e);
    return decision::pass();
  };
  auto& w = start();
  w.call("x");
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0), "y");
  EXPECT_EQ(w.metric("callbacks_failed"), 2);
}

TEST_F(engine_callbacks, in_a_wake_up_concern_no_call) {
  b.wake_at = engine_world::origin() + 1ms;
  b.on_wake = [](env& e) { throws(e); };
  auto& w = start();
  w.call("x");
  w.at(1ms);
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0), "y");
  EXPECT_EQ(w.metric("callbacks_failed"), 1);
}

// -- of children --------------------------------------------------------------

using child_callbacks = holding;

TEST_F(child_callbacks, that_make_content_end_the_parents) {
  outer.on_content = [](auto, auto, env& e) {
    throws(e);
    return caf::message{};
  };
  auto& w = start();
  w.call("x");
  w.call("y");
  start_child();
  EXPECT_EQ(w.take(),
            (lines{"0s call 0 = callback_failed by outer: function: boom",
                   "0s call 1 = callback_failed by outer: function: boom"}));
  EXPECT_EQ(a.take(),
            (lines{"admit", "admit", "child callback_failed",
                   "complete callback_failed", "complete callback_failed"}));
}

TEST_F(child_callbacks, in_child_done_end_the_parents) {
  a.on_child = [](auto, auto&, env& e) {
    throws(e);
    return decision::hold();
  };
  auto& w = start();
  w.call("x");
  w.call("y");
  start_child();
  w.answer(0, "z");
  EXPECT_EQ(w.answer_to(0),
            "callback_failed by outer, executed: function: boom");
  EXPECT_EQ(w.answer_to(1),
            "callback_failed by outer, executed: function: boom");
}

TEST_F(child_callbacks, that_split_end_the_parents) {
  outer.on_split = [](auto&, auto, env& e) {
    throws(e);
    return std::nullopt;
  };
  auto& w = start();
  w.call("x");
  start_child();
  w.answer(0, "z");
  EXPECT_EQ(w.answer_to(0),
            "callback_failed by outer, executed: function: boom");
}

TEST_F(child_callbacks, of_a_layer_below_are_an_outcome_of_the_child) {
  b.on_complete = [](auto&, auto&, auto&, env& e) {
    throws(e);
    return decision::pass();
  };
  auto& w = start();
  w.call("x");
  start_child();
  w.answer(0, "z");
  EXPECT_EQ(w.answer_to(0),
            "callback_failed by inner, executed: function: boom");
  EXPECT_EQ(a.take(), (lines{"admit", "child callback_failed, executed",
                             "complete callback_failed, executed"}));
}

} // namespace
} // namespace caisson::test
