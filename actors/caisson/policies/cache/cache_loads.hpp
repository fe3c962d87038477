// The loads and refreshes of a cache that are children.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policies/cache/cache_config.hpp>
#include <caisson/policies/cache/cache_store.hpp>
#include <caisson/policy/policy.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace caisson::detail {

/// Starts loads, and knows which ones are in progress and which calls want one
/// more of a key.
class cache_loads {
public:
  using place = cache_store::place;
  using record = cache_store::record;

  struct load {
    place at;
    cache_store::load_number number;
    bool refresh;
    /// The deadline with which it was sent.
    time_point until;
    /// The content of a refresh, until it starts.
    kept_message content;
  };

  // -- in progress ------------------------------------------------------------

  [[nodiscard]] std::size_t size() const noexcept { return pending_.size(); }

  [[nodiscard]] bool is_in_progress(call_id child) const {
    return pending_.contains(child);
  }

  /// Whether a call may join the load of the key that is in progress.
  [[nodiscard]] static bool may_join(const record& r, const cache_config& c,
                                     time_point now);

  /// Starts a load with that deadline, which pins the key.
  call_id start(cache_store& store, place at, child_call c, bool refresh,
                time_point until, env& e);

  /// Starts a refresh for a call, unless there is one or it is too early.
  std::optional<call_id> refresh(cache_store& store, const call_info& call,
                                 place at, const cache_config& c, env& e);

  /// What the refresh is about.
  void set_content(call_id child, kept_message content);

  /// The content of a refresh that starts, moved out; null if there is none.
  [[nodiscard]] kept_message take_content(call_id child);

  /// The load has ended. The key stays pinned.
  [[nodiscard]] load end(call_id child);

  /// Whether the load that has just ended was sent with less time than that.
  [[nodiscard]] bool ended_before(time_point deadline) const noexcept {
    return ended_until_ < deadline;
  }

  /// Calls may join none of those in progress any more.
  void forget();

  // -- once more --------------------------------------------------------------

  /// Whether there are calls that want one more load, of any key or of this
  /// one.
  [[nodiscard]] bool again() const noexcept { return !again_.empty(); }
  [[nodiscard]] bool again(std::string_view key) const {
    return again_.contains(key);
  }

  /// The call wants one. Returns whether it is the first one of its key.
  bool request_again(const call_info& call, place at);

  /// Starts what is wanted. All calls for a key send one load together, with
  /// the latest of their deadlines: if each of them began one in turn, each
  /// could end by its own.
  void start_again(cache_store& store, env& e);

private:
  // Calls that wait for one more load of a key.
  struct waiting_again {
    place at;
    std::vector<call_id> calls;
    // The latest of their deadlines.
    time_point until;
  };

  std::unordered_map<call_id, load> pending_;
  // By key; only within a step of the host.
  std::map<std::string, waiting_again, std::less<>> again_;
  // The deadline with which the load was sent that has just ended.
  time_point ended_until_ = never;
};

} // namespace caisson::detail
