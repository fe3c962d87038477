#include <caisson/base/timer_queue.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace caisson {
namespace {

// A sorted tree does slowly and obviously what the heap does.
class timer_queue_model {
public:
  void push(int id, time_point at) { where_[id] = timers_.emplace(at, id); }

  bool cancel(int id) {
    auto i = where_.find(id);
    if (i == where_.end())
      return false;
    timers_.erase(i->second);
    where_.erase(i);
    return true;
  }

  bool update(int id, time_point at) {
    if (!cancel(id))
      return false;
    push(id, at);
    return true;
  }

  [[nodiscard]] time_point next() const {
    return timers_.empty() ? never : timers_.begin()->first;
  }

  std::optional<int> pop_due(time_point now) {
    if (timers_.empty() || next() > now || next() == never)
      return std::nullopt;
    auto id = timers_.begin()->second;
    cancel(id);
    return id;
  }

  void clear() { timers_.clear(), where_.clear(); }

  [[nodiscard]] std::size_t size() const { return timers_.size(); }

private:
  using tree = std::multimap<time_point, int>;
  tree timers_;
  std::map<int, tree::iterator> where_;
};

enum class step { push, cancel, update, pop, clear };

// Few different times, so that ties are frequent; now and then the extremes.
rc::Gen<time_point> some_time() {
  return rc::gen::map(rc::gen::inRange(0, 36), [](int n) {
    if (n == 34)
      return never;
    if (n == 35)
      return time_point::min();
    return time_point{} + std::chrono::seconds(n);
  });
}

RC_GTEST_PROP(timer_queue_model, agrees_with_a_sorted_tree, ()) {
  auto steps = *rc::gen::inRange(1, 1000);
  timer_queue<int> q;
  timer_queue_model model;
  std::vector<timer_queue<int>::handle> handles;
  for (int i = 0; i < steps; ++i) {
    auto what = *rc::gen::weightedElement<step>({{80, step::push},
                                                 {40, step::cancel},
                                                 {40, step::update},
                                                 {30, step::pop},
                                                 {1, step::clear}});
    // Any handle that was ever given out, stale or not.
    auto given_out = static_cast<int>(handles.size());
    auto any = given_out == 0
                 ? 0
                 : *rc::gen::resize(rc::kNominalSize,
                                    rc::gen::inRange(0, given_out));
    if (handles.empty())
      what = step::push;
    auto t = *some_time();
    switch (what) {
      case step::push: {
        auto id = static_cast<int>(handles.size());
        handles.push_back(q.push(t, id));
        model.push(id, t);
        break;
      }
      case step::cancel:
        RC_ASSERT(q.cancel(handles[static_cast<std::size_t>(any)])
                  == model.cancel(any));
        break;
      case step::update:
        RC_ASSERT(q.update(handles[static_cast<std::size_t>(any)], t)
                  == model.update(any, t));
        break;
      case step::pop:
        RC_ASSERT(q.pop_due(t) == model.pop_due(t));
        break;
      case step::clear:
        q.clear();
        model.clear();
        break;
    }
    RC_ASSERT(q.size() == model.size());
    RC_ASSERT(q.empty() == (model.size() == 0));
    RC_ASSERT(q.next() == model.next());
  }
  while (auto x = model.pop_due(never))
    RC_ASSERT(q.pop_due(never) == x);
  RC_ASSERT(q.pop_due(never) == std::nullopt);
}

} // namespace
} // namespace caisson
