// A naive model of a semaphore with partitions.
#pragma once

#include <caisson/policies/semaphore.hpp>

#include <support/rig.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// A semaphore with partitions, as plain lists: everything is found by looking
/// at all calls, each time. Shares are whole percentages; the rest is the last.
class partitions_model {
public:
  struct seen {
    place where = place::held;
    errc code{};
  };
  struct waiter {
    call_id id;
    std::uint32_t weight;
    std::string tenant;
    std::int32_t priority;
    time_point deadline;
    time_point end;
  };
  struct runner {
    std::uint32_t weight;
    std::string counts_to;
  };

  explicit partitions_model(semaphore_config c) : config(std::move(c)) {}

  void arrive(call_id id, const call_info& c) {
    auto tenant = name_for(c.key);
    if (outgrows(c.permits, tenant))
      return reject(id, errc::queue_full);
    waiter w{id, c.permits, tenant, c.priority, c.deadline, never};
    queue.push_back(w);
    if (heads().at(tenant).id == id && fits(w)
        && (is_within(w) || pick() == id)) {
      queue.pop_back();
      run(w);
      return serve();
    }
    queue.pop_back();
    join(w);
    serve();
  }

  void end(call_id id, place how) {
    calls[id].where = how;
    running.erase(id);
    std::erase_if(queue, [&](auto& w) { return w.id == id; });
    delayed.erase(id);
    serve();
  }

  void advance(duration d) {
    auto target = now + d;
    for (;;) {
      auto due = std::pair{target + duration{1}, call_id{0}};
      for (auto& w : queue)
        due = std::min(due, std::pair{w.end, w.id});
      for (auto& [id, at] : delayed)
        due = std::min(due, std::pair{at, id});
      if (due.first > target)
        break;
      now = std::max(now, due.first);
      if (delayed.erase(due.second) > 0) {
        reject(due.second, errc::queue_full);
        continue;
      }
      reject(due.second, errc::wait_timeout);
      std::erase_if(queue, [&](auto& w) { return w.id == due.second; });
      serve();
    }
    now = target;
  }

  void reconfigure(const semaphore_config& c,
                   const std::map<call_id, std::string>& keys) {
    config = c;
    for (auto& [id, x] : running)
      x.counts_to = name_in_list(x.counts_to);
    for (auto& w : queue)
      w.tenant = name_for(keys.at(w.id));
    auto outgrown = [&](const waiter& w) {
      return outgrows(w.weight, w.tenant);
    };
    for (auto& w : queue)
      if (outgrown(w))
        reject(w.id, errc::queue_full);
    std::erase_if(queue, outgrown);
    serve();
  }

  std::uint32_t used() const {
    std::uint32_t sum = 0;
    for (auto& [id, x] : running)
      sum += x.weight;
    return sum;
  }

  int used_by(const std::string& tenant) const {
    std::uint32_t sum = 0;
    for (auto& [id, x] : running)
      sum += x.counts_to == tenant ? x.weight : 0;
    return static_cast<int>(sum);
  }

  int waiting_of(const std::string& tenant) const {
    return static_cast<int>(std::count_if(
      queue.begin(), queue.end(), [&](auto& w) { return w.tenant == tenant; }));
  }

  std::vector<std::string> tenants() const {
    std::vector<std::string> out;
    for (auto& x : config.partitions.list)
      out.push_back(x.name);
    out.emplace_back("rest");
    return out;
  }

  // The part of `whole` that is theirs.
  int part_of(std::uint32_t whole, const std::string& tenant) const {
    auto names = tenants();
    std::map<std::string, int> out;
    auto left = static_cast<int>(whole);
    for (auto& x : names)
      left -= out[x] = static_cast<int>(whole) * percent_of(x) / 100;
    std::vector<std::string> by_fraction = names;
    std::stable_sort(by_fraction.begin(), by_fraction.end(),
                     [&](auto& a, auto& b) {
                       auto fraction = [&](auto& x) {
                         return static_cast<int>(whole) * percent_of(x) % 100;
                       };
                       return fraction(a) > fraction(b);
                     });
    for (auto& x : by_fraction)
      if (left > 0)
        ++out[x], --left;
    for (auto& poor : names) {
      if (out[poor] > 0 || percent_of(poor) == 0)
        continue;
      auto rich = names.front();
      for (auto& x : names)
        if (out[x] > out[rich])
          rich = x;
      if (out[rich] > 1)
        --out[rich], ++out[poor];
    }
    return out[tenant];
  }

  semaphore_config config;
  time_point now = rig<semaphore>::start();
  std::vector<waiter> queue;
  std::map<call_id, runner> running;
  std::map<call_id, time_point> delayed;
  std::map<call_id, seen> calls;

private:
  int percent_of(const std::string& tenant) const {
    auto left = 100;
    for (auto& x : config.partitions.list) {
      auto percent = static_cast<int>(x.share * 100 + 0.5);
      if (x.name == tenant)
        return percent;
      left -= percent;
    }
    return left;
  }

  std::string name_in_list(const std::string& name) const {
    for (auto& x : config.partitions.list)
      if (x.name == name)
        return name;
    return "rest";
  }

  std::string name_for(const std::string& key) const {
    return name_in_list(key.substr(0, key.find('/')));
  }

  void reject(call_id id, errc code) { calls[id] = {place::rejected, code}; }

  // Whether it could never run.
  bool outgrows(std::uint32_t weight, const std::string& tenant) const {
    return weight > config.permits
           || (!config.partitions.borrow
               && static_cast<int>(weight)
                    > std::max(part_of(config.permits, tenant), 1));
  }

  bool fits(const waiter& w) const {
    return used() + w.weight <= config.permits;
  }

  bool is_within(const waiter& w) const {
    return used_by(w.tenant) + static_cast<int>(w.weight)
           <= part_of(config.permits, w.tenant);
  }

  // Whether `a` is served before `b`, of the same partition.
  bool before(const waiter& a, const waiter& b) const {
    switch (config.order) {
      case wait_order::lifo:
        return a.id > b.id;
      case wait_order::deadline_first:
        return std::pair{a.deadline, a.id} < std::pair{b.deadline, b.id};
      case wait_order::priority:
        return std::pair{-a.priority, a.id} < std::pair{-b.priority, b.id};
      default:
        return a.id < b.id;
    }
  }

  std::map<std::string, waiter> heads() const {
    std::map<std::string, waiter> out;
    for (auto& w : queue)
      if (auto i = out.find(w.tenant); i == out.end() || before(w, i->second))
        out.insert_or_assign(w.tenant, w);
    return out;
  }

  // Whose turn it is; 0: nobody's.
  call_id pick() const {
    std::vector<waiter> within;
    std::vector<waiter> outside;
    for (auto& [tenant, w] : heads())
      if (is_within(w))
        within.push_back(w);
      else if (config.partitions.borrow || used_by(tenant) == 0)
        outside.push_back(w);
    auto some = !within.empty();
    std::erase_if(within, [&](auto& w) { return !fits(w); });
    auto& from = some ? within : outside;
    if (from.empty())
      return 0;
    auto best = *std::min_element(
      from.begin(), from.end(), [&](auto& a, auto& b) {
        auto pa = percent_of(a.tenant);
        auto pb = percent_of(b.tenant);
        if (pa == 0 && pb == 0)
          return a.id < b.id;
        if (pa == 0 || pb == 0)
          return pb == 0;
        return std::pair{used_by(a.tenant) * pb, a.id}
               < std::pair{used_by(b.tenant) * pa, b.id};
      });
    return fits(best) ? best.id : 0;
  }

  void run(const waiter& w) {
    running[w.id] = {w.weight, w.tenant};
    calls[w.id] = {place::below, {}};
  }

  void serve() {
    while (auto id = pick()) {
      auto i = std::find_if(queue.begin(), queue.end(),
                            [&](auto& w) { return w.id == id; });
      run(*i);
      queue.erase(i);
    }
  }

  // Those of one partition, the first to be served first.
  std::vector<waiter> row_of(const std::string& tenant) const {
    std::vector<waiter> out;
    for (auto& w : queue)
      if (w.tenant == tenant)
        out.push_back(w);
    std::sort(out.begin(), out.end(),
              [&](auto& a, auto& b) { return before(a, b); });
    return out;
  }

  void join(waiter w) {
    auto strict = !config.partitions.list.empty() && !config.partitions.borrow;
    auto full = queue.size() >= config.max_waiters
                || (strict
                    && waiting_of(w.tenant)
                         >= part_of(config.max_waiters, w.tenant));
    if (full && !make_room(w))
      return refuse(w);
    w.end = config.max_wait == unlimited ? never : now + config.max_wait;
    queue.push_back(w);
    calls[w.id] = {place::held, {}};
  }

  bool make_room(const waiter& w) {
    auto places = [&](const std::string& x) {
      return part_of(config.max_waiters, x);
    };
    std::optional<waiter> evicted_call;
    auto own = row_of(w.tenant);
    if (config.max_waiters > 0 && waiting_of(w.tenant) < places(w.tenant)) {
      auto worst = tenants().front();
      for (auto& x : tenants())
        if (waiting_of(x) - places(x) > waiting_of(worst) - places(worst))
          worst = x;
      evicted_call = row_of(worst).back();
    } else if (!own.empty() && config.max_waiters > 0
               && config.order != wait_order::fifo && before(w, own.back())) {
      evicted_call = own.back();
    }
    if (!evicted_call)
      return false;
    reject(evicted_call->id, errc::queue_full);
    std::erase_if(queue, [&](auto& x) { return x.id == evicted_call->id; });
    return true;
  }

  void refuse(const waiter& w) {
    const auto& p = config.partitions;
    auto until = now + p.reject_delay;
    if (p.reject_delay == duration::zero() || p.list.empty() || is_within(w)
        || w.deadline <= until || delayed.size() >= p.max_delayed)
      return reject(w.id, errc::queue_full);
    delayed[w.id] = until;
    calls[w.id] = {place::held, {}};
  }
};

} // namespace caisson::test
