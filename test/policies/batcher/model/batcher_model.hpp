// A second batcher, for comparison, which looks at every item each time.
#pragma once

#include <policies/batcher/model/batcher_rig.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// What a batcher is to do. It is no model for `check_against_model`, which
/// knows calls only: batches end apart from their calls and are taken some
/// steps after they were launched, and what is drawn depends on those that
/// there are.
struct batcher_model {
  struct item {
    std::string identity;
    std::vector<std::pair<call_id, time_point>> calls; // and deadlines
    time_point joined;
    std::uint64_t weight;
  };

  batcher_config config;
  std::deque<item> waiting;
  std::map<std::uint64_t, call_ids> launched; // and not taken
  std::set<std::uint64_t> in_flight;          // launched or taken
  std::uint64_t last = 0;
  bool draining = false;
  std::map<std::string, std::int64_t> counted;
  std::vector<std::uint64_t> just_launched;

  [[nodiscard]] time_point by_delay() const {
    return waiting.front().joined + config.max_delay;
  }

  [[nodiscard]] time_point by_deadline() const {
    auto result = never;
    for (const auto& x : waiting)
      for (auto [call, deadline] : x.calls)
        if (deadline != never)
          result = std::min(result, deadline - config.deadline_margin);
    return result;
  }

  [[nodiscard]] std::size_t calls() const {
    std::size_t n = 0;
    for (const auto& x : waiting)
      n += x.calls.size();
    return n;
  }

  [[nodiscard]] bool may_launch() const {
    return !waiting.empty() && in_flight.size() < config.max_outstanding;
  }

  [[nodiscard]] time_point wakeup() const {
    if (!may_launch())
      return never;
    return std::min(by_delay(), by_deadline());
  }

  // How many items fit into the next batch.
  [[nodiscard]] std::size_t fitting() const {
    std::uint64_t weight = 0;
    for (std::size_t n = 0; n < waiting.size(); ++n) {
      weight += waiting[n].weight;
      auto heavy = config.max_weight != 0 && weight > config.max_weight;
      if (n == config.max_items || (n > 0 && heavy))
        return n;
    }
    return waiting.size();
  }

  [[nodiscard]] std::string why(time_point now) const {
    if (waiting.size() >= config.max_items && fitting() == config.max_items)
      return "flushed_by_count";
    std::uint64_t weight = 0;
    for (const auto& x : waiting)
      weight += x.weight;
    if (config.max_weight != 0 && weight >= config.max_weight)
      return "flushed_by_weight";
    if (draining)
      return "flushed_by_drain";
    if (by_deadline() <= now && by_deadline() < by_delay())
      return "flushed_by_deadline";
    return by_delay() <= now ? "flushed_by_delay" : "";
  }

  void launch_all(time_point now) {
    while (may_launch() && !why(now).empty()) {
      ++counted[why(now)];
      auto& batch = launched[++last];
      for (auto n = fitting(); n > 0; --n) {
        for (auto [call, deadline] : waiting.front().calls)
          batch.push_back(call);
        waiting.pop_front();
      }
      in_flight.insert(last);
      just_launched.push_back(last);
    }
  }

  bool arrive(call_id call, time_point deadline, std::uint64_t weight,
              const std::string& identity, time_point now) {
    if (calls() >= config.max_waiting) {
      ++counted["rejected_full"];
      return false;
    }
    auto same = std::find_if(waiting.begin(), waiting.end(), [&](auto& x) {
      return !identity.empty() && x.identity == identity;
    });
    if (config.when_blocked == blocked_items::reject && same == waiting.end()
        && in_flight.size() >= config.max_outstanding) {
      ++counted["rejected_blocked"];
      return false;
    }
    ++counted["items"];
    if (same != waiting.end()) {
      ++counted["equal_items"];
      same->calls.emplace_back(call, deadline);
    } else {
      waiting.push_back({identity, {{call, deadline}}, now, weight});
    }
    launch_all(now);
    return true;
  }

  void abandon(call_id call) {
    ++counted["abandoned"];
    for (auto& x : waiting)
      std::erase_if(x.calls, [=](const auto& y) { return y.first == call; });
    std::erase_if(waiting, [](const auto& x) { return x.calls.empty(); });
    for (auto& [batch, calls] : launched)
      std::erase(calls, call);
  }

  call_ids take(std::uint64_t batch) {
    auto result = launched[batch];
    launched.erase(batch);
    return result;
  }

  void done(std::uint64_t batch, time_point now) {
    in_flight.erase(batch);
    launch_all(now);
  }
};

} // namespace caisson::test
