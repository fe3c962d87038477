// Lets the policies of keys act, and follow changes for all keys.
#pragma once

#include <caisson/policies/keyed/key_env.hpp>
#include <caisson/policies/keyed/key_kind.hpp>
#include <caisson/policies/keyed/keyed_calls.hpp>
#include <caisson/policies/keyed/keyed_changes.hpp>
#include <caisson/policies/keyed/keyed_keys.hpp>
#include <caisson/policy/policy.hpp>

#include <chrono>
#include <cstddef>
#include <type_traits>

namespace caisson::detail {

/// How many keys without calls one turn of the layer sees to, and how long it
/// then leaves the host to others.
struct key_pace {
  static constexpr std::size_t most_at_once = 1000;
  static constexpr duration pause = std::chrono::milliseconds(1);
};

/// Lets one policy act at a time. Before, it follows the changes for all keys
/// that it has missed; after, what it has asked for is noted.
///
/// A change reaches keys that have calls at once, and the others when they are
/// next used or in a later visit.
class key_turns {
public:
  /// Both must outlive this.
  key_turns(const key_kind& kind, keyed_keys& keys, keyed_calls& calls)
    : kind_(kind), keys_(keys), calls_(calls) {}

  // -- one key ----------------------------------------------------------------

  /// Calls `f` with the policy of the entry and its host, and returns what `f`
  /// does. Without the events of the policy if `quiet`.
  template <class F>
  decltype(auto) turn(key_entry& x, env& e, F f, bool quiet = false) {
    catch_up(x, e);
    return turn_without_catch_up(x, e, f, quiet);
  }

  /// The entry is new: it follows the last order.
  void begin(key_entry& x, env& e);

  /// The entry follows what it has missed.
  void catch_up(key_entry& x, env& e) {
    if (x.epoch != changes_.epoch())
      follow(x, e);
  }

  /// Whether it has yet to follow an order that is in force.
  [[nodiscard]] bool awaits_order(const key_entry& x) const {
    return changes_.awaits_order(x, keys_.clock());
  }

  // -- all keys ---------------------------------------------------------------

  /// An operator gives an order.
  void order(const policy_command& c, env& e);
  void drain(env& e);
  /// The settings have changed.
  void reconfigure(env& e);

  /// Some keys without calls follow what they have missed.
  void visit(env& e);
  /// Whether all keys have followed.
  [[nodiscard]] bool all_follow() const noexcept { return changes_.done(); }
  /// All keys that are here have followed.
  void forget() { changes_.clear(); }

private:
  template <class F>
  decltype(auto) turn_without_catch_up(key_entry& x, env& e, F f, bool quiet);
  void carry(key_entry& x, env& e, std::size_t first);
  void send_all(const key_change& c, env& e);
  void apply(const key_change& c, key_entry& x, env& e);
  void follow(key_entry& x, env& e);
  void follow_and_rest(key_entry& x, env& e);

  const key_kind& kind_;
  keyed_keys& keys_;
  keyed_calls& calls_;
  keyed_changes changes_;
};

// -- implementation -----------------------------------------------------------

// Takes note of what a policy has asked for, from the request `first` on.
// Inlined: as a rule it has asked for nothing.
[[gnu::always_inline]] inline void key_turns::carry(key_entry& x, env& e,
                                                    std::size_t first) {
  if (e.actions.size() > first) [[unlikely]]
    calls_.follow_all(x, e, first);
  keys_.update_timer(x);
}

template <class F>
decltype(auto) key_turns::turn_without_catch_up(key_entry& x, env& e, F f,
                                                bool quiet) {
  auto first = e.actions.size();
  keys_.touch(x);
  auto ask = [&]() -> decltype(auto) {
    key_env inner{calls_, x, e, quiet};
    return f(*x.machine, static_cast<env&>(inner));
  };
  // If it throws, the host ends, and nothing is carried out.
  if constexpr (std::is_void_v<decltype(ask())>) {
    ask();
    carry(x, e, first);
  } else {
    decltype(auto) result = ask();
    carry(x, e, first);
    return result;
  }
}

} // namespace caisson::detail
