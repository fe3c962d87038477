// Totals of calls add up: after a reset, with permits and with children, too.
#include <support/holding.hpp>

#include <chrono>
#include <string>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct engine_totals_test : holding {
  // What a status checks.
  void expect_sum(std::int64_t begun) {
    auto& w = *world;
    std::int64_t over = 0;
    for (const auto* x : {"succeeded", "failed", "released_neutral",
                          "refused_draining", "refused_full"})
      over += w.metric(x);
    EXPECT_EQ(over + w.metric("in_progress"), begun);
    EXPECT_EQ(w.metric("calls") + w.metric("acquires"), begun);
  }
};

TEST_F(engine_totals_test, cover_each_end) {
  a.on_admit = nullptr;
  auto& w = start({.config = {.max_calls = 4}});
  for (auto x : {"ok", "failed", "late", "cancelled", "full"})
    w.call(x, {.time_left = x == std::string{"late"} ? 5ms : 1s});
  expect_sum(5);
  w.answer(0, "y");
  w.fail(1);
  w.at(5ms);
  w.cancel(1, 3);
  expect_sum(5);
  auto lent = w.acquire_permit();
  w.release_permit(w.permit_of(lent), true);
  expect_sum(6);
  w.drain();
  w.call("draining");
  expect_sum(7);
  w.pass(1s);
  expect_sum(7);
}

TEST_F(engine_totals_test, cover_calls_that_live_through_a_reset) {
  a.on_admit = nullptr;
  a.on_command = nullptr;
  auto& w = start();
  w.call("x");
  auto lent = w.acquire_permit();
  w.call("y");
  w.answer(1, "y");
  EXPECT_EQ(w.command(operator_command::reset), "");
  EXPECT_EQ(w.metric("calls"), 0);
  EXPECT_EQ(w.metric("in_progress"), 2);
  w.call("z");
  w.release_permit(w.permit_of(lent));
  w.answer(0, "x");
  EXPECT_EQ(w.metric("succeeded"), 2);
  w.answer(2, "z");
  EXPECT_EQ(w.command(operator_command::reset), "");
  EXPECT_EQ(w.metric("succeeded"), 0);
}

TEST_F(engine_totals_test, do_not_count_children) {
  auto& w = start();
  w.call("x");
  let([&](env& e) { e.start_child({.parents = {held[0]}}); });
  let([](env& e) { e.start_child({.deadline = e.now + 1s}); });
  EXPECT_EQ(w.metric("in_progress"), 3);
  a.on_command = nullptr;
  EXPECT_EQ(w.command(operator_command::reset), "");
  EXPECT_EQ(w.metric("calls"), 0);
  w.answer(0, "y");
  EXPECT_EQ(w.metric("succeeded"), 1);
  EXPECT_EQ(w.metric("in_progress"), 1);
  w.pass(1s);
  EXPECT_EQ(w.metric("in_progress"), 0);
}

TEST_F(engine_totals_test, cover_requests_for_permits_without_a_reply) {
  auto& w = start();
  w.step([](detail::engine& x, time_point now) { x.on_acquire({}, {}, now); });
  EXPECT_EQ(w.metric("acquires"), 1);
  EXPECT_EQ(w.metric("in_progress"), 0);
}

} // namespace
} // namespace caisson::test
