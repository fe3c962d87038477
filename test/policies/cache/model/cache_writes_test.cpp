// Acknowledged writes in any order of calls, flushes and failures.
#include <caisson/policies/cache/cache.hpp>

#include <policies/cache/model/cache_rig.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

enum class act : std::uint8_t {
  write,
  change,
  read,
  pass,
  succeed,
  fail,
  end,
  switch_mode
};

struct doing {
  act what;
  std::uint8_t which;
  std::uint8_t much;
};

void showValue(const doing& x, std::ostream& out) {
  out << static_cast<int>(x.what) << '/' << static_cast<int>(x.which) << '/'
      << static_cast<int>(x.much);
}

// A worker behind a cache, and what everybody may expect of the two. Writes are
// numbered, so that the worker sees which one is newer.
class checked_cache {
public:
  explicit checked_cache(cache_config c) : rig(c), config(std::move(c)) {}

  void play(const doing& x) {
    auto key = std::string(1, static_cast<char>('a' + x.which % 3));
    switch (x.what) {
      case act::write:
        write(key);
        break;
      case act::change:
        changes[key].emplace(rig.change(key), 0);
        break;
      case act::read:
        read(key);
        break;
      case act::pass:
        rig.pass(x.much * 20ms);
        break;
      case act::succeed:
        end_child(x.which, true, true);
        break;
      case act::fail:
        end_child(x.which, x.much % 2 == 0, false);
        break;
      case act::end:
        end_call(x.which, x.much % 3 == 0);
        break;
      case act::switch_mode:
        rig.set_mode(static_cast<mode>(x.which % 3));
        break;
    }
    look();
  }

  // Everything succeeds from now on.
  void finish() {
    rig.drain();
    look();
    for (int i = 0; busy(); ++i) {
      RC_ASSERT(i < 10'000);
      end_child(0, true, true);
      end_call(0, false);
      rig.pass(1s);
      look();
    }
    RC_ASSERT(rig.count("flushing") == 0);
    RC_ASSERT(rig.count("keys") == rig.count("entries"));
    for (const auto& [key, n] : acknowledged)
      RC_ASSERT(stored[key] >= n);
  }

private:
  void write(const std::string& key) {
    auto n = ++numbers;
    auto age = oldest_age();
    auto id = rig.write(key, std::to_string(n));
    if (rig.got(id) != "ok") {
      changes[key].emplace(id, n);
      return;
    }
    RC_ASSERT(rig.acts == mode::enforce);
    RC_ASSERT(age < config.staleness);
    RC_ASSERT(changes[key].empty());
    acknowledged[key] = n;
    since[key].emplace(n, rig.now());
    RC_ASSERT(since.size() <= config.max_unwritten);
  }

  void read(const std::string& key) {
    auto id = rig.read(key);
    if (since.contains(key))
      RC_ASSERT(rig.got(id) == std::to_string(acknowledged[key]));
    if (rig.got(id) == "below")
      rig.reply_to(id, "read");
  }

  // One of the children that run ends. A flush may have been carried out
  // although it failed.
  void end_child(std::uint8_t which, bool applied, bool well) {
    std::vector<std::uint64_t> running;
    for (std::uint64_t n = 1; n <= rig.children(); ++n)
      if (!ended.contains(n))
        running.push_back(n);
    if (running.empty())
      return;
    auto n = running[which % running.size()];
    ended.insert(n);
    auto flush = flushes.find(n);
    if (flush == flushes.end())
      return rig.reply(n, "read");
    auto [key, number] = flush->second;
    if (applied)
      stored[key] = number;
    if (!well)
      return applied ? rig.refuse(n, errc::deadline_exceeded, true)
                     : rig.no_answer(n);
    auto& ages = since[key];
    ages.erase(ages.begin(), ages.upper_bound(number));
    if (ages.empty())
      since.erase(key);
    rig.reply(n, "done");
  }

  // A change that is below succeeds, or one leaves, wherever it is.
  void end_call(std::uint8_t which, bool leaves) {
    std::vector<std::pair<std::string, call_id>> all;
    for (const auto& [key, ids] : changes)
      for (const auto& [id, n] : ids)
        if (leaves || rig.got(id) == "below")
          all.emplace_back(key, id);
    if (all.empty())
      return;
    auto [key, id] = all[which % all.size()];
    auto n = changes[key].extract(id).mapped();
    // It comes to the worker only now, and nothing newer may have.
    if (rig.got(id) == "below") {
      RC_ASSERT(n == 0 || n >= acknowledged[key]);
      stored[key] = std::max(stored[key], n);
    }
    leaves ? rig.drop(id) : rig.reply_to(id, "done");
  }

  // What holds after each step.
  void look() {
    for (auto n = seen + 1; n <= rig.children(); ++n)
      if (rig.sent(n).find('=') != std::string::npos)
        see_flush(n);
    seen = rig.children();
    RC_ASSERT(rig.count("unwritten")
              == static_cast<std::int64_t>(since.size()));
    RC_ASSERT(rig.e.held_open == !since.empty());
    RC_ASSERT(rig.count("flushing") <= config.flushes);
    for (const auto& [key, ids] : changes)
      for (const auto& [id, n] : ids)
        if (rig.got(id) == "below")
          RC_ASSERT(!since.contains(key));
  }

  void see_flush(std::uint64_t n) {
    auto text = rig.sent(n);
    auto at = text.find('=');
    auto key = text.substr(0, at);
    auto number = std::stoull(text.substr(at + 1));
    // The newest there is, and never older than what the worker has.
    RC_ASSERT(number == acknowledged[key]);
    RC_ASSERT(number >= stored[key]);
    for (const auto& [m, other] : flushes)
      RC_ASSERT(ended.contains(m) || other.first != key);
    flushes.emplace(n, std::pair{key, number});
  }

  [[nodiscard]] duration oldest_age() const {
    auto oldest = rig.now();
    for (const auto& [key, ages] : since)
      oldest = std::min(oldest, ages.begin()->second);
    return rig.now() - oldest;
  }

  [[nodiscard]] bool busy() const {
    auto waiting = std::any_of(changes.begin(), changes.end(),
                               [](auto& x) { return !x.second.empty(); });
    return waiting || rig.e.held_open || ended.size() < rig.children();
  }

  cache_rig rig;
  cache_config config;
  std::uint64_t numbers = 0;
  std::uint64_t seen = 0;
  std::map<std::string, std::uint64_t> stored;
  std::map<std::string, std::uint64_t> acknowledged;
  // When the writes came that the worker may lack.
  std::map<std::string, std::map<std::uint64_t, duration>> since;
  std::map<std::uint64_t, std::pair<std::string, std::uint64_t>> flushes;
  // Calls that change a key, waiting or below, with the number of the write.
  std::map<std::string, std::map<call_id, std::uint64_t>> changes;
  std::set<std::uint64_t> ended;
};

RC_GTEST_PROP(cache_writes, nothing_acknowledged_is_lost_or_overtaken, ()) {
  cache_config c;
  c.flush_after = *rc::gen::element<duration>(0ns, 100ms, 1s);
  c.flush_timeout = 1s;
  c.flush_backoff = *rc::gen::element<duration>(1ms, 200ms);
  c.staleness = *rc::gen::element<duration>(2s, 5s, unlimited);
  c.flushes = *rc::gen::inRange<std::uint32_t>(1, 4);
  c.max_unwritten = *rc::gen::inRange<std::uint32_t>(1, 4);
  c.max_entries = *rc::gen::inRange<std::uint32_t>(1, 4);
  c.ttl = *rc::gen::element<duration>(1ms, 1s, 1h);
  auto all = *rc::gen::container<std::vector<doing>>(rc::gen::construct<doing>(
    rc::gen::weightedElement<act>({{1, act::switch_mode},
                                   {6, act::write},
                                   {2, act::change},
                                   {2, act::read},
                                   {5, act::pass},
                                   {4, act::succeed},
                                   {2, act::fail},
                                   {3, act::end}}),
    rc::gen::arbitrary<std::uint8_t>(), rc::gen::inRange<std::uint8_t>(0, 50)));
  checked_cache p{c};
  for (const auto& x : all)
    p.play(x);
  p.finish();
}

} // namespace
} // namespace caisson::test
