// Functions and actors of users through which layers handle content.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/policies/fallback_config.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// What a call costs by its content, such as its size in bytes. 0 counts as 1,
/// and what is more than 4294967295 as that. May throw: the call then ends with
/// `callback_failed`, or passes in the mode `observe`.
using weight_function = std::function<std::uint64_t(const caf::message&)>;

/// The verifier that a retrier asks before it repeats a call that must not be
/// carried out twice.
struct verifier {
  using function = std::function<verification(const caf::message&)>;

  /// The actor that is asked; null: `verify` is called instead.
  caf::actor target = {};
  /// Whether `target` is asked.
  bool asks = false;

  /// Asks `target`, which gets the content of the call and answers with a
  /// `verification`. Any other answer, an error, its end and `verify_timeout`
  /// count as `unknown`.
  static verifier by(caf::actor target) {
    return {std::move(target), true, {}};
  }

  /// Asks `verify`, which gets the content of the call. It runs in an actor of
  /// its own, one call at a time, and each gate has a copy; one that blocks for
  /// long belongs in an actor that the user spawns. If it throws, that counts
  /// as `unknown`.
  static verifier with(function verify) {
    return {{}, true, std::move(verify)};
  }

  /// What is asked, if `target` is null.
  function verify = {};
};

/// How a batcher combines items into one message, and splits the answer.
struct batching {
  /// Answers a call before it joins a batch, or returns nothing to let it join.
  std::function<std::optional<caf::message>(const caf::message&)>
    prefilter = {};
  /// Builds the message to the worker; empty: `batch{items}`.
  std::function<caf::message(std::vector<caf::message>)> assemble = {};
  /// Splits the worker's answer, which is not an error, into `n` results;
  /// empty: by `batch_reply`, or the same answer for all. If there are too few
  /// results, the remaining items get `batch_failed`.
  std::function<std::vector<caf::message>(caf::message, std::size_t n)>
    split = {};
  /// The weight of a call for `max_weight`, such as its size in bytes; less
  /// than 1 counts as 1. Empty: the call's `permits`. If it throws, the call
  /// gets `callback_failed`.
  std::function<std::uint64_t(const caf::message&)> weigh = {};
  /// Calls with equal identities that are in the same batch are sent once, and
  /// all get that result; empty text: the call is equal to no other. Empty: so
  /// are all. If it throws, the call gets `callback_failed`.
  std::function<std::string(const caf::message&)> identity = {};
  /// Only calls of the same shard share a batch, such as those to one table.
  /// Empty: all do. If it throws, the call gets `callback_failed`.
  std::function<std::string(const caf::message&)> shard = {};

  /// For workers that take a `std::vector<T>` and answer with a
  /// `std::vector<R>`. An item is a message with a single T. Both vectors must
  /// be message types (listed in a type-id block to cross the network).
  template <class T, class R>
  static batching vectors();
};

/// An alternative answer: a value, or another actor that gets the same message.
struct alternative {
  /// The answer, if `kind` is `value`.
  caf::message value = {};
  /// The actor that is asked, if `kind` is another one.
  caf::actor target = {};
  /// Which of them answers.
  alternative_kind kind = alternative_kind::value;

  /// The message `xs...` as the answer.
  template <class... Ts>
  static alternative answer(Ts&&... xs) {
    return {detail::make_early(std::forward<Ts>(xs)...)};
  }

  /// Asks `target`, which gets the call's content like the worker.
  static alternative ask(caf::actor target) {
    return {{}, std::move(target), alternative_kind::actor};
  }

  /// Asks `target`, which knows earlier answers and is quick: it has only
  /// `fallback_config::cache_share` of the time that the call has left.
  static alternative ask_cache(caf::actor target) {
    return {{}, std::move(target), alternative_kind::cache};
  }
};

/// A call that sets what reads of a key get.
struct cached_write {
  /// As a call's key: its reads get `value`.
  std::string key;
  /// What reads of the key get from now on.
  caf::message value;
  /// What the caller of this one gets at once.
  caf::message answer = {};
};

/// What a cache reads from content. Every function may be empty and may throw;
/// the cache counts that in `callbacks_failed`, and no call fails because of
/// it.
struct cache_forms {
  /// Keys with their answers.
  using entries = std::vector<std::pair<std::string, caf::message>>;

  /// The key of a call; nothing: it bypasses the cache. Calls with equal keys
  /// get the same answer, so a key must contain everything that the answer
  /// depends on. Empty: `call::key`, which callers choose. If it throws, the
  /// call bypasses the cache.
  std::function<std::optional<std::string>(const caf::message&)> key = {};

  /// The key whose answer a call changes; nothing: it is not a change. The kept
  /// answer for the key is dropped when the call arrives and when its outcome
  /// does. If it throws, the call bypasses the cache.
  std::function<std::optional<std::string>(const caf::message&)>
    invalidates = {};

  /// What a call sets that may be acknowledged before the worker has it;
  /// nothing: it is not such a call. It goes to the worker later, perhaps more
  /// than once, and not at all if another one replaces it first, or if the
  /// gate's process dies. If it throws, the call bypasses the cache.
  std::function<std::optional<cached_write>(const caf::message&)> write = {};

  /// How long a value answers calls; nothing: for `ttl`; zero or less: it is
  /// not kept. If it throws, the value is not kept.
  std::function<std::optional<duration>(const caf::message&)> ttl = {};

  /// Initial keys with their answers; those beyond `max_entries` are left out.
  /// Called before the first call of each gate.
  std::function<entries()> preheat = {};

  /// Caches calls that consist of a single `T`, by the key `f(const T&)`.
  template <class T, class F>
  static cache_forms keyed_by(F f);

  /// For `preheat`: reads a text file. `parse` makes a key and its answer of
  /// each line; nothing: the line is left out. Throws `std::runtime_error` if
  /// the file cannot be read, and whatever `parse` throws with the number of
  /// the line; the cache then begins empty, and counts it in
  /// `callbacks_failed`.
  static std::function<entries()> from_file(
    std::string path,
    std::function<std::optional<entries::value_type>(std::string_view)> parse);
};

// -- implementation -----------------------------------------------------------

template <class T, class R>
batching batching::vectors() {
  batching result;
  result.assemble = [](std::vector<caf::message> items) {
    std::vector<T> xs;
    xs.reserve(items.size());
    for (auto& item : items)
      xs.push_back(portable::holds<T>(item) ? portable::take<T>(item) : T{});
    return caf::make_message(std::move(xs));
  };
  // An item of another type would shift the results of later items.
  result.prefilter =
    [](const caf::message& item) -> std::optional<caf::message> {
    if (portable::holds<T>(item))
      return std::nullopt;
    return caf::make_message(
      caf::make_error(caf::sec::unexpected_message, item));
  };
  result.split = [](caf::message answer, std::size_t) {
    std::vector<caf::message> out;
    if (!portable::holds<std::vector<R>>(answer))
      return out;
    for (auto& x : portable::take<std::vector<R>>(answer))
      out.push_back(caf::make_message(std::move(x)));
    return out;
  };
  return result;
}

template <class T, class F>
cache_forms cache_forms::keyed_by(F f) {
  cache_forms result;
  result.key =
    [f = std::move(f)](const caf::message& x) -> std::optional<std::string> {
    auto* content = portable::get_if<T>(x);
    if (!content)
      return std::nullopt;
    return f(*content);
  };
  return result;
}

} // namespace caisson
