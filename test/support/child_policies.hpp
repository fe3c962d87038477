// Small policies that are made of child calls.
#pragma once

#include <support/puppet.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// What the policies here do not need of `policy`.
class small_policy : public policy {
public:
  decision complete(call_info&, slot&, outcome&, env&) override {
    return decision::pass();
  }
  void abandon(call_info&, slot&, const outcome&, bool, env&) override {}
  void list_metrics(std::vector<metric>&) const override {}
  bool command(policy_command, env&) override { return false; }
  [[nodiscard]] bool resends() const noexcept override { return true; }
};

/// First good of two: asks again after a delay, or when the first has failed,
/// and takes the first good answer; or the last error.
class hedger final : public small_policy {
public:
  /// `with_errors`: the first outcome counts, good or not.
  explicit hedger(duration delay, bool with_errors = false)
    : delay_(delay), with_errors_(with_errors) {}

  /// How many children were cancelled because their parents were gone, and how
  /// many calls are held.
  int losers = 0;
  [[nodiscard]] std::size_t held() const { return races_.size(); }
  [[nodiscard]] std::size_t running() const { return parents_.size(); }

  [[nodiscard]] std::string_view kind() const noexcept override {
    return "hedger";
  }

  decision admit(call_info& c, slot&, env& e) override {
    run(c.id, e);
    return decision::hold(time_after(e.now, delay_));
  }

  decision expire(call_info& c, slot&, env& e) override {
    run(c.id, e);
    return decision::hold();
  }

  decision child_done(call_id child, outcome& o, env& e) override {
    auto parent = parents_.at(child);
    parents_.erase(child);
    auto i = races_.find(parent);
    if (i == races_.end()) {
      ++losers;
      return decision::pass();
    }
    auto& both = i->second;
    --both.running;
    auto is_over = o.ok || with_errors_;
    if (!is_over && both.started < 2)
      run(parent, e);
    if (!is_over && both.running > 0)
      return decision::hold();
    races_.erase(i);
    return decision::pass();
  }

  void abandon(call_info& c, slot&, const outcome&, bool, env&) override {
    races_.erase(c.id);
  }

private:
  struct race {
    int started = 0;
    int running = 0;
  };

  void run(call_id parent, env& e) {
    auto& both = races_[parent];
    if (both.started == 2)
      return;
    ++both.started;
    ++both.running;
    parents_[e.start_child({.parents = {parent}})] = parent;
  }

  duration delay_;
  bool with_errors_;
  std::map<call_id, race> races_;
  std::map<call_id, call_id> parents_;
};

/// Looks between two attempts: asks the layer's own target whether what has
/// failed was done. `done` is the answer; `not done` makes another attempt.
class verifying_policy final : public small_policy {
public:
  [[nodiscard]] std::string_view kind() const noexcept override {
    return "verifier";
  }

  decision admit(call_info&, slot& notes, env&) override {
    notes.start<bool>(false);
    return decision::pass();
  }

  decision complete(call_info& c, slot&, outcome& o, env& e) override {
    if (o.ok || !o.may_have_executed)
      return decision::pass();
    verifications_[e.start_child({.parents = {c.id}, .target = 0})] = c.id;
    return decision::hold();
  }

  decision child_done(call_id child, outcome& o, env& e) override {
    auto parent = verifications_.at(child);
    verifications_.erase(child);
    auto* reply = value_of<std::string>(o);
    if (!reply)
      return decision::reject(errc::worker_down);
    if (*reply == "done")
      return decision::pass();
    e.resume(parent);
    return decision::hold();
  }

private:
  std::map<call_id, call_id> verifications_;
};

/// Many parents, one child: calls with one key share what is in flight.
class single_flight final : public small_policy {
public:
  [[nodiscard]] std::size_t flying() const { return flights_.size(); }

  [[nodiscard]] std::string_view kind() const noexcept override {
    return "single_flight";
  }

  decision admit(call_info& c, slot&, env& e) override {
    auto [i, fresh] = flights_.try_emplace(c.key);
    if (fresh) {
      i->second = e.start_child({.parents = {c.id}});
      keys_[i->second] = c.key;
    } else {
      e.join_child(i->second, c.id);
    }
    return decision::hold();
  }

  decision child_done(call_id child, outcome&, env&) override {
    flights_.erase(keys_.at(child));
    keys_.erase(child);
    return decision::pass();
  }

private:
  std::map<std::string, call_id> flights_;
  std::map<call_id, std::string> keys_;
};

/// The layer of one of these policies.
template <class Policy>
class small_layer final : public layer {
public:
  template <class... Ts>
  explicit small_layer(std::size_t targets, Ts&&... xs)
    : layer(std::string{Policy{xs...}.kind()}, mode::enforce),
      machine_(std::forward<Ts>(xs)...), targets_(targets) {}

  Policy& machine() override { return machine_; }
  problems change(const settings&, env&) override { return {}; }
  [[nodiscard]] std::vector<field_row> config_rows() const override {
    return {};
  }
  [[nodiscard]] bool handles_content() const override { return true; }
  [[nodiscard]] std::vector<caf::actor> targets() const override {
    return std::vector<caf::actor>(targets_);
  }

private:
  Policy machine_;
  std::size_t targets_;
};

} // namespace caisson::test
