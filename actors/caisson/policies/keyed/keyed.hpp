// Keeps one policy for each key of the calls.
#pragma once

#include <caisson/policies/keyed/key_kind.hpp>
#include <caisson/policies/keyed/key_room.hpp>
#include <caisson/policies/keyed/key_turns.hpp>
#include <caisson/policies/keyed/keyed_calls.hpp>
#include <caisson/policies/keyed/keyed_counters.hpp>
#include <caisson/policies/keyed/keyed_keys.hpp>
#include <caisson/policies/keyed/per_key_config.hpp>
#include <caisson/policy/counters.hpp>
#include <caisson/policy/key_report.hpp>
#include <caisson/policy/policy.hpp>
#include <caisson/settings/settings.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace caisson {

// -- configuration ------------------------------------------------------------

/// Configures a `keyed<Policy>`: the settings of the policy, which each key has
/// unless an override says otherwise, and those of the keys.
///
///     keyed_config<limiter>{{.rate = 50}, {.max_keys = 1000}}
template <class Policy>
struct keyed_config : Policy::config_type {
  /// How many keys there may be, and what they have of their own.
  per_key_config per_key = {};
};

template <class Policy>
void describe(field_visitor& v, keyed_config<Policy>& c);

/// Checks what the policy checks, and overrides like the settings of a layer.
template <class Policy>
void check(const keyed_config<Policy>& c, const setting_path& path,
           problems& out);

// -- policy -------------------------------------------------------------------

/// Keeps policies of one kind by the keys of the calls, and passes each call on
/// to that of its key. The part that does not depend on what the policies are.
///
/// A policy is created when its key is first seen. It is dropped, together with
/// its state, when it has no calls or children and the key was not used for
/// `idle` or must make room for a new one; see docs/keyed.md.
///
/// Takes O(1) for a call or a status, and O(log n) for a wake-up. Commands and
/// new settings reach keys that have calls at once, and the others when they
/// are next used; besides, `most_at_once` of them in each turn, as those that
/// are to be dropped, until all have followed.
class keyed_policy : public policy, protected detail::key_kind {
public:
  /// How many keys without calls one turn sees to, and how long the layer then
  /// leaves the host to others.
  static constexpr std::size_t most_at_once = detail::key_pace::most_at_once;
  /// See `most_at_once`.
  static constexpr duration pause = detail::key_pace::pause;

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision reserve(call_info& call, slot& notes, const reservation& times,
                   env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;
  decision child_done(call_id child, outcome& result, env& e) override;

  // -- time -------------------------------------------------------------------

  decision expire(call_info& call, slot& notes, env& e) override;
  decision deadline_passed(call_info& call, slot& notes, env& e) override;
  [[nodiscard]] time_point latest_end(const call_info& call,
                                      slot& notes) const override;
  void attempt_timed_out(std::string_view key, env& e) override;
  [[nodiscard]] time_point wakeup() const override;
  void wake(env& e) override;

  // -- operation --------------------------------------------------------------

  [[nodiscard]] std::string_view kind() const noexcept override {
    return keys_.blank().machine->kind();
  }
  [[nodiscard]] bool resends() const noexcept override {
    return keys_.blank().machine->resends();
  }

  /// The state of the worst circuit among the keys.
  [[nodiscard]] std::string_view state() const override;

  [[nodiscard]] caisson::circuit
  circuit(std::string_view key) const noexcept override;

  void list_metrics(std::vector<metric>& out) const override;

  /// How many keys there are.
  [[nodiscard]] std::size_t keys() const noexcept { return keys_.size(); }

  /// The keys with the most calls admitted, at most `n`, in descending order,
  /// and equal ones by name.
  [[nodiscard]] std::vector<key_report> busiest(std::size_t n) const;

  /// For all keys, including those created later. `reset` also drops keys
  /// without calls.
  bool command(policy_command c, env& e) override;
  void drain(env& e) override;

  /// Says whether the host acts on decisions; without it, the host does. Must
  /// be callable as long as there are calls.
  void ask_mode(std::function<bool()> enforces) {
    enforces_ = std::move(enforces);
  }

protected:
  /// To be called once, when `make` can be.
  void start();
  /// The settings have changed, including those of the keys.
  void adopt(env& e);

private:
  template <class F>
  decision take_in(const call_info& call, env& e, F f);
  detail::key_entry* add_key(const call_info& call, decision& refusal, env& e);
  decision refuse(keyed_counter why, std::string_view detail,
                  const call_info& call, env& e);
  [[nodiscard]] detail::key_entry* take_back(const call_info& call);
  void see(const env& e) {
    keys_.see(e.now);
    calls_.see(e.now);
  }

  void reset(env& e);
  [[nodiscard]] bool needs_maintenance() const noexcept;
  void do_maintenance(env& e);
  void delay_maintenance(const env& e) {
    maintenance_at_ = time_after(e.now, pause);
  }

  detail::keyed_keys keys_;
  detail::keyed_calls calls_;
  counters<keyed_counter> counters_;
  detail::key_turns turns_{*this, keys_, calls_};
  detail::key_room room_{*this, keys_, turns_, counters_};
  // When the next turn for what is left to do is due.
  time_point maintenance_at_ = time_point::min();
  std::function<bool()> enforces_;
};

/// A policy of the kind `Policy` for each key of the calls. Each can do what it
/// can do alone. `Policy` is constructed from its config.
///
/// What a `Policy` lists as its metrics changes only in calls that may change
/// it.
///
/// If `Policy` has a function `bool is_idle(time_point now) const`, an unused
/// key is dropped only while it returns true; otherwise while its circuit is
/// not open. As `policy` requires, no two threads may use it at a time.
template <class Policy>
class keyed final : public keyed_policy {
public:
  using config_type = keyed_config<Policy>;
  using settings_type = typename Policy::config_type;

  static_assert(std::is_constructible_v<Policy, settings_type>,
                "a policy per key is made from its config alone");

  /// The name of the kind.
  static constexpr std::string_view kind_name = Policy::kind_name;

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit keyed(config_type c) : config_(std::move(c)) {
    require_valid(config_);
    set_overrides();
    start();
    // Reports now what only the constructor checks.
    for (const auto& [key, own] : own_)
      static_cast<void>(Policy(own));
  }

  // -- operation --------------------------------------------------------------

  /// The settings in force.
  [[nodiscard]] const config_type& config() const noexcept { return config_; }

  /// Continues with `next`, which must be valid. All keys switch to it. If
  /// there are now more keys than `max_keys`, those without calls are dropped,
  /// as for a new key.
  void reconfigure(config_type next, env& e) {
    config_ = std::move(next);
    set_overrides();
    adopt(e);
  }

protected:
  [[nodiscard]] const per_key_config& per_key() const noexcept override {
    return config_.per_key;
  }

  [[nodiscard]] std::unique_ptr<policy>
  make(std::string_view key) const override {
    return std::make_unique<Policy>(settings_of(key));
  }

  void change(std::string_view key, policy& p, env& e) const override {
    static_cast<Policy&>(p).reconfigure(settings_of(key), e);
  }

  [[nodiscard]] bool is_idle(const policy& p,
                             time_point now) const noexcept override {
    if constexpr (requires(const Policy& x) {
                    { x.is_idle(now) } -> std::convertible_to<bool>;
                  })
      return static_cast<const Policy&>(p).is_idle(now);
    else
      return p.circuit({}) != caisson::circuit::open;
  }

private:
  [[nodiscard]] const settings_type& settings_of(std::string_view key) const {
    if (auto i = own_.find(key); i != own_.end())
      return i->second;
    return config_;
  }

  void set_overrides() {
    own_.clear();
    for (const auto& [key, x] : config_.per_key.overrides) {
      settings_type own = config_;
      static_cast<void>(change_settings(x.values(), {}, own));
      own_.emplace(key, std::move(own));
    }
  }

  config_type config_;
  // The settings of keys that have an override.
  std::map<std::string, settings_type, std::less<>> own_;
};

// -- implementation -----------------------------------------------------------

template <class Policy>
void describe(field_visitor& v, keyed_config<Policy>& c) {
  describe(v, static_cast<typename Policy::config_type&>(c));
  v.on({"per_key", "keeps one such policy for each key of the calls"},
       c.per_key);
}

template <class Policy>
void check(const keyed_config<Policy>& c, const setting_path& path,
           problems& out) {
  const typename Policy::config_type& base = c;
  auto check_keyed = [](const auto& x, const setting_path& at, problems& to) {
    if constexpr (requires { check_per_key(x, at, to); })
      check_per_key(x, at, to);
  };
  if constexpr (requires { check(base, path, out); })
    check(base, path, out);
  check_keyed(base, path, out);
  // An override cannot fix what is wrong with the layer itself.
  auto sound = problems_of(base).empty();
  for (const auto& [key, x] : c.per_key.overrides) {
    auto at = detail::path_of_override(path, key);
    auto own = base;
    problems found;
    detail::check_override(x, at, found);
    read_fields({x.values(), at}, own, found, absent_fields::are_kept);
    if (sound && found.empty()) {
      detail::check_relations(own, at, found);
      check_keyed(own, at, found);
    }
    out.insert(out.end(), found.begin(), found.end());
  }
}

} // namespace caisson
