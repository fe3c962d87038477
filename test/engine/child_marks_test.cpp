// Marks that children inherit and that their parents see of them.
#include <support/holding.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct child_marks : holding {
  engine_world& start(world_setup s = {}) {
    s.worker.takes_calls = true;
    return holding::start(std::move(s));
  }

  /// What the target gets of a child of calls with these options.
  call_options sent_for(std::vector<call_options> parents, child_call c = {}) {
    auto& w = start();
    for (auto& o : parents)
      w.call("x", o);
    start_child(std::move(c));
    w.answer(0, "y");
    return options_of(0);
  }
};

TEST_F(child_marks, of_one_parent_all_are_inherited) {
  auto o = sent_for({{.priority = -3,
                      .permits = 4,
                      .idempotent = idempotence::yes,
                      .attempt = 5,
                      .key = "k",
                      .path = {1, 2},
                      .user_priority = 7,
                      .stands_for = 9}});
  EXPECT_EQ(o.priority, -3);
  EXPECT_EQ(o.permits, 4u);
  EXPECT_EQ(o.idempotent, idempotence::yes);
  EXPECT_EQ(o.attempt, 5u);
  EXPECT_EQ(o.key, "k");
  EXPECT_EQ(o.path, (std::vector<std::uint64_t>{1, 2, 4711}));
  EXPECT_EQ(o.user_priority, 7);
  EXPECT_EQ(o.stands_for, 9);
}

TEST_F(child_marks, one_of_several_stands_for_the_calls_of_their_parent) {
  auto& w = start();
  w.call("x", {.stands_for = 9});
  start_child();
  start_child();
  EXPECT_EQ(options_of(0).stands_for, 9);
  EXPECT_EQ(options_of(1).stands_for, 0);
  w.answer(0, "y");
}

TEST_F(child_marks, an_equal_user_priority_is_inherited) {
  auto o = sent_for({{.user_priority = 7}, {.user_priority = 7}});
  EXPECT_EQ(o.user_priority, 7);
}

TEST_F(child_marks, different_user_priorities_are_not_inherited) {
  auto o = sent_for({{.user_priority = 7}, {.user_priority = 8}});
  EXPECT_EQ(o.user_priority, 0);
}

TEST_F(child_marks, of_several_the_most_important_and_the_latest_attempt) {
  auto o = sent_for({{.priority = -3, .permits = 4, .attempt = 2},
                     {.priority = 9, .permits = 5, .attempt = 7},
                     {.priority = 1, .permits = 6, .attempt = 1}});
  EXPECT_EQ(o.priority, 9);
  EXPECT_EQ(o.attempt, 7u);
  EXPECT_EQ(o.permits, 1u);
}

TEST_F(child_marks, permits_that_are_said_are_kept) {
  auto o = sent_for({{.permits = 4}}, {.permits = 3});
  EXPECT_EQ(o.permits, 3u);
}

TEST_F(child_marks, a_key_is_inherited_if_all_have_it) {
  EXPECT_EQ(sent_for({{.key = "k"}, {.key = "k"}}).key, "k");
}

TEST_F(child_marks, of_parents_with_different_keys_no_key_is_inherited) {
  EXPECT_EQ(sent_for({{.key = "k"}, {.key = "l"}, {.key = "l"}}).key, "");
}

TEST_F(child_marks, the_longest_path_is_inherited) {
  auto o = sent_for({{.path = {1}}, {.path = {2, 3}}, {.path = {4}}});
  EXPECT_EQ(o.path, (std::vector<std::uint64_t>{2, 3, 4711}));
}

/// Of two parents and of their child.
struct idempotence_row {
  idempotence first, second, child;
};

constexpr auto unmarked = idempotence::unmarked;
constexpr auto yes = idempotence::yes;
constexpr auto no = idempotence::no;

class child_idempotence : public child_marks,
                          public testing::WithParamInterface<idempotence_row> {
};

TEST_P(child_idempotence, may_be_carried_out_twice_if_all_parents_may) {
  auto [first, second, child] = GetParam();
  auto o = sent_for({{.idempotent = first}, {.idempotent = second}});
  EXPECT_EQ(o.idempotent, child);
}

INSTANTIATE_TEST_SUITE_P(
  two_parents, child_idempotence,
  testing::Values(idempotence_row{unmarked, unmarked, unmarked},
                  idempotence_row{unmarked, yes, unmarked},
                  idempotence_row{unmarked, no, no},
                  idempotence_row{yes, unmarked, unmarked},
                  idempotence_row{yes, yes, yes}, idempotence_row{yes, no, no},
                  idempotence_row{no, unmarked, no},
                  idempotence_row{no, yes, no}, idempotence_row{no, no, no}));

TEST_F(child_marks, layers_below_keep_their_permits_when_a_call_joins) {
  std::vector<std::pair<std::uint32_t, std::string>> taken;
  auto note = [&](call_info& c, auto&...) {
    taken.emplace_back(c.permits, c.key);
    return decision::pass();
  };
  b.on_admit = [&](call_info& c, auto&, auto&) { return note(c); };
  b.on_complete = [&](call_info& c, auto&, auto&, auto&) { return note(c); };
  auto& w = start();
  call_id child = 0;
  w.call("x", {.permits = 5, .key = "k"});
  child = start_child();
  w.call("y", {.permits = 2, .key = "l"});
  let([&](env& e) { e.join_child(child, held[1]); });
  w.answer(0, "z");
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0], taken[1]);
}

// -- execution ----------------------------------------------------------------

TEST_F(child_marks, a_parent_that_is_rejected_may_have_executed_by_its_child) {
  auto& w = start();
  w.call("x");
  start_child();
  let([&](env& e) { e.reject(held[0], errc::shed); });
  EXPECT_EQ(w.answer_to(0), "shed by outer, executed");
}

TEST_F(child_marks, a_parent_that_goes_on_may_have_executed_by_its_child) {
  auto& w = start();
  w.call("x");
  start_child();
  b.on_admit = [](auto&, auto&, auto&) { return decision::reject(errc::shed); };
  let([&](env& e) { e.resume(held[0]); });
  EXPECT_EQ(w.answer_to(0), "shed by inner, executed");
}

TEST_F(child_marks, a_parent_that_expires_may_have_executed_by_its_child) {
  auto& w = start();
  a.on_admit = [](call_info& c, auto&, env& e) {
    e.start_child({.parents = {c.id}});
    return decision::hold(time_after(e.now, 2ms));
  };
  a.on_expire = [](auto&, auto&, auto&) {
    return decision::reject(errc::wait_timeout);
  };
  w.call("x");
  w.at(2ms);
  EXPECT_EQ(w.answer_to(0), "wait_timeout by outer, executed");
}

TEST_F(child_marks, a_child_that_is_not_sent_has_not_executed) {
  b.on_admit = [](auto&, auto&, auto&) { return decision::hold(); };
  auto& w = start();
  w.call("x");
  start_child();
  let([&](env& e) { e.reject(held[0], errc::shed); });
  EXPECT_EQ(w.answer_to(0), "shed by outer");
}

TEST_F(child_marks, of_two_children_the_one_in_flight_counts) {
  auto times = 0;
  b.on_admit = [&](auto&, auto&, auto&) {
    return times++ == 0 ? decision::pass() : decision::reject(errc::shed);
  };
  auto& w = start();
  w.call("x");
  start_child();
  start_child();
  EXPECT_EQ(w.answer_to(0), "shed by inner, executed");
}

TEST_F(child_marks, an_earlier_child_counts_when_its_parents_were_kept) {
  a.on_child = [](auto, auto&, auto&) { return decision::hold(); };
  auto& w = start();
  w.call("x");
  start_child();
  w.fail(0);
  let([&](env& e) { e.reject(held[0], errc::shed); });
  EXPECT_EQ(w.answer_to(0), "shed by outer, executed");
}

TEST_F(child_marks, a_parent_may_have_executed_if_its_content_goes_on) {
  b.on_admit = [](auto&, auto&, env& e) {
    return decision::hold(time_after(e.now, 5ms));
  };
  auto& w = start();
  w.call("x", {.time_left = 2ms});
  w.call("y", {.time_left = 3ms});
  start_child();
  w.at(3ms);
  // The child could still have been sent when the first one left, and could
  // not when the last one did.
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate, executed");
  EXPECT_EQ(w.answer_to(1), "deadline_exceeded by gate");
  EXPECT_EQ(
    a.take(),
    (lines{"admit", "admit", "abandon deadline_exceeded, executed, in flight",
           "abandon deadline_exceeded, in flight", "child deadline_exceeded"}));
}

TEST_F(child_marks, a_child_cancelled_before_it_is_sent_has_not_executed) {
  b.on_admit = [](auto&, auto&, env& e) {
    return decision::hold(time_after(e.now, 5ms));
  };
  a.on_complete = [](auto&, auto&, outcome&, auto&) {
    return decision::hold();
  };
  auto& w = start();
  w.call("x");
  w.call("y");
  auto first = start_child({.parents = {held[0]}});
  let([&](env& e) { e.cancel_child(first); });
  start_child({.parents = {held[1]}});
  w.at(5ms);
  EXPECT_EQ(w.attempts.size(), 1u);
  let([&](env& e) {
    e.reject(held[0], errc::shed);
    e.reject(held[1], errc::shed);
  });
  EXPECT_EQ(w.answer_to(0), "shed by outer");
  EXPECT_EQ(w.answer_to(1), "shed by outer, executed");
}

TEST_F(child_marks, a_gate_that_stops_says_that_children_may_have_executed) {
  auto& w = start();
  w.call("x");
  w.call("y");
  start_child({.parents = {held[0]}});
  w.stop();
  EXPECT_EQ(w.answer_to(0), "cancelled by gate, executed");
  EXPECT_EQ(w.answer_to(1), "cancelled by gate");
}

} // namespace
} // namespace caisson::test
