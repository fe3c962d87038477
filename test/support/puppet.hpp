// A policy whose every decision a test writes, and its layer.
#pragma once

#include <caisson/engine/layer.hpp>

#include <support/words.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// Passes everything, unless a function says otherwise; writes down each call
/// to it in `seen`:
///
///     admit, complete ok, complete worker_down, executed, expire, child ok ...
class puppet final : public policy {
public:
  std::function<decision(call_info&, slot&, env&)> on_admit, on_expire;
  std::function<decision(call_info&, slot&, env&)> on_deadline;
  std::function<decision(call_info&, slot&, outcome&, env&)> on_complete;
  std::function<void(call_info&, const outcome&, env&)> on_abandon;
  std::function<decision(call_id, outcome&, env&)> on_child;
  std::function<void(env&)> on_wake, on_drain;
  std::function<bool(operator_command, env&)> on_command;
  time_point wake_at = never;
  bool keeps_content = false;
  caisson::circuit says = caisson::circuit::closed;
  lines seen;
  /// How many calls it has at present.
  int inside = 0;

  lines take() { return std::exchange(seen, {}); }

  // -- implementation of policy -----------------------------------------------

  [[nodiscard]] std::string_view kind() const noexcept override {
    return "puppet";
  }

  decision admit(call_info& c, slot& notes, env& e) override {
    seen.emplace_back("admit");
    auto d = on_admit ? on_admit(c, notes, e) : decision::pass();
    if (d.what != decision::kind::reject)
      ++inside;
    return d;
  }

  decision complete(call_info& c, slot& notes, outcome& o, env& e) override {
    seen.push_back("complete " + words_of(o));
    auto d = on_complete ? on_complete(c, notes, o, e) : decision::pass();
    if (d.what != decision::kind::hold)
      --inside;
    return d;
  }

  void abandon(call_info& c, slot&, const outcome& why, bool in_flight,
               env& e) override {
    seen.push_back("abandon " + words_of(why)
                   + (in_flight ? ", in flight" : ""));
    --inside;
    if (on_abandon)
      on_abandon(c, why, e);
  }

  decision expire(call_info& c, slot& notes, env& e) override {
    seen.emplace_back("expire");
    auto d = on_expire ? on_expire(c, notes, e) : decision::pass();
    if (d.what == decision::kind::reject)
      --inside;
    return d;
  }

  decision deadline_passed(call_info& c, slot& notes, env& e) override {
    seen.emplace_back("deadline");
    auto d = on_deadline ? on_deadline(c, notes, e)
                         : decision::reject(errc::deadline_exceeded);
    if (d.what != decision::kind::pass)
      --inside;
    return d;
  }

  decision child_done(call_id child, outcome& o, env& e) override {
    seen.push_back("child " + words_of(o));
    return on_child ? on_child(child, o, e) : decision::pass();
  }

  void attempt_timed_out(std::string_view, env&) override {
    seen.emplace_back("timeout");
  }

  [[nodiscard]] caisson::circuit
  circuit(std::string_view) const noexcept override {
    return says;
  }

  [[nodiscard]] time_point wakeup() const override { return wake_at; }

  void wake(env& e) override {
    seen.emplace_back("wake");
    wake_at = never;
    if (on_wake)
      on_wake(e);
  }

  void drain(env& e) override {
    seen.emplace_back("drain");
    if (on_drain)
      on_drain(e);
  }

  void list_metrics(std::vector<metric>& out) const override {
    out.push_back({"inside", inside, true});
  }

  bool command(policy_command c, env& e) override {
    seen.push_back("command " + std::string{name_of(c.what)});
    return on_command && on_command(c.what, e);
  }

  [[nodiscard]] bool resends() const noexcept override { return keeps_content; }
};

/// A puppet with what a test does with content.
class puppet_layer final : public layer {
public:
  using messages = std::vector<caf::message>;

  explicit puppet_layer(std::string name, mode m = mode::enforce)
    : layer(std::move(name), m) {}

  /// Requests for permits pass it by.
  bool has_content = false;
  std::function<std::optional<caf::message>(const caf::message&, env&)>
    on_prefilter;
  std::function<void(const caf::message&, env&)> on_examine;
  std::function<caf::message(call_id, messages, env&)> on_content;
  std::function<std::optional<messages>(caf::message&, std::size_t, env&)>
    on_split;
  std::vector<std::string> values;
  std::function<void(env&)> on_change;
  /// The only setting, with which it goes on in another stack; -1: it has none,
  /// and does not go on.
  int number = -1;
  /// Called when the layer is dropped.
  std::function<void()> on_end;

  ~puppet_layer() override {
    if (on_end)
      on_end();
  }

  // -- implementation of layer ------------------------------------------------

  puppet& machine() override { return machine_; }

  problems change(const settings&, env& e) override {
    if (on_change)
      on_change(e);
    return {};
  }

  [[nodiscard]] std::vector<field_row> config_rows() const override {
    if (number < 0)
      return {};
    return {{.key = "number", .value = std::to_string(number)}};
  }

  [[nodiscard]] bool is_compatible(const layer& next) const override {
    auto* x = dynamic_cast<const puppet_layer*>(&next);
    return x && number >= 0 && x->number >= 0;
  }

  void adopt(layer& next, env& e) override {
    number = static_cast<puppet_layer&>(next).number;
    if (on_change)
      on_change(e);
  }

  void retire() override { machine_.seen.emplace_back("retire"); }

  [[nodiscard]] bool handles_content() const override { return has_content; }

  void examine(const caf::message& x, env& e) override {
    if (on_examine)
      on_examine(x, e);
  }

  std::optional<caf::message> prefilter(const caf::message& x,
                                        env& e) override {
    return on_prefilter ? on_prefilter(x, e) : std::nullopt;
  }

  caf::message child_content(call_id id, messages parents, env& e) override {
    return on_content ? on_content(id, std::move(parents), e)
                      : layer::child_content(id, std::move(parents), e);
  }

  std::optional<messages> split(call_id, caf::message& x, std::size_t n,
                                env& e) override {
    return on_split ? on_split(x, n, e) : std::nullopt;
  }

  [[nodiscard]] std::vector<caf::actor> targets() const override {
    return std::vector<caf::actor>(target_count_);
  }

  [[nodiscard]] caf::message value(std::uint64_t i) const override {
    return text(values.at(i));
  }

private:
  friend class puppets;

  puppet machine_;
  std::size_t target_count_ = 0;
};

/// The layers of a stack, from the outside in. They live until the engine that
/// gets them is stopped or ends.
class puppets {
public:
  puppet_layer& add(std::string name, std::size_t targets = 0,
                    mode m = mode::enforce) {
    auto x = std::make_unique<puppet_layer>(std::move(name), m);
    x->target_count_ = targets;
    auto& added = *x;
    all_.push_back(std::move(x));
    return added;
  }

  /// A layer of that type; returns its policy.
  template <class Layer, class... Ts>
  auto& add_layer(Ts&&... xs) {
    auto x = std::make_unique<Layer>(std::forward<Ts>(xs)...);
    auto& machine = x->machine();
    all_.push_back(std::move(x));
    return machine;
  }

  operator std::vector<std::unique_ptr<layer>>() && { return std::move(all_); }

private:
  std::vector<std::unique_ptr<layer>> all_;
};

/// What a user's function that throws looks like to an env.
inline void throws(env& e) {
  e.callback_threw("function", "boom");
}

} // namespace caisson::test
