#include <policies/batcher/model/batcher_rig.hpp>

#include <caisson/policies/batcher/batch_target.hpp>
#include <caisson/policies/batcher/item_rate.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using detail::item_rate;
using detail::target_of;

// -- theory -------------------------------------------------------------------

// Times between items that come by themselves: exponential.
class poisson_times {
public:
  poisson_times(double rate, std::uint64_t seed) : rate_(rate), random_(seed) {}

  duration next() {
    auto u = (static_cast<double>(random_.below(1u << 30)) + 0.5) / (1u << 30);
    return from_seconds(-std::log(u) / rate_);
  }

private:
  double rate_;
  random_source random_;
};

batcher_config for_theory() {
  batcher_config c;
  c.max_items = 20;
  c.max_delay = 100ms;
  c.max_outstanding = 1000;
  c.max_waiting = 1000;
  c.adaptive = true;
  c.rate_window = 20s;
  return c;
}

struct batch_means {
  double items = 0;
  double wait = 0; // seconds
};

// A batch is sent with `most` items or after `delay`. While it forms, k further
// items have come with the probability of a Poisson distribution.
batch_means expected_means(double rate, std::size_t most, double delay) {
  auto further = [&](std::size_t k, double t) {
    auto mean = rate * t;
    if (mean == 0)
      return k == 0 ? 1.0 : 0.0;
    auto n = static_cast<double>(k);
    return std::exp(n * std::log(mean) - mean - std::lgamma(n + 1));
  };
  // Of those who wait, while fewer than `most` do.
  constexpr int steps = 2'000;
  auto waited = 0.0;
  for (int i = 0; i < steps; ++i)
    for (std::size_t k = 0; k + 1 < most; ++k)
      waited += static_cast<double>(k + 1)
                * further(k, (i + 0.5) * delay / steps) * delay / steps;
  auto items = static_cast<double>(most);
  for (std::size_t k = 0; k + 1 < most; ++k)
    items -= static_cast<double>(most - 1 - k) * further(k, delay);
  return {items, waited / items};
}

batch_means measured_means(const batcher_config& c, double rate, int n) {
  batcher policy{c};
  random_source random{1};
  batcher_rig::recording e{batcher_rig::start(), random};
  poisson_times times{rate, 5};
  std::vector<time_point> came;
  std::vector<slot> notes(static_cast<std::size_t>(n) + 1);
  auto waited = 0.0;
  std::size_t batches = 0;
  std::size_t sent = 0;
  auto take_all = [&] {
    for (auto& a : std::exchange(e.actions, {})) {
      auto& items = e.children.at(a.index - 1).parents;
      ++batches;
      sent += items.size();
      for (auto id : items)
        waited += to_seconds(e.now - came.at(id - 1));
      auto o = outcome::success();
      policy.child_done(a.index, o, e);
    }
  };
  for (call_id id = 1; id <= static_cast<call_id>(n); ++id) {
    auto next = e.now + times.next();
    while (policy.wakeup() <= next) {
      e.now = std::max(e.now, policy.wakeup());
      policy.wake(e);
      EXPECT_GT(policy.wakeup(), e.now) << "it would be woken again at once";
      take_all();
    }
    e.now = next;
    came.push_back(e.now);
    call_info call;
    call.id = id;
    policy.admit(call, notes[id], e);
    take_all();
    // What is known at first is no part of the theory.
    if (id == 1'000)
      waited = 0, batches = sent = 0;
  }
  return {static_cast<double>(sent) / static_cast<double>(batches),
          waited / static_cast<double>(sent)};
}

TEST(batcher_theory, holds_at_low_and_at_high_rates) {
  struct row {
    double rate;
    duration min_delay;
    std::uint32_t min_items;
  };
  for (const auto& x : std::vector<row>{{3, 0ms, 1},
                                        {3, 20ms, 1},
                                        {40, 0ms, 1},
                                        {40, 30ms, 1},
                                        {40, 30ms, 12},
                                        {100, 0ms, 1},
                                        {1'000, 0ms, 1},
                                        {10'000, 50ms, 1}}) {
    auto c = for_theory();
    c.min_delay = x.min_delay;
    c.min_items = x.min_items;
    auto target = target_of(c, x.rate);
    auto theory = expected_means(x.rate, target.items,
                                 to_seconds(target.delay));
    auto found = measured_means(c, x.rate, 30'000);
    auto where = testing::Message()
                 << x.rate << "/s, at least " << to_text(x.min_delay) << " or "
                 << x.min_items << ": " << theory.items << " items, "
                 << theory.wait << " s";
    EXPECT_NEAR(found.items, theory.items, 0.03 * theory.items) << where;
    EXPECT_NEAR(found.wait, theory.wait, 0.05 * theory.wait + 1e-4) << where;
  }
}

TEST(batcher_theory, has_no_bias_soon_after_the_start) {
  for (auto length : {50ms, 200ms, 1'000ms, 5'000ms}) {
    auto sum = 0.0;
    constexpr int runs = 4'000;
    for (int i = 0; i < runs; ++i) {
      poisson_times times{50, static_cast<std::uint64_t>(i)};
      item_rate r;
      auto now = batcher_rig::start();
      auto end = now + length;
      r.next(now, 1s);
      while ((now += times.next()) < end)
        r.next(now, 1s);
      sum += *r.next(end, 1s);
    }
    EXPECT_NEAR(sum / runs, 50, 1.5) << to_text(length);
  }
}

// Sends items at that rate for a while. Returns the target of the last one.
std::int64_t target_after(batcher_rig& b, double rate, duration t) {
  poisson_times times{rate, 3};
  auto end = b.now() + t;
  while (b.now() < end) {
    b.advance(times.next());
    b.arrive();
    while (!b.launched.empty()) {
      b.take();
      b.succeed(b.last_taken);
    }
  }
  return b.count("target_items");
}

TEST(batcher_theory, follows_a_step_within_three_windows) {
  auto c = for_theory();
  c.max_items = 200;
  c.rate_window = 2s;
  batcher_rig b{c};
  EXPECT_NEAR(static_cast<double>(target_after(b, 100, 10s)), 10, 3);
  EXPECT_LT(target_after(b, 1'000, 200ms), 50) << "not at once";
  EXPECT_NEAR(static_cast<double>(target_after(b, 1'000, 6s)), 100, 10);
  EXPECT_GT(target_after(b, 100, 200ms), 60) << "not at once";
  EXPECT_NEAR(static_cast<double>(target_after(b, 100, 6s)), 10 + 4.5, 4);
}

// -- any order of events ------------------------------------------------------

// Compares when each batch is sent with the rate of a list of all items.
class adaptive_driver {
public:
  adaptive_driver() : b_(draw_settings()) {}

  void step() {
    switch (*rc::gen::inRange(0, 12)) {
      case 0:
        if (!held_.empty()) {
          b_.abandon(held_.front());
          held_.erase(held_.begin());
        }
        break;
      case 1:
        b_.reconfigure(next_settings());
        break;
      case 2:
        b_.command(operator_command::reset);
        rates_ = {};
        rate_ = std::nullopt;
        break;
      case 3:
        b_.set_clock(b_.now()
                     - *rc::gen::element<duration>(0ns, 1ns, 3ms, 50ms));
        break;
      case 4:
      case 5:
      case 6:
        advance(*rc::gen::element<duration>(0ns, 1ns, 1ms, 9ms, 200ms, 1h));
        break;
      case 7:
        end_one();
        break;
      default:
        arrive();
    }
    // The host wakes it if it is due.
    if (b_.policy.wakeup() <= b_.e.now)
      b_.policy.wake(b_.e), collect();
    check();
  }

private:
  static batcher_config draw_settings() {
    batcher_config c;
    c.adaptive = true;
    c.max_items = *rc::gen::element<std::uint32_t>(1, 3, 50);
    c.min_items = *rc::gen::element<std::uint32_t>(1, c.max_items);
    c.max_delay = *rc::gen::element<duration>(0ns, 10ms, 1h);
    c.min_delay = *rc::gen::element<duration>(0ns, 0ns, c.max_delay);
    c.max_outstanding = *rc::gen::element<std::uint32_t>(1, 1000);
    c.max_waiting = 1000;
    c.rate_window = *rc::gen::element<duration>(10ms, 1s, 1h);
    return c;
  }

  // With the same settings on and off, its history is lost.
  batcher_config next_settings() {
    auto c = draw_settings();
    c.adaptive = *rc::gen::inRange(0, 4) > 0;
    if (!c.adaptive) {
      rates_ = {};
      rate_ = std::nullopt;
    }
    return c;
  }

  void advance(duration d) {
    auto end = b_.e.now + d;
    while (b_.policy.wakeup() <= end) {
      b_.e.now = std::max(b_.e.now, b_.policy.wakeup());
      b_.policy.wake(b_.e);
      RC_ASSERT(b_.policy.wakeup() > b_.e.now);
      collect();
    }
    b_.e.now = end;
  }

  void arrive() {
    const auto& c = b_.policy.config();
    if (c.adaptive)
      rate_ = rates_.next(b_.e.now, c.rate_window);
    joined_.push_back(b_.e.now);
    held_.push_back(b_.arrive());
    collect();
  }

  void end_one() {
    if (running_.empty())
      return;
    b_.succeed(running_.front());
    running_.erase(running_.begin());
    collect();
  }

  void collect() {
    for (auto& a : std::exchange(b_.e.actions, {}))
      b_.launched.push_back(a.index);
    while (!b_.launched.empty()) {
      auto items = b_.take();
      RC_ASSERT(!items.empty());
      RC_ASSERT(items.size() <= b_.policy.config().max_items);
      RC_ASSERT(std::equal(items.begin(), items.end(), held_.begin()));
      held_.erase(held_.begin(),
                  held_.begin() + static_cast<std::ptrdiff_t>(items.size()));
      running_.push_back(b_.last_taken);
    }
  }

  void check() {
    collect();
    const auto& c = b_.policy.config();
    auto target = target_of(c, rate_);
    RC_ASSERT(b_.count("target_items")
              == static_cast<std::int64_t>(target.items));
    if (running_.size() >= c.max_outstanding || held_.empty()) {
      RC_ASSERT(b_.policy.wakeup() == never);
      return;
    }
    RC_ASSERT(held_.size() < target.items);
    auto due = joined_.at(held_.front() - 1) + target.delay;
    RC_ASSERT(b_.policy.wakeup() == due);
    RC_ASSERT(due > b_.e.now);
  }

  batcher_rig b_;
  item_rate rates_;
  std::optional<double> rate_;
  std::vector<time_point> joined_;
  call_ids held_;
  std::vector<std::uint64_t> running_;
};

RC_GTEST_PROP(batcher_adaptive_model, wakes_when_its_target_is_reached, ()) {
  adaptive_driver d;
  auto steps = *rc::gen::inRange(1, 300);
  for (int i = 0; i < steps; ++i)
    d.step();
}

} // namespace
} // namespace caisson::test
