// Orders of waiting calls against a plain row of them.
#include <caisson/policy/waiting_queue.hpp>

#include <support/operations.hpp>
#include <support/times.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct row_call {
  call_info info;
  time_point since;
};

// Everybody stands in a row; whose turn it is is found by looking at all.
class waiting_queue_model {
public:
  waiting_queue_model(wait_order o, queue_settings s) : order(o), rules(s) {}

  void join(const call_info& c, time_point now) {
    row.push_back({c, now});
    if (order == wait_order::fair)
      enter(c.key);
    find_turn();
  }

  void reorder(wait_order o, const queue_settings& s) {
    auto other = o != order;
    order = o;
    rules = s;
    if (!other)
      return;
    ring.clear();
    restart();
    if (order == wait_order::fair)
      for (auto& x : row) {
        enter(x.info.key);
        find_turn();
      }
  }

  call_id next() const {
    if (order == wait_order::fair)
      return first_of(ring.front().key)->info.id;
    return std::min_element(row.begin(), row.end(),
                            [&](auto& a, auto& b) { return before(a, b); })
      ->info.id;
  }

  void remove(call_id id, bool pays) {
    auto i = find(id);
    auto key = i->info.key;
    auto permits = i->info.permits;
    row.erase(i);
    if (order == wait_order::fair) {
      auto r = std::find_if(ring.begin(), ring.end(),
                            [&](auto& x) { return x.key == key; });
      if (pays)
        r->credit -= permits;
      if (count_of(key) == 0) {
        in_turn = in_turn && r != ring.begin();
        ring.erase(r);
      }
      changed(key);
    }
    find_turn();
  }

  // 0: the newcomer.
  call_id who_leaves(const call_info& c, time_point now) const {
    auto all = row;
    all.push_back({c, now});
    if (order == wait_order::fifo || order == wait_order::codel
        || (order == wait_order::adaptive_lifo
            && all.size() <= rules.lifo_above))
      return 0;
    auto last = all.end();
    if (order == wait_order::fair) {
      auto key = longest();
      if (count_of(c.key) + 1 >= count_of(key))
        return 0;
      for (auto i = row.begin(); i != row.end(); ++i)
        if (i->info.key == key)
          last = all.begin() + (i - row.begin());
    } else {
      last = std::max_element(all.begin(), all.end(), [&](auto& a, auto& b) {
        return before(a, b, all.size());
      });
    }
    return last + 1 == all.end() ? 0 : last->info.id;
  }

  std::int64_t weight() const {
    std::int64_t sum = 0;
    for (auto& x : row)
      sum += x.info.permits;
    return sum;
  }

  std::vector<row_call> row;
  wait_order order;
  queue_settings rules;

private:
  struct turn {
    std::string key;
    std::int64_t credit = 0;
    int round = -1;
  };

  std::vector<row_call>::iterator find(call_id id) {
    return std::find_if(row.begin(), row.end(),
                        [&](auto& x) { return x.info.id == id; });
  }

  std::size_t count_of(const std::string& key) const {
    return static_cast<std::size_t>(std::count_if(
      row.begin(), row.end(), [&](auto& x) { return x.info.key == key; }));
  }

  std::vector<row_call>::const_iterator first_of(const std::string& key) const {
    return std::find_if(row.begin(), row.end(),
                        [&](auto& x) { return x.info.key == key; });
  }

  bool before(const row_call& a, const row_call& b) const {
    return before(a, b, row.size());
  }

  bool before(const row_call& a, const row_call& b, std::size_t size) const {
    auto older = a.info.id < b.info.id;
    switch (order) {
      case wait_order::deadline_first:
        if (a.info.deadline != b.info.deadline)
          return a.info.deadline < b.info.deadline;
        return older;
      case wait_order::priority: {
        auto more = std::int64_t{a.info.priority} - b.info.priority;
        if (rules.aging == unlimited)
          return more != 0 ? more > 0 : older;
        auto lead = (b.since - a.since) + more * rules.aging;
        if (lead != 0ns)
          return lead > 0ns;
        return more != 0 ? more > 0 : older;
      }
      case wait_order::lifo:
        return !older && a.info.id != b.info.id;
      case wait_order::adaptive_lifo:
        if (size > rules.lifo_above)
          return !older && a.info.id != b.info.id;
        return older;
      default:
        return older;
    }
  }

  // -- turns of keys ----------------------------------------------------------

  void enter(const std::string& key) {
    if (std::none_of(ring.begin(), ring.end(),
                     [&](auto& x) { return x.key == key; }))
      ring.push_back({key});
    changed(key);
  }

  void changed(const std::string& key) { changes[key] = ++last_change; }

  void restart() {
    in_turn = false;
    round = 1;
    quantum = largest = 0;
  }

  void find_turn() {
    if (ring.empty())
      restart();
    while (!ring.empty()) {
      auto& t = ring.front();
      if (!in_turn) {
        if (t.round == round) {
          ++round;
          quantum = std::exchange(largest, 0);
        }
        t.round = round;
        t.credit += quantum;
        in_turn = true;
      }
      auto price = first_of(t.key)->info.permits;
      if (price <= t.credit)
        return;
      largest = std::max<std::int64_t>(largest, price);
      in_turn = false;
      ring.splice(ring.end(), ring, ring.begin());
    }
  }

  std::string longest() const {
    std::string best;
    std::size_t most = 0;
    for (auto& t : ring)
      if (auto n = count_of(t.key);
          n > most || (n == most && changes.at(t.key) < changes.at(best)))
        best = t.key, most = n;
    return best;
  }

  std::list<turn> ring;
  bool in_turn = false;
  int round = 1;
  std::int64_t quantum = 0;
  std::int64_t largest = 0;
  std::map<std::string, int> changes;
  int last_change = 0;
};

// -- operations ---------------------------------------------------------------

class compared {
public:
  compared(wait_order o, const queue_settings& s) : queue(o, s), model(o, s) {}

  call_info newcomer(int n, int m) {
    call_info c;
    c.id = ++last_;
    c.permits = static_cast<std::uint32_t>(m % 3 == 0 ? 1 + n % 5 : 1);
    c.priority = m % 5 - 2;
    c.key = std::string(static_cast<std::size_t>(n % 4), 'k');
    c.deadline = n % 7 == 0 ? never : now + 1ms * (m % 6);
    return c;
  }

  void join(const call_info& c) {
    auto& s = stays[c.id];
    s.permits = c.permits;
    queue.join(c, s, now, never, static_cast<std::uint32_t>(c.id));
    model.join(c, now);
  }

  void leave(int n) {
    if (model.row.empty())
      return;
    auto i = static_cast<std::size_t>(n) % model.row.size();
    auto id = model.row[i].info.id;
    RC_ASSERT(queue.waits(stays.at(id), id));
    RC_ASSERT(queue.leave(stays.at(id)).call == id);
    RC_ASSERT(!queue.waits(stays.at(id), id));
    model.remove(id, false);
  }

  void take_next(bool pays) {
    if (model.row.empty())
      return;
    auto id = model.next();
    auto w = pays ? queue.take_next() : queue.drop_next();
    RC_ASSERT(w.call == id);
    RC_ASSERT(w.note == id);
    model.remove(id, pays);
  }

  // It is the turn of whoever comes now if that is so once it waits.
  void ask_about(const call_info& c) {
    auto with = model;
    with.join(c, now);
    RC_ASSERT(queue.newcomer_is_next(c, now) == (with.next() == c.id));
    std::int64_t before = 0;
    while (with.next() != c.id) {
      before += std::find_if(with.row.begin(), with.row.end(), [&](auto& x) {
                  return x.info.id == with.next();
                })->info.permits;
      with.remove(with.next(), true);
    }
    auto known = queue.weight_before(c, now);
    if (model.order != wait_order::fair)
      RC_ASSERT(known <= before);
    if (model.order < wait_order::deadline_first || before == model.weight())
      RC_ASSERT(model.order == wait_order::fair || known == before);
  }

  void come_to_a_full_queue(const call_info& c) {
    if (model.row.empty())
      return;
    auto leaves = model.who_leaves(c, now);
    auto removed_call = queue.make_room(c, now);
    RC_ASSERT((removed_call ? removed_call->call : 0) == leaves);
    if (leaves == 0)
      return;
    model.remove(leaves, false);
    join(c);
  }

  void reorder(wait_order o, const queue_settings& s) {
    queue.reorder(o, s, now);
    model.reorder(o, s);
  }

  void check() const {
    RC_ASSERT(queue.size() == model.row.size());
    RC_ASSERT(queue.weight() == model.weight());
    RC_ASSERT(queue.empty() == model.row.empty());
    if (!queue.empty())
      RC_ASSERT(queue.next().call == model.next());
  }

  time_point now = start;
  waiting_queue queue;
  waiting_queue_model model;
  std::map<call_id, waiting_queue::stay> stays;

private:
  call_id last_ = 0;
};

wait_order some_order() {
  return static_cast<wait_order>(
    *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, 7)));
}

queue_settings some_rules() {
  queue_settings s;
  s.lifo_above = *rc::gen::element<std::uint32_t>(0, 2, 5);
  s.aging = *rc::gen::element<duration>(1ms, 3ms, unlimited);
  return s;
}

void perform(const scripted_step& x, compared& c) {
  auto [what, n, m] = x;
  if (what < 8)
    c.join(c.newcomer(n, m));
  else if (what < 11)
    c.take_next(true);
  else if (what < 12)
    c.take_next(false);
  else if (what < 15)
    c.leave(n);
  else if (what < 17)
    c.come_to_a_full_queue(c.newcomer(n, m));
  else if (what < 19)
    c.ask_about(c.newcomer(n, m));
  else if (what < 22)
    c.now += duration{1ms} * (n % 3);
  else
    c.reorder(some_order(), some_rules());
}

RC_GTEST_PROP(waiting_queue_property, keeps_the_order_of_a_plain_row, ()) {
  auto order = some_order();
  compared c{order, some_rules()};
  auto reorders = *rc::gen::arbitrary<bool>();
  auto ops = *any_steps(200, reorders ? 23 : 22, 1000);
  for (auto& x : ops) {
    perform(x, c);
    c.check();
  }
  while (!c.queue.empty()) {
    c.take_next(true);
    c.check();
  }
}

} // namespace
} // namespace caisson::test
