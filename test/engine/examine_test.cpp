// Layers that look at content before their policies admit a call.
#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <utility>

namespace caisson::test {
namespace {

TEST(examining, comes_right_before_each_admission_that_sees_content) {
  puppets stack;
  auto& a = stack.add("a");
  auto& b = stack.add("b", 0, mode::observe);
  auto& c = stack.add("c", 0, mode::off);
  for (auto* x : {&a, &b, &c}) {
    x->has_content = true;
    x->on_examine = [x](const caf::message& content, env&) {
      x->machine().seen.push_back("examine " + words_of(content));
    };
  }
  engine_world w{std::move(stack)};
  w.call("q");
  EXPECT_EQ(a.machine().seen, (lines{"examine q", "admit"}));
  EXPECT_EQ(b.machine().seen, (lines{"examine q", "admit"}));
  EXPECT_EQ(c.machine().seen, lines{});
  w.answer(0, "y");
}

TEST(examining, fails_the_call_if_a_function_throws) {
  puppets stack;
  auto& a = stack.add("a");
  a.has_content = true;
  a.on_examine = [](const caf::message&, env& e) { throws(e); };
  engine_world w{std::move(stack)};
  w.call("q");
  EXPECT_EQ(w.answer_to(0), "callback_failed by a: function: boom");
}

} // namespace
} // namespace caisson::test
