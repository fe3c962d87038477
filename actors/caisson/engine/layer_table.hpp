// The layers of an engine and the policy call queue.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/engine/durations.hpp>
#include <caisson/engine/engine_host.hpp>
#include <caisson/engine/event_hub.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/engine/layer_moves.hpp>
#include <caisson/engine/mailbox_probe.hpp>
#include <caisson/engine/secret_source.hpp>
#include <caisson/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace caisson {
struct gate_config;
}

namespace caisson::detail {

class layer_table;

/// What layers see of their host.
class layer_env final : public env {
public:
  /// Names a child that layer `k` wants.
  using child_maker = std::function<call_id(std::size_t k, child_call)>;
  /// Finds a call that layer `k` has; null if it has not.
  using call_finder = std::function<const call_info*(std::size_t k, call_id)>;

  layer_env(layer_table& table, random_source& r, secret_source& secrets)
    : env(time_point{}, r), table_(table), secrets_(secrets) {}

  [[nodiscard]] const call_info* find(call_id call) const override {
    return find_call ? find_call(layer, call) : nullptr;
  }
  [[nodiscard]] const wide_histogram* durations(measured what,
                                                bool ok) const override;
  std::uint64_t secret_bits() override { return secrets_.bits(); }
  std::optional<duration> probe_mailbox(time_point since) override {
    return mailbox ? mailbox->ask(since, now) : std::nullopt;
  }
  void hold_open(bool x) override;
  void emit(const event_info& x) override;
  void emit_wait(call_id call, std::size_t running, std::size_t waiting,
                 std::string_view key) override;
  void callback_threw(std::string_view function,
                      std::string_view what) override;
  [[nodiscard]] caisson::circuit circuit(std::string_view key) const override;

  /// Whose turn it is.
  std::size_t layer = 0;
  /// Which function of the user's threw during this turn, and what.
  std::optional<std::string> failure;
  child_maker children;
  call_finder find_call;
  const detail::durations* times = nullptr;
  const gate_config* config = nullptr;
  mailbox_probe* mailbox = nullptr;

protected:
  call_id make_child(child_call c) override {
    return children(layer, std::move(c));
  }

private:
  layer_table& table_;
  secret_source& secrets_;
};

/// A policy with what the engine keeps about it.
struct layer_entry {
  std::unique_ptr<layer> owner;
  policy* machine = nullptr;
  time_point wake_at = never;
  /// As the layer says.
  bool handles_content = false;
  bool weighs = false;
  bool may_wake = true;
  /// The same, at present: the host must stay.
  bool holds_open = false;
  std::int64_t observed_passes = 0;
  /// The engine's numbers of its targets.
  std::vector<target_id> targets = {};
  /// The first plan with this layer, and the first one without it.
  std::uint32_t since = 0;
  std::uint32_t until = in_force;

  static constexpr std::uint32_t in_force = 0xffffffff;

  /// Whether a call with that plan passes it.
  [[nodiscard]] bool serves(std::uint32_t plan) const noexcept {
    return plan - since < until - since;
  }

  /// Calls that come now do not pass it.
  [[nodiscard]] bool retired() const noexcept { return until != in_force; }

  /// In no stack any more, but calls that come now still pass it.
  [[nodiscard]] bool leaving() const noexcept {
    return owner->leaving() && !retired();
  }

  /// In no stack any more.
  [[nodiscard]] bool is_gone() const noexcept {
    return owner->leaving() || retired();
  }

  /// Whether it serves the newest plan that `other` serves.
  [[nodiscard]] bool stands_with(const layer_entry& other) const noexcept {
    return serves(other.until - 1);
  }
};

/// What the table says of a layer. The targets are the host's to number.
[[nodiscard]] layer_entry entry_of(std::unique_ptr<layer> x);

/// Something that a layer asked for.
struct layer_request {
  std::size_t layer;
  env::action what;
};

/// Layers get their turns through `run`, which collects what they ask for.
class layer_table {
public:
  layer_table(std::vector<std::unique_ptr<layer>> layers, event_hub& events,
              random_source& r, secret_source& secrets);

  layer_table(const layer_table&) = delete;
  layer_table& operator=(const layer_table&) = delete;

  /// How many layers there are, those included that are retired.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  layer_entry& operator[](std::size_t k) noexcept { return entries_[k]; }
  const layer_entry& operator[](std::size_t k) const noexcept {
    return entries_[k];
  }

  /// All of them. They stay where they are until `rearrange` or `clear`.
  [[nodiscard]] std::span<layer_entry> entries() noexcept { return entries_; }

  [[nodiscard]] layer_env& context() noexcept { return env_; }
  [[nodiscard]] time_point now() const noexcept { return env_.now; }

  /// Whether some layer may send a call again: its content must be kept.
  [[nodiscard]] bool resends() const noexcept { return resends_; }

  /// The settings of a layer have changed: asks again.
  void note_resends();

  [[nodiscard]] mode active(std::size_t k) const noexcept {
    return entries_[k].owner->active();
  }

  /// Whether some layer has something to do for calls that are over.
  [[nodiscard]] bool hold_open() const noexcept { return holding_open_ > 0; }
  void hold_open(std::size_t k, bool x) {
    if (x == std::exchange(entries_[k].holds_open, x))
      return;
    CAISSON_ENSURE(x || holding_open_ > 0, "layer {} holds the host open", k);
    x ? ++holding_open_ : --holding_open_;
  }

  /// The layer of that name, if there is one in force.
  [[nodiscard]] std::optional<std::size_t>
  named(std::string_view name) const noexcept;

  /// The only layer in force, if there is just one.
  [[nodiscard]] std::optional<std::size_t> only() const noexcept;

  // -- turns ------------------------------------------------------------------

  /// Calls `f` with the policy of layer k and its env.
  template <class F>
  decltype(auto) run(std::size_t k, F f) {
    return run(k, entries_[k], std::move(f));
  }

  /// The same for a caller that has layer k, `x`, at hand.
  template <class F>
  [[gnu::always_inline]] decltype(auto) run(std::size_t k, layer_entry& x,
                                            F f) {
    return take_turn(k, x,
                     [&]() -> decltype(auto) { return f(*x.machine, env_); });
  }

  /// Calls `f` with layer k and its env, for what concerns content.
  template <class F>
  decltype(auto) run_content(std::size_t k, F f) {
    auto& x = entries_[k];
    return take_turn(k, x,
                     [&]() -> decltype(auto) { return f(*x.owner, env_); });
  }

  /// Which function of the user's threw in the last turn, and what.
  [[nodiscard]] std::optional<std::string> take_failure() {
    if (!env_.failure)
      return std::nullopt;
    return std::exchange(env_.failure, std::nullopt);
  }

  /// Whether one did.
  [[nodiscard]] bool has_failure() const noexcept {
    return env_.failure.has_value();
  }

  /// The next thing that a layer asked for, in the order of asking.
  [[nodiscard]] std::optional<layer_request> next_request() {
    if (requests_.empty())
      return std::nullopt;
    return pop_request();
  }

  /// Whether a layer has asked to give this child up, which is still to come.
  [[nodiscard]] bool gives_up(call_id child) const noexcept {
    return !given_up_.empty() && given_up_.contains(child);
  }

  /// Whether layer `k` has asked to reject this call, which is still to come:
  /// it has let the call go.
  [[nodiscard]] bool rejects(std::size_t k, call_id call) const noexcept {
    return !rejected_.empty() && rejected_.contains({k, call});
  }

  /// Whether a layer has asked to answer this call, which may have executed all
  /// the same, and the answer is still to come.
  [[nodiscard]] bool acknowledges(call_id call) const noexcept {
    return !acknowledged_.empty() && acknowledged_.contains(call);
  }

  /// Whether there is one.
  [[nodiscard]] bool has_requests() const noexcept {
    return !requests_.empty();
  }

  /// When the first policy wants to be woken, and which one it is.
  [[nodiscard]] std::pair<time_point, std::size_t>
  next_wakeup() const noexcept {
    return next_;
  }

  // -- reports ---------------------------------------------------------------

  /// An event of layer k; of the gate itself if there is none of that number.
  void publish(std::size_t k, const event_info& x);
  void publish(const event_info& x) { publish(size(), x); }

  /// A call begins to wait in layer k, or for the worker if there is none of
  /// that number.
  void publish_wait(std::size_t k, call_id call, std::size_t running,
                    std::size_t waiting, std::string_view key = {});

  /// Counts a user function that threw and sends an event; returns its name and
  /// the text. Exception texts come from user code: cuts them.
  std::string note_failure(std::size_t k, std::string_view function,
                           std::string_view what);

  // -- layers that come and go ------------------------------------------------

  /// Whether there are layers that only serve calls from before a change.
  [[nodiscard]] bool any_retired() const noexcept { return retired_ > 0; }

  /// Whether there are layers that are in no stack, but serve all calls.
  [[nodiscard]] bool any_leaving() const noexcept { return leaving_ > 0; }

  /// Layer k leaves, or is taken back.
  void set_leaving(std::size_t k, bool x);

  /// Layer k does not serve `plan`, nor any later one.
  void retire(std::size_t k, std::uint32_t plan);

  /// Layers move, and those that are gone are dropped. `added` come to the
  /// places to which none has moved, in order. Not during a turn.
  void rearrange(const layer_moves& moves, std::vector<layer_entry> added = {});

  /// How many user functions have thrown.
  std::int64_t callbacks_failed = 0;

  /// Drops the layers.
  void clear() {
    entries_.clear();
    retired_ = leaving_ = 0;
    holding_open_ = 0;
    next_ = {never, 0};
  }

private:
  // Requests made meanwhile are those of layer k. If it throws, none counts any
  // more: the engine fails.
  template <class F>
  [[gnu::always_inline]] decltype(auto) take_turn(std::size_t k, layer_entry& x,
                                                  F f) {
    env_.layer = k;
    if (env_.failure) [[unlikely]]
      env_.failure.reset();
    if constexpr (std::is_void_v<decltype(f())>) {
      f();
      collect(k, x);
    } else {
      decltype(auto) result = f();
      collect(k, x);
      return result;
    }
  }

  // Runs twice for each layer and call.
  [[gnu::always_inline]] void collect(std::size_t k, layer_entry& x) {
    if (x.may_wake)
      if (auto at = x.machine->wakeup(); at != x.wake_at)
        note_wakeup(k, at);
    if (!env_.actions.empty())
      take_actions(k);
  }

  void note_wakeup(std::size_t k, time_point at);
  void find_wakeup();
  void take_actions(std::size_t k);
  layer_request pop_request();

  event_hub& events_;
  std::vector<layer_entry> entries_;
  layer_env env_;
  std::deque<layer_request> requests_;
  std::unordered_set<call_id> given_up_;
  std::multiset<std::pair<std::size_t, call_id>> rejected_;
  std::unordered_set<call_id> acknowledged_;
  /// The first wake-up and whose it is.
  std::pair<time_point, std::size_t> next_{never, 0};
  std::size_t holding_open_ = 0;
  std::size_t retired_ = 0;
  std::size_t leaving_ = 0;
  bool resends_ = false;
};

} // namespace caisson::detail
