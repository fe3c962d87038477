// A throttle against a model that keeps each call in a list.
#include <policies/throttle/model/throttling.hpp>
#include <support/operations.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

throttle_config some_throttle() {
  throttle_config c;
  c.window = *rc::gen::element<duration>(1s, 24s, 2min, 24h);
  c.multiplier = *rc::gen::element(1.0, 1.5, 2.0, 100.0);
  c.max_rejection = *rc::gen::element(0.0, 0.5, 0.8, 0.99);
  c.min_rate = *rc::gen::element(0u, 1u, 3u, 1'000'000u);
  c.pass_after = *rc::gen::element<duration>(1ms, 1s, unlimited);
  return c;
}

/// What a throttle does, from the list of all calls that have ended.
class naive_throttle {
public:
  explicit naive_throttle(throttle_config c) : c_(std::move(c)) {}

  struct event {
    duration at;
    bool accepted;
  };

  duration now = 0ns;
  std::vector<event> ended;
  std::map<std::string, std::int64_t> count;
  bool throttling = false;

  // How long a step is, rounded up.
  [[nodiscard]] duration step() const { return (c_.window + 23ns) / 24; }

  [[nodiscard]] std::pair<std::int64_t, std::int64_t> in_window() const {
    std::int64_t requests = 0;
    std::int64_t accepts = 0;
    for (const auto& x : ended)
      if (now / step() - x.at / step() < 24) {
        ++requests;
        accepts += x.accepted ? 1 : 0;
      }
    return {requests, accepts};
  }

  [[nodiscard]] double rejection() const {
    auto [requests, accepts] = in_window();
    auto p = (static_cast<double>(requests)
              - c_.multiplier * static_cast<double>(accepts))
             / static_cast<double>(requests + 1);
    return std::min(std::max(0.0, p), c_.max_rejection);
  }

  bool lets_pass() {
    auto p = rejection();
    if (p == 0)
      return passes("passed");
    auto lucky = same_.uniform() >= p;
    auto promised = c_.min_rate > 0 && credit_ >= 1'000'000'000;
    if (lucky || promised) {
      credit_ = std::max<std::int64_t>(0, credit_ - 1'000'000'000);
      return passes(lucky ? "passed" : "passed_by_rate");
    }
    if (c_.pass_after != unlimited && now - last_pass_ >= c_.pass_after)
      return passes("forced");
    ++count["rejected"];
    ended.push_back({now, false});
    last_rejection_ = now;
    throttling = true;
    return false;
  }

  void end(bool accepted) {
    ++count[accepted ? "accepted" : "not_accepted"];
    ended.push_back({now, accepted});
  }

  void advance(duration d) {
    now += d;
    credit_ = with_rate(credit_, d);
    if (throttling && now - last_rejection_ >= step())
      throttling = false;
  }

  void reconfigure(const throttle_config& c) {
    auto before = step();
    auto old_now = now / before;
    c_ = c;
    credit_ = std::min(credit_, full());
    if (step() == before)
      return;
    // What a step holds counts from its beginning now.
    std::vector<event> kept;
    for (auto x : ended)
      if (old_now - x.at / before < 24)
        kept.push_back({x.at / before * before, x.accepted});
    ended = kept;
  }

  void reset() {
    ended.clear();
    count.clear();
    throttling = false;
    credit_ = full();
  }

private:
  bool passes(const std::string& why) {
    ++count[why];
    last_pass_ = now;
    return true;
  }

  // A token is worth a billion.
  [[nodiscard]] std::int64_t full() const {
    return std::max(c_.min_rate, 1u) * std::int64_t{1'000'000'000};
  }

  [[nodiscard]] std::int64_t with_rate(std::int64_t credit, duration d) const {
    auto rate = std::int64_t{std::max(c_.min_rate, 1u)};
    if (credit >= full() || d >= 1s)
      return std::max(full(), credit);
    auto next = credit + d.count() * rate;
    return next < full() + rate ? next : full();
  }

  throttle_config c_;
  random_source same_{7};
  std::int64_t credit_ = full();
  duration last_pass_ = 0ns;
  duration last_rejection_ = 0ns;
};

class throttle_run {
public:
  explicit throttle_run(std::vector<throttle_config> all)
    : all_(std::move(all)), model_(all_.front()), real_(all_.front()) {
    // Both count from the zero of the clock.
    model_.now = solo<throttle>::start().time_since_epoch();
  }

  void step(const operation& x) {
    switch (x.kind) {
      case 0:
      case 1:
      case 2:
        for (auto i = 0u; i <= x.how % 4; ++i)
          arrive();
        break;
      case 3:
        end(x, outcome::success(), true);
        break;
      case 4:
      case 5:
        end(x, outcome::failure(errc::shed, false), false);
        break;
      case 6:
        leave(x);
        break;
      case 7:
      case 8:
        advance(pick(steps, x.how));
        break;
      case 9:
        if (x.which % 3 == 0)
          change(x);
        break;
    }
    compare();
  }

private:
  static constexpr std::array<duration, 9> steps{
    0ns, 1ns, 1ms, 41'666'667ns, 333ms, 1s - 1ns, 1s, 5s, 1min};

  void arrive() {
    auto passes = model_.lets_pass();
    auto id = real_.arrive();
    RC_ASSERT((real_.where(id) == place::below) == passes);
    if (passes)
      below_.push_back(id);
    else
      RC_ASSERT(real_.calls.at(id).code == errc::throttled);
  }

  call_id take(const operation& x) {
    auto i = below_.begin()
             + static_cast<std::ptrdiff_t>(x.which % below_.size());
    auto id = *i;
    below_.erase(i);
    return id;
  }

  void end(const operation& x, const outcome& o, bool accepted) {
    if (below_.empty())
      return;
    real_.finish(take(x), o);
    model_.end(accepted);
  }

  // Cut off by its deadline, called off, or neither for nor against.
  void leave(const operation& x) {
    if (below_.empty())
      return;
    auto id = take(x);
    if (x.how % 3 == 0) {
      real_.fail(id, errc::draining, false);
      ++model_.count["ignored"];
      return;
    }
    auto late = x.how % 3 == 1;
    real_.abandon(id, late ? errc::deadline_exceeded : errc::cancelled);
    ++model_.count["abandoned"];
    if (late)
      model_.end(false);
    else
      ++model_.count["ignored"];
  }

  void advance(duration d) {
    real_.advance(d);
    model_.advance(d);
  }

  void change(const operation& x) {
    if (x.how % 4 == 0) {
      real_.policy.command(operator_command::reset, real_.e);
      model_.reset();
      return;
    }
    const auto& c = pick(all_, x.how);
    real_.policy.reconfigure(c, real_.e);
    model_.reconfigure(c);
  }

  void compare() {
    for (auto name : enum_names<throttle_counter>::value)
      RC_ASSERT(real_.count(name) == model_.count[std::string{name}]);
    RC_ASSERT((real_.policy.state() == "throttling") == model_.throttling);
  }

  std::vector<throttle_config> all_;
  naive_throttle model_;
  solo<throttle> real_;
  std::vector<call_id> below_;
};

RC_GTEST_PROP(throttle_property, does_what_a_naive_model_does, ()) {
  auto all = *rc::gen::container<std::vector<throttle_config>>(
    3, rc::gen::exec(some_throttle));
  throttle_run r{all};
  for (const auto& op : *operations(10))
    r.step(op);
}

} // namespace
} // namespace caisson::test
