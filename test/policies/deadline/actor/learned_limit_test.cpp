// A deadline that learns its limit, in gates.
#include "support/both_hosts.hpp"
#include "support/stack_texts.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class learned_limit_test : public both_hosts {
protected:
  // Twice the median of the last ten seconds.
  static deadline_config learning() {
    deadline_config c;
    c.timeout = 1s;
    c.learned = {.on = true,
                 .quantile = 0.5,
                 .factor = 2,
                 .deviations = 0,
                 .window = 10s,
                 .minimum_samples = 20};
    return c;
  }

  // Sends so many calls, one each 100 ms; returns how many succeeded.
  int play(const caf::actor& g, int calls, const std::string& key = {}) {
    std::vector<pending_answer> all;
    for (int i = 0; i < calls; ++i) {
      all.push_back(world.user().request(g, wrap(i).key(key)));
      world.advance(100ms);
    }
    world.advance(2s);
    return static_cast<int>(
      std::count_if(all.begin(), all.end(), [](auto& x) { return x.ok(); }));
  }

  static scripted_worker::script taking(duration d) {
    return scripted_worker::always_reply(
      scripted_worker::reply::value(1).after(d));
  }

  std::int64_t limit_of(const caf::actor& g) {
    return metric_of(g, "deadline", "limit_us");
  }
};
CAISSON_BOTH_HOSTS(learned_limit_test, 2);

TEST_P(learned_limit_test, follows_the_worker) {
  auto w = make_worker(taking(40ms));
  auto g = host(w.handle(), stack{}.deadline(learning()));
  EXPECT_EQ(limit_of(g), 1'000'000);
  EXPECT_EQ(play(g, 60), 60);
  EXPECT_GE(limit_of(g), 80'000);
  EXPECT_LE(limit_of(g), 90'000);
  // Slower than the limit: no call is in time until it has grown.
  w.become(taking(300ms));
  play(g, 150);
  EXPECT_GE(limit_of(g), 600'000);
  EXPECT_LE(limit_of(g), 680'000);
  EXPECT_EQ(play(g, 50), 50);
  w.become(taking(10ms));
  EXPECT_EQ(play(g, 150), 150);
  EXPECT_GE(limit_of(g), 20'000);
  EXPECT_LE(limit_of(g), 22'600);
}

TEST_P(learned_limit_test, limits_each_attempt_inside_a_retrier) {
  auto w = make_worker(taking(40ms));
  auto g = host(w.handle(), stack{}
                              .retrier({.max_attempts = 2,
                                        .backoff = schedule::constant(1ms),
                                        .idempotent = true,
                                        .budget = false})
                              .deadline(learning()));
  play(g, 60);
  w.plan(scripted_worker::reply::silence());
  auto answer = world.user().request(g, 1);
  // At most 90 ms, 1 ms and 40 ms.
  world.advance(131ms);
  EXPECT_TRUE(answer.ok());
}

TEST_P(learned_limit_test, reports_large_changes) {
  auto w = make_worker(taking(40ms));
  auto g = host(w.handle(), stack{}.deadline(learning()));
  world.send(g, subscribe{});
  world.run_until_idle();
  play(g, 100);
  auto reports = world.user().received_as<event>();
  std::erase_if(reports, [](const event& x) {
    return x.kind != event_kind::limit_changed;
  });
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].layer, "deadline");
  EXPECT_EQ(reports[0].from, "1 s");
  EXPECT_TRUE(reports[0].to.ends_with(" ms")) << reports[0].to;
  EXPECT_TRUE(reports[0].detail.starts_with("of 2")) << reports[0].detail;
}

TEST_P(learned_limit_test, is_set_at_run_time) {
  auto w = make_worker(taking(40ms));
  auto c = learning();
  c.learned.on = false;
  auto g = host(w.handle(), stack{}.deadline(c));
  play(g, 60);
  EXPECT_FALSE(look(g).layer("deadline").metrics.contains("limit_us"));
  EXPECT_TRUE(
    world.request(g, reconfigure{"deadline", {{"learned.on", "true"}}}).ok());
  play(g, 60);
  EXPECT_GE(limit_of(g), 80'000);
  EXPECT_LE(limit_of(g), 90'000);
  EXPECT_TRUE(
    world.request(g, reconfigure{"deadline", {{"learned.factor", "1.5"}}})
      .ok());
  EXPECT_GE(limit_of(g), 60'000);
  EXPECT_LE(limit_of(g), 68'000);
  EXPECT_TRUE(
    world.request(g, reconfigure{"deadline", {{"learned.factor", "0.5"}}})
      .is(errc::invalid_config));
  EXPECT_EQ(look(g).layer("deadline").config.at("timeout"), "1s");
}

TEST_P(learned_limit_test, learns_for_each_key_by_toml) {
  auto w = make_worker(taking(40ms));
  auto g = host(w.handle(),
                only_stack("[[stack.s.layer]]\nkind = 'deadline'\n"
                           "timeout = '1s'\n"
                           "learned = { on = true, quantile = 0.5, factor = 2, "
                           "deviations = 0, window = '1min', "
                           "minimum_samples = 20 }\n"
                           "[stack.s.layer.per_key]\nmax_keys = 100\n")
                  .policies);
  EXPECT_EQ(play(g, 50, "small"), 50);
  w.become(taking(400ms));
  EXPECT_EQ(play(g, 50, "large"), 50);
  w.become(taking(300ms));
  EXPECT_EQ(play(g, 5, "small"), 0);
  EXPECT_EQ(play(g, 5, "large"), 5);
  EXPECT_EQ(play(g, 5, "new"), 5);
  auto keys = look(g).layer("deadline").keys;
  ASSERT_EQ(keys.size(), 3u);
  for (const auto& k : keys)
    if (k.key == "small") {
      EXPECT_LE(k.metrics.at("limit_us"), 90'000);
    } else if (k.key == "large") {
      EXPECT_GE(k.metrics.at("limit_us"), 800'000);
    }
}

} // namespace
} // namespace caisson::test
