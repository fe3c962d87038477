#include <caisson/guard.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/policy/policy_config.hpp>
#include <caisson/stack/add.hpp>

#include <support/engine_world.hpp>
#include <support/jumping_clock.hpp>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

/// What the function of a test throws.
struct broken : std::runtime_error {
  broken() : std::runtime_error("it is broken") {}
};

struct guarded {
  explicit guarded(const stack& policies, exception_classifier classify = {})
    : calls(policies, clock, std::move(classify)) {}

  auto fail() {
    return calls.run([this]() -> int {
      ++call_count;
      throw broken{};
    });
  }

  jumping_clock clock;
  guard calls;
  int call_count = 0;
};

stack three_attempts() {
  return stack{"g"}.retrier(
    {.backoff = schedule::constant(100ms), .idempotent = true});
}

std::int64_t metric_of(guard& g, const std::string& name) {
  return g.get_status().metric(name);
}

// -- calls --------------------------------------------------------------------

TEST(guard, returns_the_value_of_the_function) {
  guarded g{stack{"g"}};
  EXPECT_EQ(g.calls.run([] { return 7; }).value(), 7);
  auto text = g.calls.run(
    [](const attempt& a) { return std::string(a.number(), 'x'); });
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "x");
  EXPECT_EQ(text->size(), 1u);
  EXPECT_EQ(text.error(), caf::none);
  auto ran = false;
  EXPECT_TRUE(g.calls.run([&] { ran = true; }));
  EXPECT_TRUE(ran);
  auto moved = g.calls.run([] { return std::make_unique<int>(3); });
  EXPECT_EQ(*std::move(moved).value(), 3);
  EXPECT_EQ(metric_of(g.calls, "succeeded"), 4);
}

TEST(guard, rethrows_an_exception_only_when_asked_for_the_value) {
  guarded g{stack{"g"}};
  auto r = g.fail();
  EXPECT_FALSE(r);
  EXPECT_NE(r.exception(), nullptr);
  EXPECT_NE(r.text().find("it is broken"), std::string::npos) << r.text();
  EXPECT_TRUE(r.may_have_executed());
  EXPECT_THROW((void)r.value(), broken);
  EXPECT_EQ(std::move(r).value_or(5), 5);
  EXPECT_EQ(metric_of(g.calls, "failed"), 1);
}

TEST(guard, makes_attempts_with_the_delays_of_the_retrier) {
  guarded g{three_attempts()};
  std::vector<std::string> seen;
  auto r = g.calls.run([&](const attempt& a) {
    seen.push_back(std::to_string(a.number()) + " at "
                   + to_text(g.clock.passed()));
    if (a.number() < 3)
      throw broken{};
    return 1;
  });
  EXPECT_TRUE(r);
  EXPECT_THAT(seen, ElementsAre("1 at 0s", "2 at 100ms", "3 at 200ms"));
}

TEST(guard, has_one_idempotency_key_for_all_attempts) {
  guarded g{stack{"g"}.retrier({.backoff = schedule::constant(1ms),
                                .idempotent = true,
                                .idempotency_keys = true})};
  std::set<std::string> keys;
  auto ask = [&] {
    (void)g.calls.run([&](const attempt& a) {
      keys.insert(a.idempotency_key());
      throw broken{};
    });
  };
  ask();
  EXPECT_EQ(keys.size(), 1u);
  EXPECT_FALSE(keys.begin()->empty());
  ask();
  EXPECT_EQ(keys.size(), 2u);
}

TEST(guard, does_not_call_the_function_while_the_breaker_is_open) {
  guarded g{
    stack{"g"}.breaker({.threshold = 2, .open = schedule::constant(5s)})};
  (void)g.fail();
  (void)g.fail();
  auto r = g.fail();
  EXPECT_EQ(g.call_count, 2);
  EXPECT_EQ(r.error(), errc::breaker_open);
  EXPECT_EQ(r.exception(), nullptr);
  EXPECT_FALSE(r.may_have_executed());
  EXPECT_EQ(r.retry_after(), 5s);
  EXPECT_THROW((void)r.value(), call_error);
  g.clock.pass(5s);
  EXPECT_TRUE(g.calls.run([] { return 1; }));
  EXPECT_EQ(g.calls.get_status().layer("breaker").state, "closed");
}

TEST(guard, classifies_errors_of_attempts) {
  guarded g{three_attempts()};
  auto answered_with = [&](answer_info info) {
    g.call_count = 0;
    auto begin = g.clock.now();
    (void)g.calls.run([&]() -> int {
      ++g.call_count;
      throw attempt_error{"an answer", info};
    });
    return std::pair{g.call_count, duration{g.clock.now() - begin}};
  };
  EXPECT_EQ(answered_with(http_answer(503)), (std::pair{3, duration{200ms}}));
  EXPECT_EQ(answered_with(http_answer(404)), (std::pair{1, duration{0}}));
  auto later = http_answer(503);
  later.retry_after = 2s;
  EXPECT_EQ(answered_with(later), (std::pair{3, duration{4s}}));
}

TEST(guard, classifies_other_exceptions_by_a_function) {
  guarded g{three_attempts(), [](const std::exception_ptr& x) {
              try {
                std::rethrow_exception(x);
              } catch (const broken&) {
                return std::optional{http_answer(404)};
              }
            }};
  (void)g.fail();
  EXPECT_EQ(g.call_count, 1);
  // What it throws itself is no opinion.
  g.call_count = 0;
  (void)g.calls.run([&] {
    ++g.call_count;
    throw 7;
  });
  EXPECT_EQ(g.call_count, 3);
}

TEST(guard, passes_on_the_error_of_the_last_attempt) {
  guarded g{stack{"g"}};
  auto ask = [&](bool executed) {
    return g.calls.run([&]() -> int {
      throw attempt_error{"busy",
                          {.kind = answer_class::retry_after,
                           .may_have_executed = executed,
                           .retry_after = 2s}};
    });
  };
  auto r = ask(false);
  EXPECT_EQ(r.retry_after(), 2s);
  EXPECT_FALSE(r.may_have_executed());
  EXPECT_TRUE(ask(true).may_have_executed());
  EXPECT_EQ(r.value_or(4), 4);
}

// -- policies of the user's ---------------------------------------------------

struct odd_config {
  std::string name = {};
  caisson::mode mode = caisson::mode::enforce;
};

void describe(field_visitor& v, odd_config& c) {
  describe_common(v, c);
}

enum class odd_counter : std::uint8_t { calls, count_ };

} // namespace
} // namespace caisson::test

template <>
struct caisson::enum_names<caisson::test::odd_counter> {
  static constexpr std::string_view value[] = {"calls"};
};

namespace caisson::test {
namespace {

/// Asks twice for each call, or answers with a value of its own.
class odd_policy final
  : public policy_base<odd_policy, odd_config, odd_counter> {
public:
  static constexpr std::string_view kind_name = "odd";

  explicit odd_policy(odd_config c) : policy_base(std::move(c)) {}

  decision admit(call_info& call, slot&, env& e) override {
    for (int i = 0; i < 2; ++i)
      e.start_child({.parents = {call.id}});
    return decision::hold();
  }
  decision complete(call_info&, slot&, outcome&, env&) override {
    return decision::pass();
  }
  void abandon(call_info&, slot&, const outcome&, bool, env&) override {}
};

TEST(guard, fails_with_a_policy_that_makes_calls_of_its_own) {
  abort_on_violation(false);
  guarded g{stack{"g"}.add<odd_policy>()};
  auto r = g.fail();
  EXPECT_EQ(r.error(), errc::internal_error) << r.text();
  EXPECT_NE(r.text().find("child calls"), std::string::npos) << r.text();
  EXPECT_EQ(g.call_count, 0);
  EXPECT_EQ(g.fail().error(), errc::internal_error);
  abort_on_violation(true);
}

// -- time ---------------------------------------------------------------------

TEST(guard, answers_at_the_deadline_if_a_result_is_late) {
  guarded g{stack{"g"}.deadline({.timeout = 1s})};
  auto r = g.calls.run([&](const attempt& a) {
    EXPECT_EQ(a.deadline(), g.clock.now() + 1s);
    EXPECT_FALSE(a.abandoned());
    g.clock.pass(2s);
    return 1;
  });
  EXPECT_EQ(r.error(), errc::deadline_exceeded);
  EXPECT_TRUE(r.may_have_executed());
  EXPECT_EQ(metric_of(g.calls, "late_results"), 1);
}

TEST(guard, runs_overdue_timers_as_if_in_time) {
  guarded g{stack{"g"}
              .deadline({.timeout = 1s})
              .breaker({.threshold = 1, .open = schedule::constant(1s)})};
  // The breaker opens after one second, and may probe after two.
  (void)g.calls.run([&] { g.clock.pass(2s); });
  EXPECT_TRUE(g.calls.run([] {}));
}

TEST(guard, takes_the_options_of_a_call) {
  guarded g{stack{"g"}};
  auto r = g.calls.run(
    [&](const attempt& a) {
      EXPECT_EQ(a.key(), "tenant");
      EXPECT_EQ(a.deadline(), g.clock.now() + 3s);
      EXPECT_EQ(a.traceparent().substr(0, 35),
                "00-4bf92f3577b34da6a3ce929d0e0e4736");
      EXPECT_EQ(a.tracestate(), "rojo=1");
      EXPECT_EQ(a.baggage(), "user=7");
      return 1;
    },
    {.time_left = 3s,
     .key = "tenant",
     .traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
     .propagated = propagated_fields::from_list({"rojo=1", "user=7"})});
  EXPECT_TRUE(r) << r.text();
  EXPECT_EQ(g.calls.run([] { return 1; }, {.time_left = no_time_left}).error(),
            errc::deadline_exceeded);
}

TEST(guard, lets_the_thread_wait_for_a_token) {
  guarded g{
    stack{"g"}.limiter({.rate = 1, .per = 1s, .burst = 1, .max_wait = 10s})};
  for (auto at : {0s, 1s, 2s}) {
    EXPECT_TRUE(g.calls.run([] {}));
    EXPECT_EQ(g.clock.passed(), at);
  }
}

TEST(guard, has_events_in_order_and_lets_listeners_call) {
  guarded g{stack{"g"}.breaker({.threshold = 1})};
  std::vector<std::string> seen;
  auto asked = false;
  g.calls.on_event([&](const event& x) {
    seen.push_back(std::string{name_of(x.kind)});
    if (!std::exchange(asked, true)) {
      EXPECT_EQ(g.calls.run([] { return 1; }).error(), errc::breaker_open);
    }
    throw broken{};
  });
  (void)g.fail();
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen[0], "state_changed");
  auto count = seen.size();
  EXPECT_GT(count, 1u);
  g.calls.on_event({});
  (void)g.fail();
  EXPECT_EQ(seen.size(), count);
}

// -- nested calls -------------------------------------------------------------

TEST(guard, may_be_used_by_its_functions) {
  guarded g{stack{"g"}.semaphore({.permits = 2})};
  auto r = g.calls.run([&] {
    auto inner = g.calls.run([&] {
      return g.calls.run([] { return 1; }).error() == errc::queue_full;
    });
    return inner.value();
  });
  EXPECT_TRUE(r.value());
  EXPECT_EQ(g.calls.get_status().metric("semaphore", "in_use"), 0);
}

TEST(guard, is_not_used_by_functions_that_decide) {
  guard* g = nullptr;
  auto refused = 0;
  jumping_clock clock;
  retrier_config c{.backoff = schedule::constant(1ms), .idempotent = true};
  c.classify.by_value = [&](const outcome&) {
    try {
      (void)g->run([] {});
    } catch (const std::logic_error&) {
      ++refused;
    }
    return verdict::success;
  };
  guard inner{stack{"g"}.retrier(c), clock};
  g = &inner;
  EXPECT_TRUE(inner.run([] { return 1; }));
  EXPECT_EQ(refused, 1);
}

// -- construction and end -----------------------------------------------------

TEST(guard, rejects_policies_that_need_messages) {
  auto problem_of = [](const stack& s) -> std::string {
    try {
      guard{s};
    } catch (const config_error& e) {
      return e.what();
    }
    return {};
  };
  for (const auto& s :
       {stack{}.cache(), stack{}.batcher(),
        stack{}.fallback({alternative::answer(std::int32_t{1})})})
    EXPECT_NE(problem_of(s).find("a guard does not have"), std::string::npos);
  EXPECT_NE(problem_of(stack{}.semaphore({.permits = 0})).find("permits"),
            std::string::npos);
}

TEST(guard, answers_nothing_any_more_once_it_is_stopped) {
  guarded g{stack{"g"}};
  g.calls.stop();
  auto r = g.fail();
  EXPECT_EQ(r.error(), errc::cancelled);
  EXPECT_EQ(r.text(), "cancelled by g: the guard has been stopped");
  EXPECT_FALSE(r.may_have_executed());
  EXPECT_EQ(g.call_count, 0);
  g.calls.drain();
  g.calls.stop();
  EXPECT_EQ(g.calls.reconfigure({"breaker", {}}), errc::cancelled);
}

TEST(guard, is_drained_and_operated) {
  guarded g{stack{"g"}.breaker()};
  EXPECT_EQ(g.calls.command({operator_command::force_open, "breaker"}),
            caf::none);
  EXPECT_EQ(g.calls.run([] {}).error(), errc::breaker_open);
  EXPECT_EQ(g.calls.command({operator_command::enable, "breaker"}), caf::none);
  EXPECT_EQ(g.calls.reconfigure({"breaker", {{"threshold", "1"}}}), caf::none);
  EXPECT_EQ(g.calls.reconfigure({"breaker", {{"threshold", "0"}}}),
            errc::invalid_config);
  (void)g.fail();
  EXPECT_EQ(g.calls.get_status().layer("breaker").state, "open");
  g.calls.drain();
  EXPECT_EQ(g.calls.run([] {}).error(), errc::draining);
}

TEST(guard, stops_also_while_its_function_runs) {
  guarded g{three_attempts()};
  auto r = g.calls.run([&](const attempt& a) {
    g.calls.stop();
    EXPECT_TRUE(a.abandoned());
    return 1;
  });
  EXPECT_EQ(r.error(), errc::cancelled);
  EXPECT_TRUE(r.may_have_executed());
}

// -- against an engine --------------------------------------------------------

struct planned_attempt {
  duration takes;
  bool ok;
};

stack any_stack() {
  auto seconds = [](int from, int to) {
    return std::chrono::seconds(*rc::gen::inRange(from, to));
  };
  stack s{gate_config{.name = "gate", .default_deadline = unlimited}};
  if (*rc::gen::arbitrary<bool>())
    s.deadline({.timeout = seconds(1, 20)});
  if (*rc::gen::arbitrary<bool>())
    s.retrier({.max_attempts = *rc::gen::inRange(1u, 5u),
               .backoff = schedule::constant(seconds(1, 4)),
               .idempotent = *rc::gen::arbitrary<bool>()});
  if (*rc::gen::arbitrary<bool>())
    s.breaker({.threshold = *rc::gen::inRange(1u, 5u),
               .open = schedule::constant(seconds(1, 20))});
  if (*rc::gen::arbitrary<bool>())
    s.limiter({.rate = 1,
               .per = seconds(1, 5),
               .burst = *rc::gen::inRange(1u, 4u),
               .max_wait = seconds(1, 5)});
  if (*rc::gen::arbitrary<bool>())
    s.semaphore({.permits = 1});
  return s;
}

// The same plan, one call after another, without a guard.
lines through_an_engine(const stack& s,
                        const std::vector<planned_attempt>& plan,
                        std::size_t calls) {
  world_setup setup;
  setup.config = s.config();
  engine_world w{s.build(), setup};
  lines out;
  std::size_t call_count = 0;
  for (std::size_t i = 0; i < calls; ++i) {
    auto call = w.call("x");
    while (w.answer_to(call).empty())
      if (call_count < w.attempts.size()) {
        const auto& x = plan[call_count % plan.size()];
        w.pass(x.takes);
        if (x.ok)
          w.answer(call_count, "ok");
        else
          w.fail(call_count);
        ++call_count;
      } else {
        w.at(w.next_wake() - engine_world::origin());
      }
    auto text = w.answer_to(call);
    out.push_back(text.substr(0, text.find_first_of(" ,")) + " at "
                  + to_text(w.now()));
  }
  return out;
}

lines through_a_guard(const stack& s, const std::vector<planned_attempt>& plan,
                      std::size_t calls) {
  jumping_clock clock;
  guard g{s, clock};
  lines out;
  std::size_t call_count = 0;
  for (std::size_t i = 0; i < calls; ++i) {
    auto r = g.run([&] {
      const auto& x = plan[call_count++ % plan.size()];
      clock.pass(x.takes);
      if (!x.ok)
        throw broken{};
    });
    std::string word = "ok";
    if (!r) {
      word = words_of(r.error());
      word = word.substr(0, word.find_first_of(" ,"));
    }
    out.push_back(word + " at " + to_text(clock.passed()));
  }
  return out;
}

RC_GTEST_PROP(guard_property, answers_as_an_engine_does, ()) {
  auto s = any_stack();
  auto plan = *rc::gen::nonEmpty(
    rc::gen::container<std::vector<planned_attempt>>(rc::gen::apply(
      [](int takes, bool ok) {
        return planned_attempt{std::chrono::seconds(takes), ok};
      },
      rc::gen::inRange(0, 6), rc::gen::arbitrary<bool>())));
  constexpr std::size_t calls = 12;
  RC_ASSERT(through_a_guard(s, plan, calls)
            == through_an_engine(s, plan, calls));
}

} // namespace
} // namespace caisson::test
