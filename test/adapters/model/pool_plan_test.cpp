#include <caisson/adapters/detail/pool_plan.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace caisson::detail {
namespace {

// A list that is searched from the front.
struct pool_plan_model {
  std::size_t threads;
  std::size_t room;
  std::uint64_t last = 0;
  std::vector<std::pair<std::uint64_t, time_point>> waiting = {};
  std::vector<std::uint64_t> running = {};

  std::optional<std::uint64_t> add(time_point deadline) {
    if (waiting.size() + running.size() >= threads + room
        && waiting.size() >= room + (threads - running.size()))
      return std::nullopt;
    waiting.emplace_back(++last, deadline);
    return last;
  }

  std::optional<std::uint64_t> next() {
    if (running.size() >= threads || waiting.empty())
      return std::nullopt;
    running.push_back(waiting.front().first);
    waiting.erase(waiting.begin());
    return running.back();
  }

  std::optional<std::uint64_t> overdue(time_point now) {
    auto first = std::min_element(
      waiting.begin(), waiting.end(),
      [](auto& a, auto& b) { return a.second < b.second; });
    if (first == waiting.end() || first->second > now)
      return std::nullopt;
    auto x = first->first;
    waiting.erase(first);
    return x;
  }

  bool drop(std::uint64_t x) {
    return std::erase_if(waiting, [&](auto& w) { return w.first == x; }) > 0;
  }

  bool finish(std::uint64_t x) { return std::erase(running, x) > 0; }
};

RC_GTEST_PROP(pool_plan_property, does_what_a_list_does, ()) {
  auto threads = *rc::gen::inRange<std::size_t>(1, 5);
  auto room = *rc::gen::inRange<std::size_t>(0, 6);
  constexpr auto patience = std::chrono::seconds(4);
  pool_plan plan{threads, room, patience};
  pool_plan_model model{threads, room};
  std::map<std::uint64_t, std::size_t> places;
  std::map<std::size_t, time_point> idle_since;
  time_point now{};
  auto steps = *rc::gen::inRange(0, 200);
  for (int i = 0; i < steps; ++i) {
    auto any = *rc::gen::inRange<std::uint64_t>(1, model.last + 2);
    switch (*rc::gen::inRange(0, 6)) {
      case 0: {
        auto deadline = now + std::chrono::seconds(*rc::gen::inRange(0, 5));
        RC_ASSERT(plan.add(deadline) == model.add(deadline));
        break;
      }
      case 1: {
        auto x = plan.next();
        RC_ASSERT((x ? std::optional{x->what} : std::nullopt) == model.next());
        if (x) {
          RC_ASSERT(x->thread < threads);
          for (auto& [job, thread] : places)
            RC_ASSERT(thread != x->thread);
          // A new one only if all others work, and the last used one first.
          for (auto& [thread, since] : idle_since) {
            RC_ASSERT(idle_since.contains(x->thread));
            RC_ASSERT(since <= idle_since[x->thread]);
          }
          idle_since.erase(x->thread);
          places[x->what] = x->thread;
          RC_ASSERT(plan.thread_of(x->what) == x->thread);
        }
        break;
      }
      case 2:
        now += std::chrono::seconds(*rc::gen::inRange(0, 3));
        RC_ASSERT(plan.overdue(now) == model.overdue(now));
        break;
      case 3:
        RC_ASSERT(plan.drop(any) == model.drop(any));
        break;
      case 4: {
        auto first = std::ranges::min_element(idle_since, {},
                                              [](auto& x) { return x.second; });
        auto x = plan.idle(now);
        RC_ASSERT(
          x.has_value()
          == (first != idle_since.end() && now - first->second >= patience));
        if (x) {
          RC_ASSERT(idle_since.at(*x) == first->second);
          idle_since.erase(*x);
        }
        break;
      }
      default:
        RC_ASSERT(plan.finish(any, now) == model.finish(any));
        if (auto place = places.extract(any))
          idle_since[place.mapped()] = now;
    }
    auto wakes = never;
    for (auto& [job, deadline] : model.waiting)
      wakes = std::min(wakes, deadline);
    for (auto& [thread, since] : idle_since)
      wakes = std::min(wakes, since + patience);
    RC_ASSERT(plan.wakes_at() == wakes);
    RC_ASSERT(plan.running() == model.running.size());
    RC_ASSERT(plan.waiting() == model.waiting.size());
    RC_ASSERT(plan.running() <= threads);
  }
}

} // namespace
} // namespace caisson::detail
