// Attempts, answers and time in any order, against a list that is searched from
// end to end.
#include <caisson/gate/deduplicator.hpp>

#include <support/operations.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using id_book = deduplicator<std::string, unsigned>;
using waiters = std::vector<unsigned>;

class deduplicator_model {
public:
  explicit deduplicator_model(deduplicator_limits l) : limits_(l) {}

  struct reception {
    id_book::received what = id_book::first;
    std::string answer = {};
  };

  reception receive(const std::string& key, unsigned caller, time_point now) {
    if (key.empty())
      return {};
    drop_old(key, now);
    if (auto* x = find(key))
      return answer(*x, caller);
    if (all_.size() >= limits_.capacity) {
      auto least = least_used();
      if (least == all_.end())
        return {id_book::full};
      all_.erase(least);
    }
    all_.push_back({key, ++clock_});
    return {id_book::first};
  }

  waiters finish(const std::string& key, const std::string& a, time_point now) {
    auto* x = find(key);
    if (!x || x->answer)
      return {};
    x->answer = a;
    x->until = now + limits_.ttl;
    x->used = ++clock_;
    return std::exchange(x->waiting, {});
  }

  waiters forget(const std::string& key) {
    auto* x = find(key);
    if (!x || x->answer)
      return {};
    auto out = x->waiting;
    std::erase_if(all_, [&](auto& y) { return y.key == key; });
    return out;
  }

  [[nodiscard]] std::size_t in_flight() const {
    return static_cast<std::size_t>(std::count_if(
      all_.begin(), all_.end(), [](auto& x) { return !x.answer; }));
  }

  [[nodiscard]] std::size_t size() const { return all_.size(); }

private:
  struct entry {
    std::string key;
    unsigned used = 0;
    std::optional<std::string> answer = {};
    time_point until = never;
    waiters waiting = {};
  };
  using entries = std::vector<entry>;

  entry* find(const std::string& key) {
    for (auto& x : all_)
      if (x.key == key)
        return &x;
    return nullptr;
  }

  reception answer(entry& x, unsigned caller) {
    if (x.answer) {
      x.used = ++clock_;
      return {id_book::known, *x.answer};
    }
    if (x.waiting.size() >= limits_.max_waiting)
      return {id_book::full};
    x.waiting.push_back(caller);
    return {id_book::waiting};
  }

  entries::iterator least_used() {
    auto least = all_.end();
    for (auto i = all_.begin(); i != all_.end(); ++i)
      if (i->answer && (least == all_.end() || i->used < least->used))
        least = i;
    return least;
  }

  // One whose time is over goes when it is asked for, or when no other answer
  // has been used less recently.
  void drop_old(const std::string& key, time_point now) {
    auto is_old = [&](auto& x) { return x.answer && now >= x.until; };
    for (auto i = least_used(); i != all_.end() && is_old(*i); i = least_used())
      all_.erase(i);
    std::erase_if(all_, [&](auto& x) { return x.key == key && is_old(x); });
  }

  deduplicator_limits limits_;
  entries all_;
  unsigned clock_ = 0;
};

RC_GTEST_PROP(deduplicator_property, is_a_list_of_keys_seen, ()) {
  deduplicator_limits limits{
    .capacity = *rc::gen::inRange<std::size_t>(1, 6),
    .ttl = *rc::gen::inRange(0, 30) * 1s,
    .max_waiting = *rc::gen::inRange<std::size_t>(0, 4)};
  id_book seen{limits};
  deduplicator_model expected{limits};
  auto now = time_point{} + 1h;
  const std::vector<std::string> keys = {"", "a", "b", "c", "d", "e", "f"};
  for (const auto& x : *operations(6)) {
    const auto& key = pick(keys, x.which);
    switch (x.kind) {
      case 0:
      case 1:
      case 2: {
        auto got = seen.receive(key, x.how, now);
        auto want = expected.receive(key, x.how, now);
        RC_ASSERT(got.what == want.what);
        RC_ASSERT((got.answer ? *got.answer : "") == want.answer);
        break;
      }
      case 3: {
        auto text = std::to_string(x.how);
        RC_ASSERT(seen.finish(key, text, now)
                  == expected.finish(key, text, now));
        break;
      }
      case 4:
        RC_ASSERT(seen.forget(key) == expected.forget(key));
        break;
      default:
        now += (x.how % 12) * 1s;
    }
    RC_ASSERT(seen.in_flight() == expected.in_flight());
    RC_ASSERT(seen.size() == expected.size());
    RC_ASSERT(seen.size() <= limits.capacity);
  }
}

} // namespace
} // namespace caisson::test
