// A semaphore with partitions against plain lists of calls.
#include <caisson/policies/semaphore.hpp>

#include <support/operations.hpp>
#include <support/partitions_model.hpp>
#include <support/rig.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using std::chrono::milliseconds;

using semaphore_rig = rig<semaphore>;

// -- operations ---------------------------------------------------------------

template <class T>
T one_of(std::initializer_list<T> xs) {
  return *rc::gen::resize(rc::kNominalSize,
                          rc::gen::elementOf(std::vector<T>(xs)));
}

partition_settings some_partitions() {
  partition_settings p;
  p.list = one_of<std::vector<limit_partition>>(
    {{},
     {{"a", 0.5}},
     {{"a", 0.7}, {"b", 0.2}},
     {{"a", 0.7}, {"b", 0.2}},
     {{"b", 0.25}, {"a", 0.25}, {"c", 0.5}},
     {{"c", 0.0}, {"a", 0.34}, {"b", 0.33}},
     {{"b", 0.01}, {"d", 0.99}}});
  if (p.list.empty())
    return p;
  p.borrow = one_of({true, true, false});
  p.reject_delay = one_of<duration>(
    {duration::zero(), duration::zero(), milliseconds{7}, milliseconds{30}});
  p.max_delayed = one_of<std::uint32_t>({1, 2, 100});
  return p;
}

semaphore_config some_partitioned() {
  semaphore_config c;
  c.permits = one_of<std::uint32_t>({1, 2, 3, 7, 10, 10, 20});
  c.partitions = some_partitions();
  auto needed = c.partitions.list.size() + 1;
  c.permits = std::max(c.permits, static_cast<std::uint32_t>(needed));
  auto useless = c.partitions.borrow
                 && c.partitions.reject_delay == duration::zero();
  c.max_waiters = useless ? one_of<std::uint32_t>({1, 3, 10, 1'000})
                          : one_of<std::uint32_t>({0, 1, 3, 10, 1'000});
  if (c.max_waiters == 0)
    return c;
  c.max_wait = one_of<duration>({milliseconds{20}, unlimited, unlimited});
  c.order = one_of({wait_order::fifo, wait_order::fifo, wait_order::lifo,
                    wait_order::deadline_first, wait_order::priority});
  c.queue.aging = unlimited;
  return c;
}

class both_partitioned {
public:
  explicit both_partitioned(const semaphore_config& c) : h(c), m(c) {}

  void perform(const scripted_step& x) {
    auto [what, n, k] = x;
    if (what < 12)
      arrive(n, k);
    else if (what < 17)
      finish(live_call(n));
    else if (what < 19)
      abandon(n);
    else if (what < 21)
      advance(k % 4 == 0 ? duration{n % 3} : duration{milliseconds{n % 40}});
    else
      change();
  }

  void compare() const {
    RC_ASSERT(h.calls.size() == m.calls.size());
    for (auto& [id, expected] : m.calls) {
      auto& actual = h.calls.at(id);
      RC_ASSERT(std::pair(id, actual.where) == std::pair(id, expected.where));
      RC_ASSERT(actual.descents <= 1);
      if (expected.where == place::rejected)
        RC_ASSERT(actual.code == expected.code);
    }
    RC_ASSERT(h.count("in_use") == m.used());
    RC_ASSERT(h.count("waiting") == static_cast<std::int64_t>(m.queue.size()));
    if (m.config.partitions.list.empty())
      return;
    for (auto& x : m.tenants()) {
      RC_ASSERT(h.count("in_use_" + x) == m.used_by(x));
      RC_ASSERT(h.count("waiting_" + x) == m.waiting_of(x));
      RC_ASSERT(h.count("guaranteed_" + x) == m.part_of(m.config.permits, x));
    }
  }

  // Nothing is left behind when all have gone.
  void clear() {
    for (auto& [id, x] : std::map{m.calls})
      if (x.where == place::held || x.where == place::below) {
        if (h.where(id) == place::rejected || h.where(id) == place::abandoned)
          continue;
        h.abandon(id);
        m.end(id, place::abandoned);
        compare();
      }
    RC_ASSERT(h.count("in_use") == 0);
    RC_ASSERT(h.count("waiting") == 0);
  }

private:
  call_id live_call(int n) const {
    auto some = m.running.begin();
    if (!m.running.empty())
      std::advance(some, static_cast<std::size_t>(n) % m.running.size());
    return some == m.running.end() ? 0 : some->first;
  }

  void arrive(int n, int k) {
    call_info c;
    c.key = std::string(1, "abcdx"[n % 5]) + (k % 2 == 0 ? "/more" : "");
    c.permits = static_cast<std::uint32_t>(k % 3 == 0 ? 1 + n % 4 : 1);
    c.priority = k % 4;
    if (n % 3 == 0)
      c.deadline = h.e.now + milliseconds{10 + k % 50};
    auto id = h.arrive(c);
    keys_[id] = c.key;
    m.arrive(id, c);
  }

  void finish(call_id id) {
    if (id == 0)
      return;
    h.finish(id);
    m.end(id, place::passed);
  }

  void abandon(int n) {
    std::vector<call_id> all;
    for (auto& [id, x] : m.calls)
      if (x.where == place::held || x.where == place::below)
        all.push_back(id);
    if (all.empty())
      return;
    auto id = all[static_cast<std::size_t>(n) % all.size()];
    h.abandon(id);
    m.end(id, place::abandoned);
  }

  void advance(duration d) {
    h.advance(d);
    m.advance(d);
  }

  void change() {
    auto c = some_partitioned();
    h.reconfigure(c);
    m.reconfigure(c, keys_);
  }

  semaphore_rig h;
  partitions_model m;
  std::map<call_id, std::string> keys_;
};

RC_GTEST_PROP(partitions_property, does_as_the_plain_lists_do, ()) {
  both_partitioned b{some_partitioned()};
  auto changes = *rc::gen::arbitrary<bool>();
  auto ops = *any_steps(200, changes ? 22 : 21, 1000);
  for (auto& x : ops) {
    b.perform(x);
    b.compare();
  }
  b.clear();
}

} // namespace
} // namespace caisson::test
