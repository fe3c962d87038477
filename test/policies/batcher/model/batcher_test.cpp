#include <policies/batcher/model/batcher_model.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

// -- the driver ---------------------------------------------------------------

batcher_config some_batcher() {
  batcher_config c;
  c.max_items = *rc::gen::element<std::uint32_t>(1, 2, 3, 7, 100'000);
  c.max_weight = *rc::gen::element<std::uint32_t>(0, 0, 1, 5, 6, 1'000'000'000);
  c.max_delay = *rc::gen::element<duration>(0ns, 1ns, 10ms, 1h);
  c.max_outstanding = *rc::gen::element<std::uint32_t>(1, 2, 3, 1000);
  if (c.max_delay > 0ns && *rc::gen::inRange(0, 3) == 0)
    c.when_blocked = blocked_items::reject;
  auto room = *rc::gen::element<std::uint32_t>(0, 1, 4, 900'000);
  c.max_waiting = c.max_items + room;
  c.deadline_margin = *rc::gen::element<duration>(0ns, 1ns, 5ms, 1h);
  return c;
}

// An element of a container that is not empty.
template <class Container>
auto any_element_of(const Container& xs) {
  auto n = static_cast<int>(xs.size());
  auto i = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, n));
  return *std::next(xs.begin(), i);
}

// Runs batcher and model side by side. Launched batches are taken late, so that
// calls are abandoned in between.
class driver {
public:
  explicit driver(const batcher_config& c) : real_(c) { model_.config = c; }

  void step() {
    using todo = void (driver::*)();
    auto what = *rc::gen::weightedElement<todo>({{60, &driver::arrive},
                                                 {25, &driver::advance},
                                                 {2, &driver::step_back},
                                                 {15, &driver::abandon},
                                                 {25, &driver::take},
                                                 {18, &driver::finish_one},
                                                 {2, &driver::confuse},
                                                 {1, &driver::drain},
                                                 {4, &driver::reconfigure},
                                                 {1, &driver::reset},
                                                 {5, &driver::end_one_below}});
    (this->*what)();
    compare();
  }

  // Every call has had exactly one end once all that is held has been sent.
  void finish() {
    drain();
    compare();
    while (!model_.in_flight.empty()) {
      while (!model_.launched.empty()) {
        take();
        compare();
      }
      finish_one();
      compare();
    }
    RC_ASSERT(calls_at(place::held).empty());
    RC_ASSERT(real_.count("waiting") == 0);
    RC_ASSERT(real_.count("outstanding") == 0);
    RC_ASSERT(real_.policy.wakeup() == never);
    RC_ASSERT(admitted_ == abandoned_ + sent_);
  }

private:
  [[nodiscard]] call_ids calls_at(place x) const {
    call_ids out;
    for (const auto& [id, call] : real_.calls)
      if (call.where == x)
        out.push_back(id);
    return out;
  }

  void arrive() {
    call_info call;
    auto distance = *rc::gen::element<duration>(-1h, 0ns, 1ns, 5ms, 5ms + 1ns,
                                                8ms, 15ms, 1h, 2h, unlimited);
    call.deadline = distance == unlimited ? never : real_.e.now + distance;
    call.permits = *rc::gen::element<std::uint32_t>(1, 1, 1, 2, 3, 7);
    std::uint64_t weight = call.permits;
    std::string identity;
    if (auto other = *rc::gen::inRange(0, 4); other < 3) {
      auto x = *rc::gen::element<std::uint64_t>(0, 1, 4, 1'000'000'000, ~0ull);
      weight = std::clamp<std::uint64_t>(x, 1, 1'000'000'000);
      identity = *rc::gen::element<std::string>("", "", "a", "b", "c");
      real_.policy.describe_next({.weight = x, .identity = identity});
    }
    auto id = real_.arrive(call);
    const auto& is = real_.calls.at(id);
    if (model_.arrive(id, call.deadline, weight, identity, real_.e.now)) {
      RC_ASSERT(is.where == place::held);
      RC_ASSERT(is.until == never);
      ++admitted_;
    } else {
      RC_ASSERT(is.where == place::rejected);
      RC_ASSERT(is.code == errc::queue_full);
    }
  }

  void advance() {
    auto d = *rc::gen::element<duration>(0ns, 1ns, 1ms, 4ms, 10ms, 2h);
    auto end = real_.e.now + d;
    for (;;) {
      auto due = real_.policy.wakeup();
      if (due > end)
        break;
      real_.e.now = std::max(real_.e.now, due);
      wake();
      RC_ASSERT(real_.policy.wakeup() > real_.e.now);
      compare();
    }
    real_.e.now = end;
  }

  void wake() {
    real_.policy.wake(real_.e);
    real_.work();
    model_.launch_all(real_.e.now);
  }

  void abandon() {
    auto held = calls_at(place::held);
    if (held.empty())
      return;
    auto id = any_element_of(held);
    real_.abandon(id);
    model_.abandon(id);
    ++abandoned_;
  }

  void take() {
    if (model_.launched.empty())
      return;
    auto batch = any_element_of(model_.launched).first;
    auto taken = real_.take(batch);
    RC_ASSERT(taken == model_.take(batch));
    RC_ASSERT(taken.size() <= 100'000u);
    sent_ += static_cast<int>(taken.size());
    if (!taken.empty())
      return;
    ++model_.counted["emptied"];
    model_.done(batch, real_.e.now);
  }

  // Ends a batch that was taken; its items may still be below.
  void finish_one() {
    std::vector<std::uint64_t> taken;
    for (auto batch : model_.in_flight)
      if (!model_.launched.contains(batch))
        taken.push_back(batch);
    if (taken.empty())
      return;
    auto batch = any_element_of(taken);
    real_.done(batch);
    model_.done(batch, real_.e.now);
  }

  // What a confused host may say: nothing comes of it.
  void confuse() {
    auto o = outcome::success();
    real_.policy.child_done(model_.last + 7, o, real_.e);
    real_.work();
    model_.launch_all(real_.e.now);
  }

  void step_back() {
    real_.e.now -= *rc::gen::element<duration>(1ns, 3ms, 1h);
    wake();
  }

  void drain() {
    real_.drain();
    model_.draining = true;
    model_.launch_all(real_.e.now);
  }

  void reconfigure() {
    model_.config = some_batcher();
    real_.reconfigure(model_.config);
    model_.launch_all(real_.e.now);
  }

  void reset() {
    RC_ASSERT(real_.command(operator_command::reset));
    model_.counted.clear();
  }

  void end_one_below() {
    auto below = calls_at(place::below);
    if (below.empty())
      return;
    auto id = any_element_of(below);
    auto how = *rc::gen::inRange(0, 3);
    if (how == 2) {
      real_.abandon(id);
      ++model_.counted["abandoned_in_flight"];
      return;
    }
    real_.finish(id, how == 0 ? outcome::success()
                              : outcome::failure(errc::batch_failed, true));
    RC_ASSERT(real_.where(id) == place::passed);
    ++model_.counted[how == 0 ? "items_succeeded" : "items_failed"];
  }

  void compare() {
    RC_ASSERT(std::exchange(real_.launched, {})
              == std::exchange(model_.just_launched, {}));
    // Items that came after the clock stepped back can be overdue when the one
    // before them leaves: at once is then any time that has passed.
    RC_ASSERT(std::max(real_.policy.wakeup(), real_.e.now)
              == std::max(model_.wakeup(), real_.e.now));
    std::vector<metric> ms;
    real_.policy.list_metrics(ms);
    for (auto& m : ms) {
      if (m.name == "waiting")
        RC_ASSERT(m.value == static_cast<std::int64_t>(model_.calls()));
      else if (m.name == "shards")
        RC_ASSERT(m.value == (model_.waiting.empty() ? 0 : 1));
      else if (m.name == "target_items")
        RC_ASSERT(m.value == model_.config.max_items);
      else if (m.name == "target_delay_us")
        RC_ASSERT(m.value == model_.config.max_delay / 1us);
      else if (m.name == "outstanding")
        RC_ASSERT(m.value
                  == static_cast<std::int64_t>(model_.in_flight.size()));
      else
        RC_ASSERT(m.value == model_.counted[std::string{m.name}]);
    }
  }

  batcher_rig real_;
  batcher_model model_;
  int admitted_ = 0;
  int abandoned_ = 0;
  int sent_ = 0;
};

RC_GTEST_PROP(batcher_model, agrees_with_its_model, ()) {
  driver d{some_batcher()};
  auto steps = *rc::gen::inRange(1, 600);
  for (int i = 0; i < steps; ++i)
    d.step();
  d.finish();
}

} // namespace
} // namespace caisson::test
