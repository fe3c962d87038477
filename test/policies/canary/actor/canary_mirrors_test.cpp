// Calls that baseline and canary both get, in gates and in local gates.
#include <support/canary_world.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace canaries;
using testing::HasSubstr;

class canary_mirrors_test : public canary_world {};

CAISSON_BOTH_HOSTS(canary_mirrors_test, 3);

TEST_P(canary_mirrors_test, gets_copies_of_calls_that_nobody_waits_for) {
  second.become({});
  auto g = host(all_mirrored());
  EXPECT_EQ(ask(g, 4).value<int>(), 8);
  EXPECT_EQ(world.request(g, 5).value<int>(), 10);
  EXPECT_EQ(second.received_as<int>(), std::vector<int>{4});
  EXPECT_EQ(look(g).metric("calls"), 2);
  EXPECT_EQ(look(g).metric("succeeded"), 2);
  second.answer(8);
  EXPECT_EQ(count(g, "mirrors_equal"), 1);
  EXPECT_EQ(look(g).metric("in_progress"), 0);
}

TEST_P(canary_mirrors_test, belong_to_the_trace_of_their_call) {
  auto g = host(all_mirrored());
  world.send(g, subscribe{});
  EXPECT_TRUE(world
                .request(g, wrap(4).idempotent().traceparent(
                              "00-4bf92f3577b34da6a3ce929d0e0e4736-"
                              "00f067aa0ba902b7-01"))
                .ok());
  std::vector<std::string> ends;
  std::string span_of_call;
  for (const auto& x : world.user().received_as<event>()) {
    if (x.kind == event_kind::call_ended)
      span_of_call = x.span_id;
    if (x.kind == event_kind::attempt_ended)
      ends.push_back(x.detail + " below " + x.parent_span_id);
  }
  EXPECT_THAT(ends,
              testing::UnorderedElementsAre("worker below " + span_of_call,
                                            "target 1 below " + span_of_call));
}

TEST_P(canary_mirrors_test, reports_differences_and_not_what_was_answered) {
  second.become(triples());
  auto g = host(all_mirrored(), compares_values<int>());
  world.send(g, subscribe{});
  world.user().forget_received();
  EXPECT_EQ(ask(g, 0).value<int>(), 0);
  EXPECT_EQ(ask(g, 6173).value<int>(), 2 * 6173);
  EXPECT_EQ(count(g, "mirrors_equal"), 1);
  EXPECT_EQ(count(g, "mirrors_differing"), 1);
  auto events = world.user().received_as<event>();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().kind, event_kind::differed);
  EXPECT_EQ(events.back().detail, "value");
  for (const auto& x : world.user().received())
    EXPECT_THAT(to_string(x), testing::Not(HasSubstr("6173")));
}

TEST_P(canary_mirrors_test, that_answers_with_another_type_differs) {
  second.become(scripted_worker::always(std::string{"2"}));
  auto g = host(all_mirrored(), compares_values<int>());
  ask(g, 1);
  EXPECT_EQ(count(g, "mirrors_differing"), 1);
  auto other = host(all_mirrored(), compares_values<double>());
  ask(other, 1);
  EXPECT_EQ(count(other, "mirrors_equal"), 1);
}

TEST_P(canary_mirrors_test, has_no_verdict_if_the_comparison_throws) {
  auto g = host(all_mirrored(),
                [](const caf::message&, const caf::message&) -> bool {
                  throw std::runtime_error{"odd"};
                });
  EXPECT_EQ(ask(g, 1).value<int>(), 2);
  EXPECT_EQ(ask(g, 2).value<int>(), 4);
  EXPECT_EQ(count(g, "mirrors_unjudged"), 2);
  EXPECT_EQ(look(g).metric("callbacks_failed"), 2);
}

TEST_P(canary_mirrors_test, that_is_dead_differs) {
  world.kill(second.handle());
  auto c = all_mirrored();
  c.min_calls = 3;
  c.max_difference_rate = 0.001;
  auto g = host(c);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(ask(g, i).value<int>(), 2 * i);
  EXPECT_EQ(state(g), "rolled_back");
  EXPECT_EQ(count(g, "mirrors_differing"), 3);
}

TEST_P(canary_mirrors_test, that_does_not_answer_what_is_mirrored_is_given_up) {
  second.become({});
  auto c = all_mirrored();
  c.max_mirrored = 2;
  c.mirror_timeout = 3s;
  auto g = host(
    stack{}.default_deadline(unlimited).add<canary>(c, second.handle()));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(ask(g, i).value<int>(), 2 * i);
  EXPECT_EQ(second.open(), 2u);
  EXPECT_EQ(count(g, "mirrors_skipped"), 3);
  world.advance(3s);
  EXPECT_EQ(count(g, "mirroring"), 0);
  EXPECT_EQ(look(g).metric("in_progress"), 0);
}

// -- words --------------------------------------------------------------------

canary_config described() {
  auto c = all_mirrored();
  c.max_described = 3;
  return c;
}

TEST_P(canary_mirrors_test, are_described_by_where_two_texts_differ) {
  second.become(triples());
  auto g = host(described(), compares_values<int>());
  world.send(g, subscribe{});
  ask(g, 61);
  auto reports = world.user().received_as<event>().back();
  EXPECT_EQ(reports.detail,
            "value: element 0, byte 1: baseline 122, canary 183");
  EXPECT_EQ(look(g).layer("canary").notes.at("difference_1"),
            fmt::format("call {}: {}", reports.call, reports.detail));
  EXPECT_LE(reports.call, 61U);
  second.become(fails());
  ask(g, 4);
  EXPECT_THAT(world.user().received_as<event>().back().detail,
              testing::StartsWith("outcome: baseline 8, canary "));
}

TEST_P(canary_mirrors_test, are_described_by_the_element_that_differs) {
  auto answers = [](int last) {
    return scripted_worker::always(std::string{"a"}, last);
  };
  baseline.become(answers(1));
  second.become(answers(2));
  auto g = host(described(), [](auto&, auto&) { return false; });
  world.send(g, subscribe{});
  ask(g, 1);
  EXPECT_EQ(world.user().received_as<event>().back().detail,
            "value: element 1, byte 0: baseline 1, canary 2");
}

TEST_P(canary_mirrors_test, are_described_by_a_function_of_the_user) {
  second.become(triples());
  auto g = host(stack{}.add<canary>(
    described(), second.handle(), compares_values<int>(),
    [](const caf::message& a, const caf::message& b) {
      auto x = *portable::get_if<int>(a);
      auto y = *portable::get_if<int>(b);
      if (x == 2)
        throw std::runtime_error{"odd"};
      return "off by " + std::to_string(y - x) + std::string(5000, '!');
    }));
  world.send(g, subscribe{});
  ask(g, 1);
  EXPECT_EQ(world.user().received_as<event>().back().detail, "value");
  EXPECT_EQ(look(g).metric("callbacks_failed"), 1);
  ask(g, 4);
  auto reports = world.user().received_as<event>().back().detail;
  EXPECT_THAT(reports, testing::StartsWith("value: off by 4!!!"));
  EXPECT_LT(reports.size(), 700u);
  EXPECT_EQ(count(g, "mirrors_differing"), 2);
}

/// Asks when it is asked to, and changes the answer that it gets.
caf::behavior mirror_vandal(caf::event_based_actor* self, const caf::actor& g) {
  return {[=](int) {
    self->request(g, caf::infinite, wrap(std::string{"q"}).idempotent())
      .then([](std::string& x) { x = "changed"; });
  }};
}

TEST_P(canary_mirrors_test, is_compared_with_what_the_caller_got_unchanged) {
  baseline.become(scripted_worker::always(std::string{"v"}));
  second.become({});
  auto g = host(all_mirrored(), compares_values<std::string>());
  owned.push_back(world.system().spawn(mirror_vandal, g));
  world.send(owned.back(), 1);
  ASSERT_EQ(second.open(), 1u);
  second.answer(std::string{"v"});
  EXPECT_EQ(count(g, "mirrors_equal"), 1);
}

} // namespace
} // namespace caisson::test
