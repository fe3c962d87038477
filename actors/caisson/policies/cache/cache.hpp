// Answers calls with earlier answers of the worker.
#pragma once

#include <caisson/base/pooled_list.hpp>
#include <caisson/policies/cache/cache_config.hpp>
#include <caisson/policies/cache/cache_loads.hpp>
#include <caisson/policies/cache/cache_store.hpp>
#include <caisson/policies/cache/cache_writes.hpp>
#include <caisson/policy/policy_base.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

// -- counters -----------------------------------------------------------------

/// What a cache counts; docs/cache.md says what each means.
enum class cache_counter : std::uint8_t {
  hits,
  negative_hits,
  stale_hits,
  stale_on_error,
  misses,
  joined,
  bypassed,
  stored,
  stored_negative,
  not_stored,
  refreshed,
  refresh_failed,
  evicted,
  expired,
  invalidated,
  preheated,
  abandoned,
  written,
  merged,
  flushed,
  flush_failed,
  lost,
  not_acknowledged,
  callbacks_failed,
  count_
};

template <>
struct enum_names<cache_counter> {
  static constexpr std::string_view value[] = {
    "hits",           "negative_hits",    "stale_hits",
    "stale_on_error", "misses",           "joined",
    "bypassed",       "stored",           "stored_negative",
    "not_stored",     "refreshed",        "refresh_failed",
    "evicted",        "expired",          "invalidated",
    "preheated",      "abandoned",        "written",
    "merged",         "flushed",          "flush_failed",
    "lost",           "not_acknowledged", "callbacks_failed",
  };
};

// -- policy -------------------------------------------------------------------

/// What a cache does with content, which it never sees itself.
struct cache_content {
  /// Makes a copy of an answer (`outcome::reply`) or of a call's content;
  /// empty: nothing is kept of them.
  std::function<kept_message(const void*)> keep = {};
  /// How long this value answers calls; nothing: for the configured `ttl`; zero
  /// or less: it is not kept. If it throws, the value is not kept.
  std::function<std::optional<duration>(const void* reply)> ttl = {};
};

/// What a call is to a cache.
enum class cache_use : std::uint8_t {
  /// A call that may be answered from the cache.
  read,
  /// A call that changes what the worker answers to reads of its key.
  change,
  /// A call that sets what the worker answers to reads of its key, and may be
  /// acknowledged before the worker has it.
  write,
  /// A call that does not concern the cache.
  bypass,
};

/// What the host knows about the call that it is about to admit.
struct cache_lookup {
  /// What the call is to the cache.
  cache_use use = cache_use::read;
  /// The key under which the answer is kept; nothing: that of the call.
  std::optional<std::string> key = {};
  /// The content of the call, valid until the call is admitted.
  const void* content = nullptr;
  /// What reads of the key get from now on, if the call is a write.
  kept_message value = {};
  /// What the call itself gets if it is a write.
  kept_message answer = {};
  /// The mode of the layer. `observe`: the cache lets every call pass and
  /// learns from the answers. `off`: it only sees to the order of writes.
  mode acts = mode::enforce;
};

/// Keeps answers by key. A call whose answer is kept is held and gets it
/// (`env::answer`). One whose answer is not kept is a *load*: with
/// `single_flight` a child call, which calls with the same key join, otherwise
/// the call itself.
///
/// A *write* is held and gets its own answer at once. The last one of each key
/// goes to the worker as a child call without parents (a *flush*) until the
/// worker has it. Reads of the key get what it sets; changes of the key wait.
/// While there are such writes, the host is held open.
///
/// In other modes than `enforce` no write is acknowledged, but what is left of
/// earlier ones still holds for its keys, whatever the mode: reads get it, and
/// changes wait.
///
/// A load is sent with the deadline of the call that began it. If it ends by
/// that, those that have joined it and have more time send one more, together.
///
/// Answers count from when they arrive. Of two loads of a key, the answer of
/// the one that began last is kept; a load that began before the key was
/// invalidated is not kept.
class cache final : public policy_base<cache, cache_config, cache_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "cache";

  /// Calls with longer keys bypass the cache, in bytes.
  static constexpr std::size_t longest_key = 1024;

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit cache(cache_config c, cache_content content = {});

  /// Keeps an answer before the first call, for the configured `ttl` from now.
  /// Returns false if there is no room, or the key is empty or too long. Does
  /// not replace an answer.
  bool preheat(const std::string& key, kept_message value, env& e);

  // -- calls ------------------------------------------------------------------

  /// Says what the next call to be admitted is. Without it, a call is a read of
  /// its own key.
  void set_next(cache_lookup next) noexcept { next_ = std::move(next); }

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;
  decision child_done(call_id child, outcome& result, env& e) override;

  /// The answer with that number, for a call that `env::answer` named; null if
  /// nothing is kept of it.
  [[nodiscard]] const void* value(std::uint64_t number) const noexcept;

  /// The content of a refresh or flush that starts; null if nothing is kept of
  /// it. Moves that of a refresh out.
  [[nodiscard]] kept_message take_content(call_id child);

  // -- time -------------------------------------------------------------------

  decision expire(call_info& call, slot& notes, env& e) override;

  /// When the next flush is due, or answers are to be dropped; at once if
  /// calls wait for another load.
  [[nodiscard]] time_point wakeup() const override;
  void wake(env& e) override;

  // -- operation --------------------------------------------------------------

  /// Writes are flushed at once.
  void drain(env& e) override;

  /// The mode is `enforce` now, or another one: then writes are flushed at
  /// once.
  void set_enforced(bool yes);

  /// The number of keys of which the worker lacks a write.
  [[nodiscard]] std::size_t unwritten() const noexcept {
    return writes_.size();
  }

  /// Counts a user function that threw while the host called it for this cache,
  /// and sends an event. No call fails because of it.
  void note_failure(std::string_view function, std::string_view what, env& e);

protected:
  /// Evicts what is above a new `max_entries`: a thousand at once, the others
  /// as many each millisecond. A new `ttl` applies to answers
  /// that arrive from now on, the other settings at once.
  void adapt(env& e) override;
  void list_gauges(std::vector<metric>& out) const override;

  /// Drops all answers, and frees their memory little by little. Answers of
  /// loads in progress are not kept. Unflushed writes stay.
  void forget(env& e) override;

private:
  using place = detail::cache_store::place;
  using record = detail::cache_store::record;
  using load_number = detail::cache_store::load_number;
  using answer_list = pooled_list<kept_message>;

  enum class stage : std::uint8_t {
    // Bypasses the cache; nothing else below applies.
    bypassing,
    // A change of what is kept.
    changing,
    // A change that waits for writes, or did.
    queued,
    // The call goes down itself.
    alone,
    // The call waits for a child.
    waiting,
    // The call gets an answer that was kept.
    answered,
  };

  // What the slot of a call has.
  struct call_state {
    place at;
    // While alone. While queued: how often calls had been released. While
    // waiting: not 0 if it has begun a load.
    load_number load = 0;
    // While waiting.
    call_id child = 0;
    stage where = stage::bypassing;
    // While answered.
    answer_list::handle answer = answer_list::none;
    // While queued and not released.
    detail::cache_writes::place queue = {};
  };

  // -- reads ------------------------------------------------------------------

  [[nodiscard]] bool may_read(const call_info& call) const noexcept;
  decision look_up(const call_info& call, call_state& saved,
                   const cache_lookup& x, env& e);
  decision give(const call_info& call, call_state& saved, counter why, env& e);
  decision answer(const call_info& call, call_state& saved, kept_message value,
                  env& e, bool executed = false);
  void leave(call_state& saved);

  // -- loads ------------------------------------------------------------------

  decision load(const call_info& call, call_state& saved, mode acts, env& e);
  decision join(const call_info& call, call_state& saved, env& e);
  decision load_again(const call_info& call, call_state& saved, env& e);
  decision wait_again(const call_info& call, call_state& saved);
  decision go_alone(call_state& saved);
  void refresh(const call_info& call, place at, const void* content, env& e);

  // -- writes and changes -----------------------------------------------------

  decision pass_by(const call_info& call, call_state& saved, cache_lookup& x,
                   env& e);
  decision alter(const call_info& call, call_state& saved, cache_lookup& x,
                 env& e);
  decision acknowledge(const call_info& call, call_state& saved,
                       cache_lookup& x, env& e);
  [[nodiscard]] bool was_released(const call_state& saved) const noexcept;
  void flush_done(call_id child, const outcome& result, env& e);
  void clean(detail::cache_writes::result x, env& e);

  // -- what is kept -----------------------------------------------------------

  // Returns whether the answer is kept.
  bool learn(place at, load_number number, const outcome& o, env& e);
  duration ttl_of(const void* reply, env& e);
  [[nodiscard]] bool can_stand_in(const record& r,
                                  time_point now) const noexcept;
  void keep(place at, kept_message value, time_point expires,
            bool negative = false);
  void count_evicted(std::size_t n);

  cache_content content_;
  cache_lookup next_;
  detail::cache_store store_;
  detail::cache_loads loads_;
  // The answers that calls are about to get.
  answer_list answers_;
  detail::cache_writes writes_;
  bool draining_ = false;
};

} // namespace caisson
