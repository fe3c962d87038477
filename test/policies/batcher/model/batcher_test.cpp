#include <policies/batcher/model/batcher_model.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
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
auto any_of(const Container& xs) {
  auto n = static_cast<int>(xs.size());
  auto i = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, n));
  return *std::next(xs.begin(), i);
}

// Numbers children from 1 on, as the model does its batches.
struct naming_env final : env {
  using env::env;
  std::vector<call_ids> children;

protected:
  call_id make_child(child_call c) override {
    children.push_back(std::move(c.parents));
    return children.size();
  }
};

// Runs batcher and model side by side. Launched batches are taken late, so that
// calls are abandoned in between.
class driver {
public:
  explicit driver(const batcher_config& c) : policy_(c), e_(start(), random_) {
    model_.config = c;
  }

  static time_point start() { return time_point{} + 1000h; }

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
      while (!model_.launched.empty())
        take();
      finish_one();
      compare();
    }
    RC_ASSERT(held_.empty());
    RC_ASSERT(gauge("waiting") == 0);
    RC_ASSERT(gauge("outstanding") == 0);
    RC_ASSERT(policy_.wakeup() == never);
    RC_ASSERT(admitted_ == abandoned_ + sent_);
  }

private:
  void arrive() {
    call_info call;
    call.id = ++last_call_;
    auto distance = *rc::gen::element<duration>(-1h, 0ns, 1ns, 5ms, 5ms + 1ns,
                                                8ms, 15ms, 1h, 2h, unlimited);
    call.deadline = distance == unlimited ? never : e_.now + distance;
    call.permits = *rc::gen::element<std::uint32_t>(1, 1, 1, 2, 3, 7);
    std::uint64_t weight = call.permits;
    std::string identity;
    if (auto other = *rc::gen::inRange(0, 4); other < 3) {
      auto x = *rc::gen::element<std::uint64_t>(0, 1, 4, 1'000'000'000, ~0ull);
      weight = std::clamp<std::uint64_t>(x, 1, 1'000'000'000);
      identity = *rc::gen::element<std::string>("", "", "a", "b", "c");
      policy_.describe_next({.weight = x, .identity = identity});
    }
    slot notes;
    auto d = policy_.admit(call, notes, e_);
    if (model_.arrive(call.id, call.deadline, weight, identity, e_.now)) {
      RC_ASSERT(d.what == decision::kind::hold);
      RC_ASSERT(d.until == never);
      calls_[call.id] = {call, notes};
      held_.insert(call.id);
      ++admitted_;
    } else {
      RC_ASSERT(d.what == decision::kind::reject);
      RC_ASSERT(d.code == errc::queue_full);
    }
  }

  void advance() {
    auto d = *rc::gen::element<duration>(0ns, 1ns, 1ms, 4ms, 10ms, 2h);
    auto end = e_.now + d;
    for (;;) {
      auto due = policy_.wakeup();
      if (due > end)
        break;
      e_.now = std::max(e_.now, due);
      wake();
      RC_ASSERT(policy_.wakeup() > e_.now);
      compare();
    }
    e_.now = end;
  }

  void wake() {
    policy_.wake(e_);
    model_.launch_all(e_.now);
  }

  void abandon() {
    if (held_.empty())
      return;
    auto id = any_of(held_);
    held_.erase(id);
    auto& [call, notes] = calls_.at(id);
    policy_.abandon(
      call, notes, outcome::failure(errc::deadline_exceeded, false), false, e_);
    model_.abandon(id);
    ++abandoned_;
  }

  void take() {
    if (model_.launched.empty())
      return;
    auto batch = any_of(model_.launched).first;
    call_ids taken;
    for (auto id : e_.children.at(batch - 1))
      if (held_.erase(id) > 0)
        taken.push_back(id);
    RC_ASSERT(taken == model_.take(batch));
    RC_ASSERT(taken.size() <= 100'000u);
    for (auto id : taken) {
      below_.insert(id);
      ++sent_;
    }
    if (!taken.empty())
      return;
    ++model_.counted["emptied"];
    end(batch, outcome::failure(errc::cancelled, false));
  }

  void end(std::uint64_t batch, outcome o) {
    RC_ASSERT(policy_.child_done(batch, o, e_).what == decision::kind::pass);
    model_.done(batch, e_.now);
  }

  // Ends a batch that was taken; its items may still be below.
  void finish_one() {
    std::vector<std::uint64_t> taken;
    for (auto batch : model_.in_flight)
      if (!model_.launched.contains(batch))
        taken.push_back(batch);
    if (taken.empty())
      return;
    end(any_of(taken), outcome::success());
  }

  // What a confused host may say: nothing comes of it.
  void confuse() {
    auto o = outcome::success();
    policy_.child_done(model_.last + 7, o, e_);
    model_.launch_all(e_.now);
  }

  void step_back() {
    e_.now -= *rc::gen::element<duration>(1ns, 3ms, 1h);
    wake();
  }

  void drain() {
    policy_.drain(e_);
    model_.draining = true;
    model_.launch_all(e_.now);
  }

  void reconfigure() {
    model_.config = some_batcher();
    policy_.reconfigure(model_.config, e_);
    model_.launch_all(e_.now);
  }

  void reset() {
    RC_ASSERT(policy_.command(operator_command::reset, e_));
    model_.counted.clear();
  }

  void end_one_below() {
    if (below_.empty())
      return;
    auto id = any_of(below_);
    below_.erase(id);
    auto& [call, notes] = calls_.at(id);
    auto how = *rc::gen::inRange(0, 3);
    auto o = how == 0 ? outcome::success()
                      : outcome::failure(errc::batch_failed, true);
    if (how == 2) {
      policy_.abandon(call, notes, o, true, e_);
      ++model_.counted["abandoned_in_flight"];
    } else {
      RC_ASSERT(policy_.complete(call, notes, o, e_).what
                == decision::kind::pass);
      ++model_.counted[o.ok ? "items_succeeded" : "items_failed"];
    }
  }

  std::int64_t gauge(std::string_view name) {
    std::vector<metric> ms;
    policy_.list_metrics(ms);
    auto i = std::find_if(ms.begin(), ms.end(),
                          [&](const auto& m) { return m.name == name; });
    return i->value;
  }

  void compare() {
    std::vector<std::uint64_t> launched;
    for (auto& a : std::exchange(e_.actions, {})) {
      RC_ASSERT(a.what == env::action::kind::start_child);
      launched.push_back(a.index);
    }
    RC_ASSERT(launched == std::exchange(model_.just_launched, {}));
    // Items that came after the clock stepped back can be overdue when the one
    // before them leaves: at once is then any time that has passed.
    RC_ASSERT(std::max(policy_.wakeup(), e_.now)
              == std::max(model_.wakeup(), e_.now));
    std::vector<metric> ms;
    policy_.list_metrics(ms);
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

  batcher policy_;
  batcher_model model_;
  random_source random_;
  naming_env e_;
  std::map<call_id, std::pair<call_info, slot>> calls_;
  std::set<call_id> held_;
  std::set<call_id> below_;
  call_id last_call_ = 0;
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
