// Lets a worker carry out each call once, however often it is attempted.
#pragma once

#include <caisson/base/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace caisson {

/// The limits of a `deduplicator`.
struct deduplicator_limits {
  /// How many calls are known at most, in progress or answered: at least 1,
  /// default 10000. The least recently used answer is evicted first.
  std::size_t capacity = 10'000;
  /// How long an answer is remembered: default 10min. It should be longer than
  /// callers keep retrying.
  duration ttl = std::chrono::minutes(10);
  /// How many further attempts may wait for the answer of the one in progress,
  /// per call: default 16.
  std::size_t max_waiting = 16;
};

/// What a worker knows of calls by their idempotency keys. The first attempt at
/// a call is carried out. Others wait for its answer, or get it at once:
///
///     deduplicator<result, caf::typed_response_promise<result>> seen;
///     ...
///     auto x = seen.receive(key, promise, now);
///     if (x.what == seen.first) ...               // carry it out
///     else if (x.what == seen.known) promise.deliver(*x.answer);
///     ...
///     promise.deliver(answer);                    // when it is done
///     for (auto& other : seen.finish(key, answer, now))
///       other.deliver(answer);
///
/// Every caller that knows a key gets the answer. If callers must not see each
/// other's answers, put their identity (as the worker knows it) into the key.
/// The table ends with the object: to survive the worker's end, keep it
/// elsewhere and pass it to the next incarnation, or store keys where the
/// effects are stored.
///
/// `Answer` is copyable, `Waiter` movable. One thread. All operations take
/// constant time on average.
template <class Answer, class Waiter>
class deduplicator {
public:
  /// What an attempt is.
  enum received : std::uint8_t {
    /// The first, or one without a key: carry it out.
    first,
    /// Another one is being carried out: `finish` or `forget` gives the waiter
    /// back.
    waiting,
    /// The call was answered, with `answer`.
    known,
    /// There is no place: refuse it, for instance with `errc::shed`, because it
    /// might be carried out twice.
    full,
  };

  /// What became of an attempt that has arrived.
  struct reception {
    /// What to do with it.
    received what = received::first;
    /// Valid until the next call to another member.
    const Answer* answer = nullptr;
  };

  deduplicator() = default;

  /// With other limits than the default ones; a capacity of 0 counts as 1.
  explicit deduplicator(deduplicator_limits l) : limits_(l) {
    limits_.capacity = std::max<std::size_t>(l.capacity, 1);
  }

  /// An attempt arrives. `w` is kept only if it has to wait.
  [[nodiscard]] reception receive(std::string_view key, Waiter w,
                                  time_point now) {
    if (key.empty())
      return {};
    forget_old(now);
    auto i = known_.find(std::string{key});
    if (i != known_.end() && i->second->done && now >= i->second->until) {
      drop(i->second);
      i = known_.end();
    }
    if (i == known_.end())
      return {make_room() ? begin(key) : received::full};
    auto x = i->second;
    if (x->done) {
      answered_.splice(answered_.end(), answered_, x);
      return {received::known, &x->answer.front()};
    }
    if (x->waiting.size() >= limits_.max_waiting)
      return {received::full};
    x->waiting.push_back(std::move(w));
    return {received::waiting};
  }

  /// The first attempt at the call has this answer, which is remembered.
  /// Returns those that waited for it.
  [[nodiscard]] std::vector<Waiter> finish(std::string_view key, Answer answer,
                                           time_point now) {
    auto i = known_.find(std::string{key});
    if (i == known_.end() || i->second->done)
      return {};
    auto x = i->second;
    x->done = true;
    x->answer.push_back(std::move(answer));
    x->until = time_after(now, limits_.ttl);
    answered_.splice(answered_.end(), in_flight_, x);
    return std::exchange(x->waiting, {});
  }

  /// The first attempt at the call has had no effect: the next one to arrive is
  /// the first again. Returns those that waited; the table no longer knows
  /// them.
  [[nodiscard]] std::vector<Waiter> forget(std::string_view key) {
    auto i = known_.find(std::string{key});
    if (i == known_.end() || i->second->done)
      return {};
    auto out = std::move(i->second->waiting);
    in_flight_.erase(i->second);
    known_.erase(i);
    return out;
  }

  /// How many calls are known, those in progress included.
  [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }
  /// How many calls are in progress.
  [[nodiscard]] std::size_t in_flight() const noexcept {
    return in_flight_.size();
  }

private:
  struct entry {
    std::string key;
    bool done = false;
    // Has one element if `done`, so that answers need no default.
    std::vector<Answer> answer = {};
    time_point until = never;
    std::vector<Waiter> waiting = {};
  };

  using entries = std::list<entry>;

  received begin(std::string_view key) {
    in_flight_.push_back({std::string{key}});
    known_.emplace(std::string{key}, std::prev(in_flight_.end()));
    return received::first;
  }

  void drop(typename entries::iterator x) {
    known_.erase(x->key);
    answered_.erase(x);
  }

  // Only answers are evicted: a call in progress must not be carried out again.
  bool make_room() {
    if (known_.size() < limits_.capacity)
      return true;
    if (answered_.empty())
      return false;
    drop(answered_.begin());
    return true;
  }

  void forget_old(time_point now) {
    while (!answered_.empty() && now >= answered_.front().until)
      drop(answered_.begin());
  }

  deduplicator_limits limits_;
  entries in_flight_;
  // The least recently used one first.
  entries answered_;
  std::unordered_map<std::string, typename entries::iterator> known_;
};

} // namespace caisson
