#include <policies/chaos/model/chaos_model.hpp>
#include <policies/chaos/model/chaos_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace chaotic;
using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// -- what they meet -----------------------------------------------------------

TEST(chaos, an_error_keeps_the_call_from_the_worker) {
  chaos_rig h{chaos_with({.error = 1})};
  auto id = h.arrive();
  EXPECT_EQ(h.where(id), place::rejected);
  EXPECT_EQ(h.calls.at(id).code, errc::injected);
  EXPECT_EQ(h.calls.at(id).retry_after, 0ns);
  EXPECT_EQ(h.e.reports, strings{"injected:>"});
  EXPECT_EQ(h.e.details, strings{"error"});
  EXPECT_EQ(h.counts(), strings{"errors_injected 1"});
}

TEST(chaos, a_latency_lets_the_call_go_on_later) {
  chaos_rig h{chaos_with({.latency = 1})};
  auto id = h.arrive();
  EXPECT_EQ(h.where(id), place::held);
  EXPECT_EQ(h.e.reports, strings{"injected:>"});
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
  chaos_rig listed{slow(schedule::list({10ms, 1h}))};
  for (int i = 0; i < 3; ++i)
    listed.arrive();
  listed.advance(10ms);
  EXPECT_EQ(listed.count("waiting"), 0);

  chaos_rig drawn{slow(schedule::constant(1s).jittered(jitter::full))};
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
    chaos_rig h{slow(latency)};
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
    chaos_rig h{slow(latency)};
    auto id = h.arrive();
    h.advance(24h * 365 - 1ns);
    EXPECT_EQ(h.where(id), place::held);
    h.advance(1ns);
    EXPECT_EQ(h.where(id), place::below);
  }
}

TEST(chaos, reports_a_schedule_that_throws_to_its_host) {
  chaos_rig h{slow(schedule::custom([](auto) -> std::optional<duration> {
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
  chaos_rig one{c};
  chaos_rig other{c};
  one.arrive();
  one.arrive();
  other.arrive();
  other.advance(1s);
  EXPECT_EQ(other.count("waiting"), 0);
  // The same settings again: the function goes on where it was.
  one.reconfigure(c);
  auto id = one.arrive();
  one.advance(3s - 1ns);
  EXPECT_EQ(one.where(id), place::held);
  one.advance(1ns);
  EXPECT_EQ(one.where(id), place::below);
}

TEST(chaos, an_injected_outcome_replaces_that_of_the_worker) {
  chaos_rig h{chaos_with({.outcome = 1})};
  auto good = h.arrive();
  auto bad = h.arrive();
  EXPECT_EQ(h.where(good), place::below);
  EXPECT_EQ(h.e.reports, strings{});
  h.finish(good);
  EXPECT_EQ(h.where(good), place::rejected);
  EXPECT_EQ(h.calls.at(good).code, errc::injected);
  h.finish(bad, outcome::failure(errc::queue_full, false, 3s));
  EXPECT_EQ(h.calls.at(bad).code, errc::injected);
  EXPECT_EQ(h.calls.at(bad).retry_after, 0ns);
  EXPECT_EQ(h.e.reports, (strings{"injected:>", "injected:>"}));
  EXPECT_EQ(h.e.details, (strings{"outcome", "outcome"}));
  EXPECT_EQ(h.counts(), strings{"outcomes_injected 2"});
}

TEST(chaos, a_silence_ends_when_its_time_is_over) {
  chaos_rig h{silent(2s)};
  auto id = h.arrive();
  EXPECT_EQ(h.e.details, strings{"silence"});
  h.advance(2s - 1ns);
  EXPECT_EQ(h.where(id), place::held);
  EXPECT_EQ(h.counts(), (strings{"silences_injected 1", "waiting 1"}));
  h.advance(1ns);
  EXPECT_EQ(h.where(id), place::rejected);
  EXPECT_EQ(h.calls.at(id).code, errc::injected);
  EXPECT_EQ(h.counts(), (strings{"silences_injected 1", "silences_ended 1"}));
  EXPECT_EQ(h.e.reports, strings{"injected:>"});
}

TEST(chaos, supports_the_end_of_time_and_clocks_that_step_back) {
  chaos_rig h{silent(24h * 365)};
  h.e.now = never - 1s;
  EXPECT_EQ(h.calls.at(h.arrive()).until, never);
  chaos_rig back{silent(1s)};
  auto id = back.arrive();
  back.set_clock(-1h);
  back.advance(1h);
  EXPECT_EQ(back.where(id), place::held);
  back.advance(1s);
  EXPECT_EQ(back.where(id), place::rejected);
}

TEST(chaos, reports_which_call_met_a_fault_and_how_long_it_waits) {
  class listener final : public env {
  public:
    using env::env;
    void emit(const event_info& x) override {
      reports.push_back(std::string{x.detail} + " of " + std::to_string(x.call)
                        + ", " + to_text(x.delay));
    }
    strings reports;
  };
  random_source random;
  listener e{chaos_rig::start(), random};
  call_id next = 10;
  for (auto& c : {chaos_with({.error = 1}), slow(schedule::constant(5s)),
                  chaos_with({.outcome = 1}), silent(7s)}) {
    chaos x{c};
    call_info call;
    call.id = ++next;
    slot notes;
    if (x.admit(call, notes, e).what == decision::kind::pass) {
      auto o = outcome::success();
      x.complete(call, notes, o, e);
    }
  }
  EXPECT_EQ(e.reports, (strings{"error of 11, 0s", "latency of 12, 5s",
                                "outcome of 13, 0s", "silence of 14, 0s"}));
}

// -- calls that are taken away ------------------------------------------------

TEST(chaos, counts_calls_that_are_taken_away_wherever_they_are) {
  for (auto& r :
       std::vector<rates>{{}, {.latency = 1}, {.outcome = 1}, {.silence = 1}}) {
    chaos_rig h{chaos_with(r)};
    h.abandon(h.arrive());
    EXPECT_EQ(h.count("abandoned"), 1);
    EXPECT_EQ(h.count("waiting"), 0);
    EXPECT_EQ(h.count("outcomes_injected"), 0);
    EXPECT_EQ(h.count("silences_ended"), 0);
  }
  chaos_rig h{chaos_with({.latency = 1})};
  auto id = h.arrive();
  h.advance(100ms);
  h.abandon(id);
  EXPECT_EQ(h.counts(), (strings{"latencies_injected 1", "abandoned 1"}));
}

// -- operation ----------------------------------------------------------------

TEST(chaos, new_settings_apply_to_new_calls) {
  chaos_rig h{silent(5s)};
  auto silenced = h.arrive();
  h.reconfigure(chaos_with({.latency = 1}));
  auto late = h.arrive();
  h.reconfigure(chaos_with({.error = 1}));
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
  chaos_rig h{chaos_with({.outcome = 1})};
  auto id = h.arrive();
  h.reconfigure(chaos_with({.latency = 1}));
  h.finish(id);
  EXPECT_EQ(h.where(id), place::rejected);
}

TEST(chaos, no_answer_is_lost_any_more_once_it_is_not_enabled) {
  chaos_rig h{chaos_with({.outcome = 1})};
  auto id = h.arrive();
  auto c = h.policy.config();
  c.enabled = false;
  h.reconfigure(c);
  h.finish(id);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_TRUE(h.calls.at(id).result.ok);
  EXPECT_EQ(h.counts(), strings{"spared 1"});
}

TEST(chaos, not_enabled_any_more_it_holds_what_it_held) {
  chaos_rig h{silent(5s)};
  auto id = h.arrive();
  auto c = h.policy.config();
  c.enabled = false;
  h.reconfigure(c);
  EXPECT_EQ(h.where(id), place::held);
  h.advance(5s);
  EXPECT_EQ(h.where(id), place::rejected);
}

TEST(chaos, obeys_the_commands_that_it_knows) {
  using enum operator_command;
  chaos_rig h{silent(5s)};
  auto id = h.arrive();
  for (auto [c, known] :
       std::vector<std::pair<operator_command, bool>>{{force_open, false},
                                                      {force_closed, false},
                                                      {off, false},
                                                      {enable, true},
                                                      {observe, false}})
    EXPECT_EQ(h.command(c), known) << name_of(c);
  EXPECT_EQ(h.counts(), (strings{"silences_injected 1", "waiting 1"}));
  EXPECT_TRUE(h.command(reset));
  EXPECT_EQ(h.counts(), strings{"waiting 1"});
  h.abandon(id);
  EXPECT_EQ(h.counts(), strings{"abandoned 1"});
}

TEST(chaos, draining_leaves_held_calls_alone) {
  chaos_rig h{chaos_with({.latency = 1})};
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

RC_GTEST_PROP(chaos_property, does_as_its_model_does, ()) {
  check_against_model<chaos_model>();
}

} // namespace
} // namespace caisson::test
