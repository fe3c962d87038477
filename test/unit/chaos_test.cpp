#include <caisson/chaos.hpp>

#include <support/problem_texts.hpp>
#include <support/solo.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

struct rates {
  double error = 0;
  double latency = 0;
  double outcome = 0;
  double silence = 0;
};

chaos_config with(rates x) {
  chaos_config c;
  c.enabled = true;
  c.error_rate = x.error;
  c.latency_rate = x.latency;
  c.outcome_rate = x.outcome;
  c.silence_rate = x.silence;
  return c;
}

chaos_config slow(schedule latency) {
  auto c = with({.latency = 1});
  c.latency = std::move(latency);
  return c;
}

chaos_config silent(duration d) {
  auto c = with({.silence = 1});
  c.silence = d;
  return c;
}

class host : public solo<chaos> {
public:
  explicit host(chaos_config c) : solo(std::move(c)) {}

  // All counters and gauges that are not zero.
  strings counts() const {
    std::vector<metric> all;
    policy.list_metrics(all);
    strings out;
    for (const auto& m : all)
      if (m.value != 0)
        out.push_back(std::string{m.name} + " " + std::to_string(m.value));
    return out;
  }
};

// -- configuration ------------------------------------------------------------

TEST(chaos, has_settings) {
  EXPECT_EQ(problems_of(chaos_config{}), problems{});
  EXPECT_EQ(fields_of(chaos_config{}),
            R"(
name | string | ""
  any text
mode | choice | enforce
  enforce, observe, off
enabled | boolean | false
  true, false
error_rate | number | 0.001
  0 to 1
latency_rate | number | 0.001
  0 to 1
latency | schedule | constant 100ms
  a duration, a table or a list of durations or tables
outcome_rate | number | 0.001
  0 to 1
silence_rate | number | 0.001
  0 to 1
silence | duration | 30s
  1ms to 365d
)");
}

TEST(chaos, refuses_what_is_out_of_range_or_more_than_all_calls) {
  constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
  struct row {
    chaos_config c;
    strings expected;
  };
  for (auto& x : std::vector<row>{
         {with({-0.001}), {"range error_rate"}},
         {with({1.001}), {"range error_rate", "relation error_rate"}},
         {with({.latency = -1}), {"range latency_rate"}},
         {with({.outcome = 2}), {"range outcome_rate", "relation error_rate"}},
         {with({.silence = nan}), {"range silence_rate"}},
         {silent(1ms - 1ns), {"range silence"}},
         {silent(24h * 365 + 1ns), {"range silence"}},
         {silent(unlimited), {"range silence"}},
         {slow(schedule::constant(-1ns)), {"range latency.base"}},
         {with({0.5, 0.5, 0.001}), {"relation error_rate"}},
         {with({1, 1, 1, 1}), {"relation error_rate"}},
         {with({.outcome = 1, .silence = 0.01}), {"relation error_rate"}}}) {
    EXPECT_EQ(kinds_and_keys(problems_of(x.c)), x.expected)
      << to_text(problems_of(x.c));
    EXPECT_THROW(chaos{x.c}, config_error);
  }
}

TEST(chaos, tells_how_much_too_many_faults_there_are) {
  auto found = problems_of(with({0.5, 0.25, 0.25, 0.5}));
  EXPECT_NE(to_text(found).find("error_rate, latency_rate, outcome_rate and "
                                "silence_rate are 1.5 together, allowed: at "
                                "most 1"),
            std::string::npos)
    << to_text(found);
}

TEST(chaos, accepts_the_edges_and_decimals_that_add_up_to_one) {
  for (auto& c : {with({}), with({1}), with({.silence = 1}), silent(1ms),
                  silent(24h * 365), with({0.1, 0.2, 0.3, 0.4}),
                  with({0.7, 0.1, 0.1, 0.1}), with({0.4, 0.3, 0.2, 0.1}),
                  with({0.3, 0.6, 0.1})})
    EXPECT_EQ(to_text(problems_of(c)), "");
}

// -- which calls --------------------------------------------------------------

TEST(chaos, spares_every_call_until_it_is_enabled) {
  auto c = with({0.25, 0.25, 0.25, 0.25});
  c.enabled = false;
  host h{c};
  for (int i = 0; i < 1'000; ++i) {
    auto id = h.arrive();
    ASSERT_EQ(h.where(id), place::below);
    h.finish(id);
    ASSERT_TRUE(h.calls.at(id).result.ok);
  }
  EXPECT_EQ(h.counts(), strings{"spared 1000"});
  EXPECT_EQ(h.e.told, strings{});
  random_source untouched{7};
  EXPECT_EQ(h.random.bits(), untouched.bits());
}

TEST(chaos, does_nothing_by_default) {
  host h{chaos_config{}};
  for (int i = 0; i < 10'000; ++i)
    h.finish(h.arrive());
  EXPECT_EQ(h.counts(), strings{"spared 10000"});
}

TEST(chaos, draws_one_number_for_each_call_whatever_it_meets) {
  for (auto& c :
       {with({}), with({.error = 1}), slow(schedule::constant(1s)),
        with({.outcome = 1}), with({.silence = 1}), with({0.2, 0.2, 0.2})}) {
    host h{c};
    random_source same{7};
    for (int i = 0; i < 100; ++i) {
      auto id = h.arrive();
      same.bits();
      if (h.where(id) == place::held)
        h.advance(30s);
      if (h.where(id) == place::below)
        h.finish(id);
    }
    EXPECT_EQ(h.random.bits(), same.bits());
  }
}

TEST(chaos, never_injects_at_a_rate_of_zero_and_always_at_one) {
  struct row {
    rates r;
    strings counts;
  };
  for (auto& x : std::vector<row>{
         {{}, {"spared 5000"}},
         {{.error = 1}, {"errors_injected 5000"}},
         {{.latency = 1}, {"latencies_injected 5000", "waiting 5000"}},
         {{.silence = 1}, {"silences_injected 5000", "waiting 5000"}}}) {
    host h{with(x.r)};
    for (int i = 0; i < 5'000; ++i)
      h.arrive();
    EXPECT_EQ(h.counts(), x.counts);
  }
  host h{with({.outcome = 1})};
  for (int i = 0; i < 5'000; ++i)
    h.finish(h.arrive());
  EXPECT_EQ(h.counts(), strings{"outcomes_injected 5000"});
}

TEST(chaos, meets_its_rates) {
  constexpr int calls = 100'000;
  for (auto& r : std::vector<rates>{{0.001, 0.001, 0.001, 0.001},
                                    {0.1, 0.2, 0.3, 0.4},
                                    {0.4, 0.01, 0.05, 0.25},
                                    {0, 0.5, 0, 0.25}}) {
    host h{with(r)};
    for (int i = 0; i < calls; ++i) {
      auto id = h.arrive();
      if (h.where(id) == place::below)
        h.finish(id);
      else if (h.where(id) == place::held)
        h.abandon(id);
      h.calls.clear();
      h.e.told.clear();
    }
    auto is_near = [&](const char* name, double rate) {
      auto sigma = std::sqrt(calls * rate * (1 - rate));
      EXPECT_NEAR(static_cast<double>(h.count(name)), calls * rate, 4 * sigma)
        << name;
    };
    is_near("errors_injected", r.error);
    is_near("latencies_injected", r.latency);
    is_near("outcomes_injected", r.outcome);
    is_near("silences_injected", r.silence);
    auto rest = 1 - r.error - r.latency - r.outcome - r.silence;
    is_near("spared", std::max(rest, 0.0));
  }
}

// -- what they meet -----------------------------------------------------------

TEST(chaos, an_error_keeps_the_call_from_the_worker) {
  host h{with({.error = 1})};
  auto id = h.arrive();
  EXPECT_EQ(h.where(id), place::rejected);
  EXPECT_EQ(h.calls.at(id).code, errc::injected);
  EXPECT_EQ(h.calls.at(id).retry_after, 0ns);
  EXPECT_EQ(h.e.told, strings{"injected:>"});
  EXPECT_EQ(h.e.details, strings{"error"});
  EXPECT_EQ(h.counts(), strings{"errors_injected 1"});
}

TEST(chaos, a_latency_lets_the_call_go_on_later) {
  host h{with({.latency = 1})};
  auto id = h.arrive();
  EXPECT_EQ(h.where(id), place::held);
  EXPECT_EQ(h.e.told, strings{"injected:>"});
  EXPECT_EQ(h.e.details, strings{"latency"});
  EXPECT_EQ(h.count("waiting"), 1);
  h.advance(100ms - 1ns);
  EXPECT_EQ(h.where(id), place::held);
  h.advance(1ns);
  EXPECT_EQ(h.where(id), place::below);
  EXPECT_EQ(h.count("waiting"), 0);
  h.fail(id, errc::worker_down);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_TRUE(h.calls.at(id).result.is(errc::worker_down));
  EXPECT_EQ(h.counts(), strings{"latencies_injected 1"});
}

TEST(chaos, draws_each_latency_anew_from_the_first_of_the_schedule) {
  host listed{slow(schedule::list({10ms, 1h}))};
  for (int i = 0; i < 3; ++i)
    listed.arrive();
  listed.advance(10ms);
  EXPECT_EQ(listed.count("waiting"), 0);

  host drawn{slow(schedule::constant(1s).jittered(jitter::full))};
  for (int i = 0; i < 1'000; ++i)
    drawn.arrive();
  drawn.advance(500ms);
  // Uniform in [0, 1 s): half of them, within 4 sigma.
  EXPECT_NEAR(static_cast<double>(drawn.count("waiting")), 500, 64);
  drawn.advance(500ms);
  EXPECT_EQ(drawn.count("waiting"), 0);
}

TEST(chaos, does_not_hold_a_call_for_no_time) {
  for (auto& latency : {schedule{}, schedule::constant(0ns),
                        schedule::custom([](auto) { return std::nullopt; })}) {
    host h{slow(latency)};
    auto id = h.arrive();
    EXPECT_EQ(h.where(id), place::below);
    EXPECT_EQ(h.counts(), strings{"latencies_injected 1"});
    h.abandon(id);
    EXPECT_EQ(h.count("waiting"), 0);
  }
}

TEST(chaos, no_latency_is_endless) {
  for (auto& latency : {schedule::constant(unlimited),
                        schedule::custom([](auto) { return unlimited; })}) {
    host h{slow(latency)};
    auto id = h.arrive();
    h.advance(24h * 365 - 1ns);
    EXPECT_EQ(h.where(id), place::held);
    h.advance(1ns);
    EXPECT_EQ(h.where(id), place::below);
  }
}

TEST(chaos, tells_its_host_of_a_schedule_that_throws) {
  host h{slow(schedule::custom([](auto) -> std::optional<duration> {
    throw std::runtime_error{"no delay"};
  }))};
  auto id = h.arrive();
  EXPECT_EQ(h.e.threw, strings{"latency: no delay"});
  EXPECT_EQ(h.where(id), place::below);
  h.finish(id);
  EXPECT_EQ(h.counts(), strings{"latencies_injected 1"});
}

TEST(chaos, shares_no_state_of_a_function_with_another_layer) {
  auto n = 0;
  auto c = slow(schedule::custom(
    [n](auto) mutable -> std::optional<duration> { return ++n * 1s; }));
  host one{c};
  host other{c};
  one.arrive();
  one.arrive();
  other.arrive();
  other.advance(1s);
  EXPECT_EQ(other.count("waiting"), 0);
  // The same settings again: the function goes on where it was.
  auto id = one.arrive();
  one.policy.reconfigure(one.policy.config(), one.e);
  one.advance(3s);
  EXPECT_EQ(one.where(id), place::below);
  id = one.arrive();
  one.advance(4s - 1ns);
  EXPECT_EQ(one.where(id), place::held);
}

TEST(chaos, an_injected_outcome_replaces_that_of_the_worker) {
  host h{with({.outcome = 1})};
  auto good = h.arrive();
  auto bad = h.arrive();
  EXPECT_EQ(h.where(good), place::below);
  EXPECT_EQ(h.e.told, strings{});
  h.finish(good);
  EXPECT_EQ(h.where(good), place::rejected);
  EXPECT_EQ(h.calls.at(good).code, errc::injected);
  h.finish(bad, outcome::failure(errc::queue_full, false, 3s));
  EXPECT_EQ(h.calls.at(bad).code, errc::injected);
  EXPECT_EQ(h.calls.at(bad).retry_after, 0ns);
  EXPECT_EQ(h.e.told, (strings{"injected:>", "injected:>"}));
  EXPECT_EQ(h.e.details, (strings{"outcome", "outcome"}));
  EXPECT_EQ(h.counts(), strings{"outcomes_injected 2"});
}

TEST(chaos, a_silence_ends_when_its_time_is_over) {
  host h{silent(2s)};
  auto id = h.arrive();
  EXPECT_EQ(h.e.details, strings{"silence"});
  h.advance(2s - 1ns);
  EXPECT_EQ(h.where(id), place::held);
  EXPECT_EQ(h.counts(), (strings{"silences_injected 1", "waiting 1"}));
  h.advance(1ns);
  EXPECT_EQ(h.where(id), place::rejected);
  EXPECT_EQ(h.calls.at(id).code, errc::injected);
  EXPECT_EQ(h.counts(), (strings{"silences_injected 1", "silences_ended 1"}));
  EXPECT_EQ(h.e.told, strings{"injected:>"});
}

TEST(chaos, bears_the_end_of_time_and_clocks_that_step_back) {
  host h{silent(24h * 365)};
  h.e.now = never - 1s;
  EXPECT_EQ(h.calls.at(h.arrive()).until, never);
  host back{silent(1s)};
  auto id = back.arrive();
  back.set_clock(-1h);
  back.advance(1h);
  EXPECT_EQ(back.where(id), place::held);
  back.advance(1s);
  EXPECT_EQ(back.where(id), place::rejected);
}

// -- calls that are taken away ------------------------------------------------

TEST(chaos, counts_calls_that_are_taken_away_wherever_they_are) {
  for (auto& r :
       std::vector<rates>{{}, {.latency = 1}, {.outcome = 1}, {.silence = 1}}) {
    host h{with(r)};
    h.abandon(h.arrive());
    EXPECT_EQ(h.count("abandoned"), 1);
    EXPECT_EQ(h.count("waiting"), 0);
    EXPECT_EQ(h.count("outcomes_injected"), 0);
    EXPECT_EQ(h.count("silences_ended"), 0);
  }
  host h{with({.latency = 1})};
  auto id = h.arrive();
  h.advance(100ms);
  h.abandon(id);
  EXPECT_EQ(h.counts(), (strings{"latencies_injected 1", "abandoned 1"}));
}

// -- operation ----------------------------------------------------------------

TEST(chaos, new_settings_apply_to_new_calls) {
  host h{silent(5s)};
  auto silenced = h.arrive();
  h.policy.reconfigure(with({.latency = 1}), h.e);
  auto late = h.arrive();
  h.policy.reconfigure(with({.error = 1}), h.e);
  h.advance(100ms);
  EXPECT_EQ(h.where(late), place::below);
  EXPECT_EQ(h.where(silenced), place::held);
  h.finish(late);
  EXPECT_EQ(h.where(late), place::passed);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  h.advance(5s);
  EXPECT_EQ(h.where(silenced), place::rejected);
  EXPECT_EQ(h.count("waiting"), 0);
}

TEST(chaos, a_call_that_is_to_lose_its_answer_does_so_under_new_rates) {
  host h{with({.outcome = 1})};
  auto id = h.arrive();
  h.policy.reconfigure(with({.latency = 1}), h.e);
  h.finish(id);
  EXPECT_EQ(h.where(id), place::rejected);
}

TEST(chaos, no_answer_is_lost_any_more_once_it_is_not_enabled) {
  host h{with({.outcome = 1})};
  auto id = h.arrive();
  auto c = h.policy.config();
  c.enabled = false;
  h.policy.reconfigure(c, h.e);
  h.finish(id);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_TRUE(h.calls.at(id).result.ok);
  EXPECT_EQ(h.counts(), strings{"spared 1"});
}

TEST(chaos, not_enabled_any_more_it_holds_what_it_held) {
  host h{silent(5s)};
  auto id = h.arrive();
  auto c = h.policy.config();
  c.enabled = false;
  h.policy.reconfigure(c, h.e);
  EXPECT_EQ(h.where(id), place::held);
  h.advance(5s);
  EXPECT_EQ(h.where(id), place::rejected);
}

TEST(chaos, obeys_the_commands_that_it_knows) {
  using enum operator_command;
  host h{silent(5s)};
  auto id = h.arrive();
  for (auto [c, known] :
       std::vector<std::pair<operator_command, bool>>{{force_open, false},
                                                      {force_closed, false},
                                                      {off, false},
                                                      {enable, true},
                                                      {observe, false}})
    EXPECT_EQ(h.policy.command(c, h.e), known) << name_of(c);
  EXPECT_EQ(h.counts(), (strings{"silences_injected 1", "waiting 1"}));
  EXPECT_TRUE(h.policy.command(reset, h.e));
  EXPECT_EQ(h.counts(), strings{"waiting 1"});
  h.abandon(id);
  EXPECT_EQ(h.counts(), strings{"abandoned 1"});
}

TEST(chaos, draining_leaves_held_calls_alone) {
  host h{with({.latency = 1})};
  auto id = h.arrive();
  h.policy.drain(h.e);
  EXPECT_EQ(h.where(id), place::held);
  h.advance(100ms);
  EXPECT_EQ(h.where(id), place::below);
}

TEST(chaos, has_no_state_and_sends_nothing_twice) {
  chaos x{chaos_config{}};
  EXPECT_EQ(x.kind(), "chaos");
  EXPECT_EQ(x.state(), "");
  EXPECT_FALSE(x.resends());
  EXPECT_EQ(x.wakeup(), never);
}

} // namespace
} // namespace caisson::test
