#include <policies/cooldown/model/cooldown_model.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using strings = std::vector<std::string>;
using cooldown_rig = rig<cooldown>;

// What a worker answers that asks for so much time.
outcome come_back_in(duration d, answer_class kind = answer_class::shed) {
  outcome o;
  o.ok = false;
  o.from_worker = true;
  o.kind = kind;
  o.retry_after = d;
  return o;
}

// A call that is answered so.
void answer(cooldown_rig& h, const outcome& o) {
  h.finish(h.arrive(), o);
}

// -- when it begins -----------------------------------------------------------

TEST(cooldown, lets_calls_pass_until_the_worker_asks_for_time) {
  cooldown_rig h{cooldown_config{}};
  answer(h, outcome::success());
  answer(h, outcome::failure(errc::worker_down, true));
  EXPECT_EQ(h.where(h.arrive()), place::below);
  EXPECT_EQ(h.count("passed"), 3);
  EXPECT_EQ(h.count("started"), 0);
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.policy.wakeup(), never);
  EXPECT_TRUE(h.policy.is_idle(h.e.now));
  EXPECT_TRUE(h.e.reports.empty());
}

TEST(cooldown, rejects_calls_for_the_time_that_the_worker_names) {
  cooldown_rig h{cooldown_config{}};
  auto in_flight = h.arrive();
  answer(h, come_back_in(2s));
  EXPECT_EQ(h.policy.state(), "cooling");
  EXPECT_FALSE(h.policy.is_idle(h.e.now));
  h.advance(500ms);
  auto id = h.arrive();
  EXPECT_EQ(h.where(id), place::rejected);
  EXPECT_EQ(h.calls.at(id).code, errc::rate_limited);
  EXPECT_EQ(h.calls.at(id).retry_after, 1'500ms);
  // Those in flight go on, and a success does not end it.
  h.finish(in_flight);
  EXPECT_EQ(h.where(in_flight), place::passed);
  h.advance(1'500ms - 1ns);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  EXPECT_FALSE(h.policy.is_idle(h.e.now));
  EXPECT_TRUE(h.policy.is_idle(h.e.now + 1ns));
  h.advance(1ns);
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.where(h.arrive()), place::below);
  EXPECT_EQ(h.count("started"), 1);
  EXPECT_EQ(h.count("rejected"), 2);
  EXPECT_EQ(h.count("passed"), 3);
  EXPECT_EQ(
    h.e.reports,
    (strings{"state_changed:passing>cooling", "rejected:>rate_limited",
             "rejected:>rate_limited", "state_changed:cooling>passing"}));
  EXPECT_EQ(h.e.details,
            (strings{"the worker asks for 2 s", "", "", "its time is over"}));
}

// Policies and gates on the way decide for themselves.
TEST(cooldown, begins_with_answers_of_the_worker_only) {
  struct row {
    std::string text;
    outcome answer;
    duration expected;
  };
  auto with = [](outcome o, auto change) {
    change(o);
    return o;
  };
  auto own = outcome::failure(errc::rate_limited, false, 1s);
  const row rows[] = {
    {"the worker refuses", come_back_in(1s), 1s},
    {"it fails", come_back_in(1s, answer_class::retry_after), 1s},
    {"no adapter knows it", come_back_in(1s, answer_class::unknown), 1s},
    {"it passes on the error of a limiter of its own",
     with(own, [](outcome& o) { o.from_worker = true; }), 1s},
    {"it passes on that of a breaker",
     with(own,
          [](outcome& o) {
            o.code = static_cast<std::uint8_t>(errc::breaker_open);
            o.from_worker = true;
          }),
     0s},
    {"a gate or a layer has decided it", own, 0s},
    {"a breaker is open", outcome::failure(errc::breaker_open, false, 1s), 0s},
    {"a success", with(come_back_in(1s), [](outcome& o) { o.ok = true; }), 0s},
    {"an adapter takes it for a success", come_back_in(1s, answer_class::ok),
     0s},
    {"no time is named", come_back_in(0s), 0s},
    {"no retry is wanted", come_back_in(do_not_retry), 0s},
  };
  for (const auto& x : rows) {
    cooldown_rig h{cooldown_config{}};
    answer(h, x.answer);
    EXPECT_EQ(h.policy.state() == "cooling", x.expected > 0s) << x.text;
    EXPECT_EQ(h.policy.wakeup(), x.expected > 0s ? h.e.now + x.expected : never)
      << x.text;
  }
}

TEST(cooldown, has_a_time_for_refusals_that_name_none) {
  auto own = [](errc code) {
    auto o = outcome::failure(code, false);
    o.from_worker = true;
    return o;
  };
  struct row {
    std::string text;
    outcome answer;
    bool begins;
  };
  const row rows[] = {
    {"an adapter says so", come_back_in(0s), true},
    {"a quota", own(errc::rate_limited), true},
    {"a full queue", own(errc::queue_full), true},
    {"overload", own(errc::shed), true},
    {"too slow", own(errc::deadline_exceeded), false},
    {"it fails", come_back_in(0s, answer_class::retry_after), false},
    {"it has failed", come_back_in(0s, answer_class::unknown), false},
    {"a layer refuses", outcome::failure(errc::queue_full, false), false},
  };
  for (const auto& x : rows) {
    cooldown_rig h{cooldown_config{.default_time = 3s}};
    answer(h, x.answer);
    EXPECT_EQ(h.policy.wakeup(), x.begins ? h.e.now + 3s : never) << x.text;
  }
}

TEST(cooldown, prefers_the_time_that_is_named) {
  cooldown_rig h{cooldown_config{.default_time = 3s}};
  answer(h, come_back_in(0s, answer_class::retry_after));
  EXPECT_EQ(h.policy.state(), "passing");
  answer(h, come_back_in(0s));
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 3s);
  // One that names a time is taken at its word.
  h.advance(3s);
  answer(h, come_back_in(1s));
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 1s);
  // Not to repeat this call says nothing about others.
  h.advance(1s);
  answer(h, come_back_in(do_not_retry, answer_class::retry_after));
  EXPECT_EQ(h.policy.state(), "passing");
}

// -- how long it is -----------------------------------------------------------

TEST(cooldown, has_a_longest_time) {
  cooldown_rig h{cooldown_config{.max_time = 10s}};
  answer(h, come_back_in(24h));
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 10s);
  h.advance(10s);
  answer(h, come_back_in(unlimited));
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 10s);
}

TEST(cooldown, lasts_until_the_latest_time_that_was_named) {
  cooldown_rig h{cooldown_config{}};
  auto a = h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  auto begin = h.e.now;
  answer(h, come_back_in(5s));
  h.advance(1s);
  h.finish(a, come_back_in(2s));
  EXPECT_EQ(h.policy.wakeup(), begin + 5s);
  h.finish(b, come_back_in(4s));
  EXPECT_EQ(h.policy.wakeup(), begin + 5s);
  EXPECT_EQ(h.count("extended"), 0);
  h.finish(c, come_back_in(4s + 1ns));
  EXPECT_EQ(h.policy.wakeup(), begin + 5s + 1ns);
  EXPECT_EQ(h.count("extended"), 1);
  EXPECT_EQ(h.count("started"), 1);
  // The state has changed once.
  EXPECT_EQ(h.e.reports, strings{"state_changed:passing>cooling"});
}

// A host may be late with what is due.
TEST(cooldown, ends_in_time_although_nobody_looks) {
  cooldown_rig h{cooldown_config{}};
  answer(h, come_back_in(1s));
  auto call = h.calls.begin()->second.call;
  slot notes;
  h.e.now = h.e.now + 1s;
  EXPECT_EQ(h.policy.state(), "cooling");
  EXPECT_EQ(h.policy.admit(call, notes, h.e).what, decision::kind::pass);
  EXPECT_EQ(h.policy.state(), "passing");
  auto o = come_back_in(1s);
  h.policy.complete(call, notes, o, h.e);
  h.e.now = h.e.now + 2s;
  h.policy.complete(call, notes, o, h.e);
  EXPECT_EQ(h.count("started"), 3);
  EXPECT_EQ(h.count("extended"), 0);
}

// -- operation ----------------------------------------------------------------

TEST(cooldown, is_shortened_by_a_shorter_longest_time) {
  cooldown_rig h{cooldown_config{}};
  auto begin = h.e.now;
  answer(h, come_back_in(30s));
  h.advance(1s);
  h.reconfigure(cooldown_config{.max_time = 40s});
  EXPECT_EQ(h.policy.wakeup(), begin + 30s);
  h.reconfigure(cooldown_config{.max_time = 10s});
  EXPECT_EQ(h.policy.wakeup(), begin + 10s);
  // What was cut off does not come back.
  h.reconfigure(cooldown_config{.max_time = 40s});
  EXPECT_EQ(h.policy.wakeup(), begin + 10s);
  h.reconfigure(cooldown_config{.max_time = 500ms});
  h.advance(0s);
  EXPECT_EQ(h.policy.state(), "passing");
}

TEST(cooldown, is_ended_by_a_reset) {
  cooldown_rig h{cooldown_config{}};
  answer(h, come_back_in(30s));
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.policy.wakeup(), never);
  EXPECT_EQ(h.count("started"), 0);
  EXPECT_EQ(h.e.details.back(), "reset");
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(h.e.reports.size(), 2u);
  EXPECT_FALSE(h.command(operator_command::force_open));
  EXPECT_FALSE(h.command(operator_command::force_closed));
}

TEST(cooldown, counts_calls_that_are_abandoned) {
  cooldown_rig h{cooldown_config{}};
  h.abandon(h.arrive());
  EXPECT_EQ(h.count("abandoned"), 1);
  EXPECT_EQ(h.policy.state(), "passing");
}

TEST(cooldown, refuses_times_that_contradict_each_other) {
  EXPECT_NO_THROW((cooldown{{.max_time = 1s, .default_time = 1s}}));
  try {
    cooldown x{{.max_time = 1s, .default_time = 2s}};
    FAIL();
  } catch (const config_error& err) {
    EXPECT_STREQ(err.what(),
                 "default_time: 2s is longer than max_time, allowed: at "
                 "most 1s, or a longer max_time");
  }
  EXPECT_THROW((cooldown{{.max_time = 0s}}), config_error);
  EXPECT_THROW((cooldown{{.max_time = 24h + 1ns}}), config_error);
}

RC_GTEST_PROP(cooldown_property, does_what_its_model_does, ()) {
  check_against_model<cooldown_model>();
}

} // namespace
} // namespace caisson::test
