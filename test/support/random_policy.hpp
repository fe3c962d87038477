// A policy that decides by chance, within what policy.hpp allows.
#pragma once

#include <caisson/base/random.hpp>
#include <caisson/engine/layer.hpp>

#include <support/words.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// Passes, rejects, holds, throws, and asks its host for anything, also for
/// what makes no sense. It checks the order in which it is called.
class random_policy final : public policy {
public:
  static constexpr std::uint32_t targets = 2;

  explicit random_policy(std::uint64_t seed) : random_(seed) {}

  /// Nothing is to be asked for from now on.
  void calm() { asks_left_ = holds_left_ = wakes_left_ = 0; }

  /// What is left of calls and children.
  [[nodiscard]] std::size_t left() const {
    auto n = children_.size();
    for (const auto& [id, x] : calls_)
      n += x.may_be_gone ? 0 : 1;
    return n;
  }

  // -- implementation of policy -----------------------------------------------

  [[nodiscard]] std::string_view kind() const noexcept override {
    return "random";
  }

  decision admit(call_info& c, slot& notes, env& e) override {
    notes.start<call_id>(c.id);
    auto d = decide(e, 30);
    if (d.what == decision::kind::reject)
      return d;
    auto i = calls_.find(c.id);
    EXPECT_TRUE(i == calls_.end() || i->second.may_be_gone) << "admitted twice";
    // What was asked for while the call was not here may find it here again.
    calls_[c.id] = entry{d.what, to_reject_.count(c.id) > 0};
    known_.push_back(c.id);
    if (chance(15)) {
      auto limit = time_after(e.now, time());
      if (c.default_deadline || limit < c.deadline) {
        c.deadline = limit;
        c.default_deadline = false;
      }
    }
    ask(e);
    return d;
  }

  decision complete(call_info& c, slot& notes, outcome& o, env& e) override {
    auto& x = find(c, notes);
    auto d = decide(e, o.ok ? 5 : 40);
    x.decision_kind = d.what;
    if (d.what != decision::kind::hold)
      calls_.erase(c.id);
    ask(e);
    return d;
  }

  void abandon(call_info& c, slot& notes, const outcome&, bool,
               env& e) override {
    find(c, notes);
    calls_.erase(c.id);
    ask(e);
  }

  decision expire(call_info& c, slot& notes, env& e) override {
    auto& x = find(c, notes);
    EXPECT_EQ(x.decision_kind, decision::kind::hold);
    auto d = decide(e, 20);
    x.decision_kind = d.what;
    // A policy that throws is abandoned, unless it rejects.
    if (d.what == decision::kind::reject)
      calls_.erase(c.id);
    ask(e);
    return d;
  }

  decision deadline_passed(call_info& c, slot& notes, env& e) override {
    auto& x = find(c, notes);
    auto d = chance(80) ? decision::reject(errc::deadline_exceeded)
                        : decision::pass();
    x.may_be_gone = x.may_be_gone || d.what == decision::kind::reject;
    ask(e);
    return d;
  }

  decision child_done(call_id child, outcome& o, env& e) override {
    // One may be over before it is cancelled.
    EXPECT_EQ(children_.erase(child) + cancelled_.erase(child), 1u)
      << "notified of no child, or twice";
    EXPECT_TRUE(o.ok || o.code != 0);
    auto d = decide(e, 25);
    ask(e);
    return d;
  }

  [[nodiscard]] time_point wakeup() const override { return wake_at_; }

  void wake(env& e) override {
    wake_at_ = never;
    ask(e);
  }

  void drain(env& e) override { ask(e); }

  void list_metrics(std::vector<metric>&) const override {}

  bool command(policy_command, env& e) override {
    ask(e);
    return true;
  }

  [[nodiscard]] bool resends() const noexcept override { return true; }

private:
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  bool chance(unsigned percent) { return below(100) < percent; }
  duration time() { return std::chrono::milliseconds(below(20)); }

  struct entry {
    /// What was said of it last.
    decision::kind decision_kind = decision::kind::pass;
    /// This layer has ended it, if it is in force and held the call.
    bool may_be_gone = false;
  };

  entry& find(const call_info& c, slot& notes) {
    EXPECT_EQ(notes.as<call_id>(), c.id) << "another call's notes";
    EXPECT_TRUE(calls_.count(c.id)) << "a call that is not here";
    return calls_[c.id];
  }

  decision decide(env& e, unsigned holds) {
    if (chance(2))
      e.callback_threw("f", "x");
    if (chance(7))
      return decision::reject(errc::shed, time());
    if (holds_left_ == 0 || !chance(holds))
      return decision::pass();
    --holds_left_;
    return decision::hold(chance(20) ? never : time_after(e.now, time()));
  }

  call_id any_call() {
    return known_.empty()
             ? 0
             : known_[known_.size() - 1
                      - below(std::min(known_.size(), std::size_t{6}))];
  }

  call_id any_child() {
    auto i = children_.lower_bound(below(last_child_ + 1));
    return i == children_.end() ? last_child_ : *i;
  }

  void ask(env& e) {
    for (auto n = below(3); n > 0 && asks_left_ > 0; --n, --asks_left_)
      ask_once(e);
    if (chance(10) && wakes_left_ > 0) {
      --wakes_left_;
      wake_at_ = time_after(e.now, time() + std::chrono::microseconds(1));
    }
  }

  void ask_once(env& e) {
    switch (below(8)) {
      case 0:
        return e.resume(any_call());
      case 1: {
        auto id = any_call();
        if (auto i = calls_.find(id); i != calls_.end())
          i->second.may_be_gone = true;
        to_reject_.insert(id);
        return e.reject(id, errc::shed);
      }
      case 2:
        return e.answer(any_call(), 0);
      case 3:
        return e.join_child(any_child(), any_call());
      case 4: {
        auto child = any_child();
        e.cancel_child(child);
        if (children_.erase(child) > 0)
          cancelled_.insert(child);
        return;
      }
      default:
        return start_child(e);
    }
  }

  void start_child(env& e) {
    child_call c;
    for (auto n = below(4); n > 0; --n)
      c.parents.push_back(any_call());
    if (chance(30))
      c.target = static_cast<std::uint32_t>(below(targets));
    if (chance(30))
      c.deadline = time_after(e.now, time());
    c.permits = static_cast<std::uint32_t>(below(3));
    last_child_ = e.start_child(std::move(c));
    children_.insert(last_child_);
  }

  random_source random_;
  std::map<call_id, entry> calls_;
  std::vector<call_id> known_;
  std::set<call_id> to_reject_;
  std::set<call_id> children_;
  std::set<call_id> cancelled_;
  call_id last_child_ = 0;
  time_point wake_at_ = never;
  unsigned asks_left_ = 60;
  unsigned holds_left_ = 100;
  unsigned wakes_left_ = 20;
};

} // namespace caisson::test
