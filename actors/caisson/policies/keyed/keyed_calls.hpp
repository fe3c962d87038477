// The calls and children that the policies of all keys have.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/policies/keyed/key_table.hpp>
#include <caisson/policy/policy.hpp>

#include <cstddef>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace caisson::detail {

/// Knows which calls policies hold, which have none, and whose the children
/// are; and counts in each entry what keeps it in use.
class keyed_calls {
public:
  /// To be called before anything else at each instant.
  void see(time_point now) {
    if (!let_go_.empty() && now != let_go_at_)
      let_go_.clear();
    let_go_at_ = now;
  }

  // -- calls ------------------------------------------------------------------

  /// The call passes without a key, and no policy has it.
  void pass(call_id call) {
    auto is_new = passing_.insert(call).second;
    CAISSON_ENSURE(is_new, "call {} passes twice at once", call);
  }

  [[nodiscard]] bool passes(call_id call) const {
    return passing_.contains(call);
  }

  /// Whether no policy has this call: it passed without a key, or its policy
  /// has just rejected it. Forgets that.
  [[nodiscard]] bool is_gone(call_id call) {
    return (!passing_.empty() && passing_.erase(call) > 0)
           || (!let_go_.empty() && let_go_.erase(call) > 0);
  }

  /// The call arrives, maybe under the number of one that has been let go.
  void arrive(call_id call) {
    if (!let_go_.empty())
      let_go_.erase(call);
  }

  /// The policy has admitted a call.
  static void enter(key_entry& x) {
    ++x.busy;
    ++x.admitted;
  }

  void leave(key_entry& x, call_id call) {
    go_on(call);
    less_busy(x);
  }

  /// The policy holds the call, of which it may have asked something already,
  /// from the request `first` on.
  void hold(key_entry& x, call_id call, const env& e, std::size_t first);

  /// Whether a policy holds the call, or would if the host acted on that.
  [[nodiscard]] bool holds(call_id call) const { return held_.contains(call); }

  /// The call is held no more.
  void go_on(call_id call) {
    if (!held_.empty())
      held_.erase(call);
  }

  /// Takes note of what the policy has asked for, from the request `first` on.
  void follow_all(key_entry& x, const env& e, std::size_t first);

  // -- children ---------------------------------------------------------------

  void add_child(call_id child, key_entry& x) {
    if (children_.emplace(child, &x).second)
      ++x.busy;
  }

  /// Whose child that is, which has ended and is forgotten; null if it is none.
  /// The entry stays in use until `end_child`.
  [[nodiscard]] key_entry* take_child(call_id child);

  static void end_child(key_entry& x) { less_busy(x); }

  // -- holding the host open --------------------------------------------------

  /// A policy that holds the host open is in use, like one that has a child.
  /// Returns whether it did not do so before, or does so no more.
  bool hold_open(key_entry& x, bool on);

  /// Whether a policy does.
  [[nodiscard]] bool holds_open() const noexcept { return holding_open_ > 0; }

private:
  void follow(key_entry& x, const env::action& a);

  // A call or a child of the entry is over.
  static void less_busy(key_entry& x) {
    CAISSON_ENSURE(x.busy > 0, "the key {} has no call", x.key);
    --x.busy;
  }

  // The children of all policies, as long as they run.
  std::unordered_map<call_id, key_entry*> children_;
  // How many policies hold the host open.
  std::size_t holding_open_ = 0;
  // Calls without a key that no policy has.
  std::unordered_set<call_id> passing_;
  // Calls that policies hold; and those that they have rejected at this
  // instant, whose end the host may still report to them.
  std::unordered_set<call_id> held_;
  std::unordered_set<call_id> let_go_;
  time_point let_go_at_ = time_point::min();
};

} // namespace caisson::detail
