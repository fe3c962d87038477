// Two layers, of which the outer one holds every call until a test says what it
// is to do.
#pragma once

#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace caisson::test {

struct holding : testing::Test {
  /// The outer layer has two targets of its own.
  holding() {
    a.keeps_content = true;
    a.on_admit = [this](call_info& c, slot&, env&) {
      held.push_back(c.id);
      return decision::hold();
    };
    a.on_command = [this](operator_command, env& e) {
      next(e);
      return true;
    };
  }

  engine_world& start(world_setup s = {}) {
    s.target.takes_cancelled = true;
    return world.emplace(std::move(stack), std::move(s));
  }

  /// Lets the outer layer ask for something, now.
  void let(std::function<void(env&)> what) {
    next = std::move(what);
    EXPECT_EQ(world->command(operator_command::reset, "outer"), "");
    std::erase(a.seen, "command reset");
  }

  /// Starts a child of the calls that were held so far.
  call_id start_child(child_call c = {}) {
    call_id child = 0;
    if (c.parents.empty())
      c.parents = held;
    let([&](env& e) { child = e.start_child(c); });
    return child;
  }

  /// What came with an attempt, to a target that takes calls.
  const call_options& options_of(std::size_t attempt) {
    return portable::get_if<caisson::call>(world->attempts[attempt].content)
      ->options;
  }

  puppets stack;
  puppet_layer& outer = stack.add("outer", 2);
  puppet_layer& inner = stack.add("inner");
  puppet& a = outer.machine();
  puppet& b = inner.machine();
  /// Those that the outer layer has held, in order.
  std::vector<call_id> held;
  std::function<void(env&)> next;
  std::optional<engine_world> world;
};

} // namespace caisson::test
