#include <caisson/engine/supervision.hpp>
#include <caisson/policies/fallback.hpp>
#include <caisson/policy/callback.hpp>

#include <policies/breaker/model/breaker_rig.hpp>
#include <policies/retrier/model/retrier_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// Throws while the test wants it to.
struct fuse {
  std::shared_ptr<bool> lit = std::make_shared<bool>(false);

  void blow() const {
    if (*lit)
      throw std::runtime_error{"out of wine"};
  }
};

// As the default table, unless it throws.
classifier judging(const fuse& x) {
  classifier c;
  c.by_value = [x](const outcome& o) {
    x.blow();
    return classifier::standard(o);
  };
  return c;
}

// 1s, 2s, 3s …, unless it throws.
schedule counting_schedule(const fuse& x) {
  return schedule::custom([x](std::uint32_t n) -> std::optional<duration> {
    x.blow();
    return duration{1s} * (n + 1);
  });
}

// -- calling ------------------------------------------------------------------

TEST(call_user, returns_what_the_function_returns) {
  random_source random;
  rig<breaker>::recording e{time_point{}, random};
  EXPECT_EQ(call_user(
              "f", [] { return 7; }, e),
            7);
  EXPECT_TRUE(call_user(
    "f", [] {}, e));
  EXPECT_TRUE(e.threw.empty());
}

TEST(call_user, reports_to_the_host_what_was_thrown) {
  random_source random;
  rig<breaker>::recording e{time_point{}, random};
  auto f = []() -> int { throw std::logic_error{"no"}; };
  auto g = [] { throw 7; };
  EXPECT_EQ(call_user("f", f, e), std::nullopt);
  EXPECT_FALSE(call_user("g", g, e));
  EXPECT_EQ(e.threw, (strings{"f: no", "g: unknown exception"}));
}

// -- classifiers --------------------------------------------------------------

TEST(throwing_by_value, does_not_count_in_a_closed_breaker) {
  fuse x;
  auto c = with_threshold(2);
  c.classify = judging(x);
  breaker_rig r{c};
  r.bad();
  *x.lit = true;
  r.bad();
  r.good();
  EXPECT_EQ(r.count("neutral"), 2);
  EXPECT_EQ(r.e.threw.size(), 2u);
  EXPECT_EQ(r.e.threw.front(), "by_value: out of wine");
  // Neither of them ended the row or made it longer.
  *x.lit = false;
  r.bad();
  EXPECT_EQ(r.state(), "open");
}

TEST(throwing_by_value, gives_a_probe_back) {
  fuse x;
  auto c = with_threshold(1);
  c.classify = judging(x);
  for (auto abandoned : {false, true}) {
    *x.lit = false;
    breaker_rig r{c};
    r.bad();
    r.advance(10s);
    auto probe = r.arrive();
    *x.lit = true;
    if (abandoned)
      r.abandon(probe);
    else
      r.finish(probe);
    EXPECT_EQ(r.state(), "half_open");
    EXPECT_EQ(r.count("probes_in_flight"), 0);
    EXPECT_EQ(r.count("probes_returned"), 1);
    *x.lit = false;
    r.good();
    EXPECT_EQ(r.state(), "closed");
  }
}

TEST(throwing_by_value, ends_the_attempts_of_a_retrier) {
  fuse x;
  *x.lit = true;
  auto c = retrying::simple_retrier();
  c.classify = judging(x);
  retrying::retrier_rig h{c};
  auto id = h.arrive();
  h.finish(id, retrying::worker_failed());
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_TRUE(h.calls.at(id).result.is(errc::worker_down));
  EXPECT_EQ(h.count("not_retryable"), 1);
  EXPECT_EQ(h.count("waiting"), 0);
  EXPECT_EQ(h.e.threw, strings{"by_value: out of wine"});
}

TEST(throwing_by_value, lets_a_fallback_pass_the_outcome_up) {
  fuse x;
  fallback_config c;
  c.classify = judging(x);
  for (auto o : {outcome::success(), outcome::failure(errc::shed, false),
                 outcome::failure(errc::worker_down, true)})
    for (auto at_alternative : {false, true}) {
      *x.lit = false;
      rig<fallback> h{c, 2u};
      auto id = h.arrive();
      if (at_alternative)
        h.fail(id);
      *x.lit = true;
      h.finish(id, o);
      EXPECT_EQ(h.where(id), place::passed);
      EXPECT_EQ(h.count("passed_up"), 1);
      EXPECT_EQ(h.count("running"), 0);
      EXPECT_EQ(h.e.threw, strings{"by_value: out of wine"});
    }
}

// -- schedules ----------------------------------------------------------------

// One second more each time it is asked, whoever asks.
schedule forgetful_of_places() {
  return schedule::custom([n = 0](std::uint32_t) mutable {
    return std::optional{duration{1s} * ++n};
  });
}

TEST(stateful_schedule, is_each_retriers_own) {
  auto c = retrying::simple_retrier();
  c.backoff = forgetful_of_places();
  retrying::retrier_rig a{c};
  retrying::retrier_rig b{c};
  EXPECT_EQ(retrying::backoff_after(a, a.arrive()), 1s);
  EXPECT_EQ(retrying::backoff_after(b, b.arrive()), 1s);
  EXPECT_EQ(retrying::backoff_after(a, a.arrive()), 2s);
  // The same settings again, with another number among them.
  c.max_attempts = 7;
  a.reconfigure(c);
  EXPECT_EQ(retrying::backoff_after(a, a.arrive()), 3s);
  EXPECT_EQ(retrying::backoff_after(b, b.arrive()), 2s);
  c.backoff = c.backoff.limit(1h);
  a.reconfigure(c);
  EXPECT_EQ(retrying::backoff_after(a, a.arrive()), 1s);
}

TEST(stateful_schedule, is_each_breakers_own) {
  auto c = with_threshold(1);
  c.open = forgetful_of_places();
  breaker_rig a{c};
  breaker_rig b{c};
  for (auto r : {&a, &b}) {
    r->bad();
    EXPECT_EQ(r->calls.at(r->arrive()).retry_after, 1s);
    r->reconfigure(c);
    r->advance(1s);
    r->bad();
    EXPECT_EQ(r->calls.at(r->arrive()).retry_after, 2s);
  }
}

TEST(stateful_schedule, is_each_supervisions_own) {
  supervision_config c;
  c.restart = forgetful_of_places();
  supervision a{c};
  supervision b{c};
  random_source random;
  auto now = time_point{} + 1h;
  for (auto x : {&a, &b}) {
    EXPECT_EQ(x->on_down(now, random), now + 1s);
    x->reconfigure(c);
    EXPECT_EQ(x->on_down(now, random), now + 2s);
  }
}

TEST(throwing_schedule, ends_the_attempts_of_a_retrier) {
  fuse x;
  auto c = retrying::simple_retrier();
  c.backoff = counting_schedule(x);
  retrying::retrier_rig h{c};
  auto id = h.arrive();
  EXPECT_EQ(retrying::backoff_after(h, id), 1s);
  *x.lit = true;
  h.finish(id, retrying::worker_failed());
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.count("gave_up_schedule"), 1);
  EXPECT_EQ(h.count("waiting"), 0);
  EXPECT_EQ(h.e.threw, strings{"schedule: out of wine"});
  // The next call is served as if nothing had happened.
  *x.lit = false;
  EXPECT_EQ(retrying::backoff_after(h, h.arrive()), 1s);
}

TEST(throwing_schedule, makes_a_breaker_repeat_its_last_interval) {
  fuse x;
  auto c = with_threshold(1);
  c.open = counting_schedule(x);
  breaker_rig r{c};
  r.bad();
  r.advance(1s);
  r.bad();
  *x.lit = true;
  r.advance(2s);
  r.bad();
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 2s);
  EXPECT_EQ(r.e.threw, strings{"schedule: out of wine"});
  // The delay that was not reported is the next one.
  *x.lit = false;
  r.advance(2s);
  r.bad();
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 3s);
}

TEST(throwing_schedule, of_a_breaker_leaves_it_some_interval_from_the_start) {
  fuse x;
  *x.lit = true;
  auto c = with_threshold(1);
  c.open = counting_schedule(x);
  breaker_rig r{c};
  r.bad();
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.calls.at(r.arrive()).retry_after, 5s);
}

TEST(throwing_schedule, does_not_give_a_worker_up) {
  fuse x;
  supervision_config c;
  c.restart = counting_schedule(x);
  c.max_restarts = 3;
  supervision guard{c};
  random_source random;
  auto now = time_point{} + 1h;
  std::string failure;
  auto delay = [&] {
    return time_until(*guard.on_down(now, random, &failure), now);
  };
  *x.lit = true;
  EXPECT_EQ(delay(), 1s);
  EXPECT_EQ(failure, "out of wine");
  *x.lit = false;
  failure.clear();
  now += 29s;
  EXPECT_EQ(delay(), 1s);
  now += 2s;
  EXPECT_EQ(delay(), 2s);
  EXPECT_EQ(failure, "");
  *x.lit = true;
  now += 5s;
  // Nobody has to listen.
  EXPECT_EQ(guard.on_down(now, random), time_after(now, 2s));
  // Restarts count, whatever delay they had.
  EXPECT_EQ(guard.on_down(now, random), std::nullopt);
  guard.reset();
  EXPECT_EQ(delay(), 1s);
}

} // namespace
} // namespace caisson::test
