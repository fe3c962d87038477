#include <policies/deadline/model/deadline_rig.hpp>
#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// -- configuration ------------------------------------------------------------

TEST(deadline, refuses_what_is_out_of_range_or_contradicts_itself) {
  EXPECT_EQ(kinds_and_keys(problems_of(limited_to(1s, 1001ms))),
            strings{"relation min_left"});
  EXPECT_THROW(deadline{limited_to(1s, 1001ms)}, config_error);
  EXPECT_THROW(deadline{limited_to(0ns)}, config_error);
  EXPECT_NO_THROW(deadline{limited_to(1us)});
  EXPECT_NO_THROW(deadline{limited_to(365 * 24h, 365 * 24h)});
}

// -- arrival ------------------------------------------------------------------

TEST(deadline, gives_each_call_the_earlier_of_two_deadlines) {
  struct row {
    duration had;
    duration gets;
  };
  for (auto& x : std::vector<row>{{unlimited, 1s},
                                  {1h, 1s},
                                  {1s + 1ns, 1s},
                                  {1s, 1s},
                                  {1s - 1ns, 1s - 1ns},
                                  {1ns, 1ns}}) {
    deadline_rig h{limited_to(1s)};
    auto id = h.arrive_with(x.had);
    EXPECT_EQ(h.where(id), place::below);
    EXPECT_EQ(h.left(id), x.gets);
    EXPECT_EQ(h.count("admitted"), 1);
  }
}

TEST(deadline, refuses_a_call_that_expired_before_it_came) {
  for (auto left : {0ns, duration{-1ns}, duration{-1h}}) {
    deadline_rig h{limited_to(1s)};
    auto id = h.arrive_with(left);
    EXPECT_EQ(h.where(id), place::rejected);
    EXPECT_EQ(h.calls.at(id).code, errc::deadline_exceeded);
    EXPECT_EQ(h.calls.at(id).retry_after, 0ns);
    EXPECT_EQ(h.calls.at(id).call.deadline, h.e.now + left);
    EXPECT_EQ(h.count("expired_on_arrival"), 1);
    EXPECT_EQ(h.count("admitted"), 0);
    EXPECT_EQ(h.e.reports, (strings{"rejected:>deadline_exceeded"}));
  }
}

TEST(deadline, refuses_a_call_that_has_too_little_time_left) {
  struct row {
    duration left;
    bool admitted;
  };
  for (auto& x : std::vector<row>{{unlimited, true},
                                  {20ms + 1ns, true},
                                  {20ms, true},
                                  {20ms - 1ns, false},
                                  {1ns, false}}) {
    deadline_rig h{limited_to(1s, 20ms)};
    auto id = h.arrive_with(x.left);
    EXPECT_EQ(h.where(id), x.admitted ? place::below : place::rejected);
    EXPECT_EQ(h.count("too_little_left"), x.admitted ? 0 : 1);
    EXPECT_EQ(h.count("expired_on_arrival"), 0);
    if (!x.admitted) {
      EXPECT_EQ(h.calls.at(id).code, errc::deadline_exceeded);
      EXPECT_EQ(h.e.reports, (strings{"rejected:>deadline_exceeded"}));
    }
  }
}

TEST(deadline, admits_a_call_when_min_left_is_the_whole_timeout) {
  deadline_rig h{limited_to(20ms, 20ms)};
  EXPECT_EQ(h.where(h.arrive_with(unlimited)), place::below);
  EXPECT_EQ(h.where(h.arrive_with(20ms - 1ns)), place::rejected);
}

TEST(deadline, supports_the_end_of_time) {
  deadline_rig h{limited_to(365 * 24h)};
  h.e.now = never - 1s;
  auto id = h.arrive_with(unlimited);
  EXPECT_EQ(h.calls.at(id).call.deadline, never);
  h.finish(id);
  h.e.now = never;
  EXPECT_EQ(h.where(h.arrive_with(unlimited)), place::rejected);
}

// -- the host's default -------------------------------------------------------

TEST(deadline, replaces_the_default_of_the_host_by_its_own) {
  for (auto limit : {duration{1ns}, duration{1s}, duration{30s}, unlimited}) {
    deadline_rig h{limited_to(2min)};
    auto id = h.arrive_by_default(limit);
    EXPECT_EQ(h.where(id), place::below) << to_text(limit);
    EXPECT_EQ(h.left(id), 2min) << to_text(limit);
    EXPECT_FALSE(h.calls.at(id).call.default_deadline) << to_text(limit);
  }
}

TEST(deadline, never_extends_the_deadline_of_a_caller) {
  deadline_rig h{limited_to(2min)};
  auto id = h.arrive_with(30s);
  EXPECT_EQ(h.left(id), 30s);
  EXPECT_FALSE(h.calls.at(id).call.default_deadline);
}

TEST(deadline, refuses_a_call_whose_default_deadline_has_passed) {
  deadline_rig h{limited_to(2min)};
  EXPECT_EQ(h.where(h.arrive_by_default(0ns)), place::rejected);
  EXPECT_EQ(h.count("expired_on_arrival"), 1);
}

TEST(deadline, does_not_hold_the_default_against_min_left) {
  deadline_rig h{limited_to(2min, 1min)};
  EXPECT_EQ(h.where(h.arrive_by_default(1s)), place::below);
  EXPECT_EQ(h.where(h.arrive_with(1s)), place::rejected);
}

TEST(deadline, counts_the_one_that_it_put_in_place_of_the_default_as_its_own) {
  deadline_rig h{limited_to(2min)};
  auto id = h.arrive_by_default(30s);
  h.advance(2min);
  h.finish(id);
  EXPECT_EQ(h.count("expired"), 1);
  EXPECT_EQ(h.count("overran"), 1);
}

// -- ends ---------------------------------------------------------------------

TEST(deadline, leaves_the_deadline_to_the_host_from_admission_on) {
  for (auto had : {unlimited, duration{1h}, duration{10ms}}) {
    deadline d{limited_to(1s)};
    random_source random;
    env e{deadline_rig::start(), random};
    call_info call;
    call.deadline = time_after(e.now, had);
    slot notes;
    d.admit(call, notes, e);
    auto limit = call.deadline;
    e.now += 2s;
    auto o = outcome::success();
    d.deadline_passed(call, notes, e);
    EXPECT_EQ(call.deadline, limit);
    d.abandon(call, notes, o, true, e);
    EXPECT_EQ(call.deadline, limit);
    d.complete(call, notes, o, e);
    EXPECT_EQ(call.deadline, limit);
  }
}

TEST(deadline, passes_any_outcome_up_unchanged) {
  deadline_rig h{limited_to(1s)};
  auto good = h.arrive();
  auto bad = h.arrive();
  h.finish(good);
  h.finish(bad, outcome::failure(errc::queue_full, false, 3s));
  EXPECT_EQ(h.where(bad), place::passed);
  auto& o = h.calls.at(bad).result;
  EXPECT_TRUE(o.is(errc::queue_full));
  EXPECT_FALSE(o.may_have_executed);
  EXPECT_EQ(o.retry_after, 3s);
  EXPECT_EQ(h.count("answered"), 2);
}

TEST(deadline, cuts_a_call_off_when_its_deadline_has_passed) {
  deadline_rig h{limited_to(1s)};
  auto id = h.arrive();
  h.advance(1s);
  auto d = h.expire(id);
  EXPECT_EQ(d.what, decision::kind::reject);
  EXPECT_EQ(d.code, errc::deadline_exceeded);
  EXPECT_EQ(h.count("expired"), 1);
  EXPECT_EQ(h.e.reports, (strings{"expired:>"}));
}

TEST(deadline, observing_it_counts_the_call_once_as_expired) {
  for (bool abandoned : {false, true}) {
    deadline_rig h{limited_to(1s)};
    auto id = h.arrive();
    h.advance(1s);
    // The host lets the call go on, and it ends later.
    h.pass_deadline(id, false);
    h.pass_deadline(id, false);
    h.advance(1s);
    if (abandoned)
      h.abandon(id);
    else
      h.finish(id);
    EXPECT_EQ(h.count("expired"), 1);
    EXPECT_EQ(h.count("overran"), abandoned ? 0 : 1);
    EXPECT_EQ(h.count("answered"), 0);
    EXPECT_EQ(h.count("abandoned"), 0);
    EXPECT_EQ(h.e.reports.size(), 1u);
  }
}

TEST(deadline, counts_what_overran_under_a_host_that_only_observes) {
  deadline_rig h{limited_to(1s)};
  auto in_time = h.arrive();
  h.advance(1s - 1ns);
  h.finish(in_time);
  auto late = h.arrive();
  h.advance(1s);
  h.finish(late);
  EXPECT_EQ(h.where(late), place::passed);
  EXPECT_EQ(h.count("answered"), 1);
  EXPECT_EQ(h.count("expired"), 1);
  EXPECT_EQ(h.count("overran"), 1);
}

TEST(deadline, does_not_count_an_outer_deadline_as_its_own) {
  deadline_rig h{limited_to(5s)};
  call_info f;
  f.deadline = deadline_rig::start() + 1s;
  auto id = h.arrive(f);
  h.advance(2s);
  h.finish(id);
  EXPECT_EQ(h.count("answered"), 1);
  EXPECT_EQ(h.count("expired"), 0);
}

TEST(deadline, counts_calls_that_are_taken_away) {
  deadline_rig h{limited_to(1s)};
  h.abandon(h.arrive());
  EXPECT_EQ(h.count("abandoned"), 1);
  EXPECT_EQ(h.count("answered"), 0);
}

TEST(deadline, counts_from_now_also_when_the_clock_stepped_back) {
  deadline_rig h{limited_to(1s)};
  auto first = h.arrive();
  auto its_deadline = h.calls.at(first).call.deadline;
  h.set_clock(-1h);
  auto second = h.arrive();
  EXPECT_EQ(h.left(second), 1s);
  EXPECT_EQ(h.calls.at(first).call.deadline, its_deadline);
}

// -- operation ----------------------------------------------------------------

TEST(deadline, reconfigured_it_leaves_calls_their_deadline) {
  deadline_rig h{limited_to(1s)};
  auto before = h.arrive();
  h.reconfigure(limited_to(5ms, 1ms));
  EXPECT_EQ(h.policy.config().timeout, 5ms);
  auto behind = h.arrive();
  EXPECT_EQ(h.left(before), 1s);
  EXPECT_EQ(h.left(behind), 5ms);
  EXPECT_EQ(h.where(h.arrive_with(1ms - 1ns)), place::rejected);
  h.finish(before);
  h.finish(behind);
  EXPECT_EQ(h.count("answered"), 2);
}

TEST(deadline, obeys_the_commands_that_it_knows) {
  using enum operator_command;
  deadline_rig h{limited_to(1s)};
  auto id = h.arrive();
  for (auto [c, known] :
       std::vector<std::pair<operator_command, bool>>{{force_open, false},
                                                      {force_closed, false},
                                                      {off, false},
                                                      {enable, true},
                                                      {observe, false}})
    EXPECT_EQ(h.command(c), known) << name_of(c);
  EXPECT_EQ(h.count("admitted"), 1);
  EXPECT_TRUE(h.command(reset));
  EXPECT_EQ(h.count("admitted"), 0);
  h.finish(id);
  EXPECT_EQ(h.count("answered"), 1);
}

TEST(deadline, has_no_state_and_sends_nothing_twice) {
  deadline d{limited_to(1s)};
  EXPECT_EQ(d.kind(), "deadline");
  EXPECT_EQ(d.state(), "");
  EXPECT_FALSE(d.resends());
  EXPECT_EQ(d.wakeup(), never);
}

} // namespace
} // namespace caisson::test
