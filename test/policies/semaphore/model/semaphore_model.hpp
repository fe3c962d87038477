// A model of a semaphore: a row of waiting calls, a heap of running ones.
#pragma once

#include <caisson/policies/semaphore.hpp>

#include <support/against_model.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace caisson::test {

class semaphore_model : public policy_model<semaphore> {
public:
  static constexpr step_shares shares{.arrive = 9,
                                      .end = 5,
                                      .abandon = 2,
                                      .advance = 3,
                                      .step_back = 1,
                                      .reconfigure = 1,
                                      .command = 1};

  explicit semaphore_model(semaphore_config c) : c_(std::move(c)) {}

  // -- what is drawn ----------------------------------------------------------

  static semaphore_config any_settings() {
    using namespace std::chrono_literals;
    semaphore_config c;
    c.permits = any_of<std::uint32_t>({1, 1, 2, 3, 5, 8, 1'000'000});
    c.max_waiters = any_of<std::uint32_t>({0, 1, 2, 5, 5, 1'000'000});
    if (c.max_waiters > 0) {
      c.max_wait = any_of<duration>({1ns, 20ms, 100ms, unlimited});
      c.order = any_of({wait_order::fifo, wait_order::lifo});
    }
    return c;
  }

  static call_info arrival(const operation& x, unsigned) {
    return heavy(x.how % 3 == 0 ? 1 + x.which % 6 : 1);
  }

  static duration length(const operation& x) {
    return x.how % 4 == 0 ? duration{x.which % 3}
                          : duration{std::chrono::milliseconds{x.which % 60}};
  }

  // -- what happens -----------------------------------------------------------

  void arrive(call_id id, const call_info& call) {
    auto weight = call.permits;
    if (weight > c_.permits)
      return reject(id, errc::queue_full, "too_heavy");
    auto first = queue_.empty() || c_.order == wait_order::lifo;
    if (first && used() + weight <= c_.permits) {
      ++count["passed"];
      return run(id, weight);
    }
    if (c_.max_waiters == 0)
      return reject(id, errc::queue_full, "queue_full");
    if (queue_.size() >= c_.max_waiters) {
      if (c_.order == wait_order::fifo)
        return reject(id, errc::queue_full, "queue_full");
      leave(0, errc::queue_full, "evicted");
    }
    ++count["queued"];
    auto end = time_after(now, c_.max_wait);
    queue_.push_back({id, weight, end, now});
    calls[id].hold(end);
  }

  void finish(call_id id, const ending<>&) {
    calls[id].where = place::passed;
    ++count["finished"];
    running_.erase(id);
    grant();
  }

  void abandon(call_id id, errc) {
    ++count[running_.erase(id) > 0 ? "abandoned" : "gave_up"];
    std::erase_if(queue_, [&](const auto& w) {
      if (w.id == id)
        note("waited_us_refused", w);
      return w.id == id;
    });
    grant();
  }

  void advance_to(time_point t) {
    for (;;) {
      auto i = std::min_element(
        queue_.begin(), queue_.end(), [](const auto& a, const auto& b) {
          return std::tie(a.end, a.id) < std::tie(b.end, b.id);
        });
      if (i == queue_.end() || i->end > t)
        return;
      now = std::max(now, i->end);
      leave(i - queue_.begin(), errc::wait_timeout, "timed_out");
      grant();
    }
  }

  void reconfigure(const semaphore_config& c) {
    c_ = c;
    for (auto i = std::ssize(queue_); i-- > 0;)
      if (queue_[static_cast<std::size_t>(i)].weight > c.permits)
        leave(i, errc::queue_full, "outgrown");
    grant();
  }

  void command(const policy_command&) {
    count.clear();
    longest_ = 0;
  }

  void measure() {
    count["in_use"] = used();
    count["waiting"] = std::ssize(queue_);
    count["longest_wait_us"] = longest_;
  }

private:
  struct waiting_call {
    call_id id;
    std::uint32_t weight;
    time_point end;
    time_point since;
  };

  [[nodiscard]] std::uint32_t used() const {
    std::uint32_t sum = 0;
    for (const auto& [id, weight] : running_)
      sum += weight;
    return sum;
  }

  void reject(call_id id, errc code, const std::string& why) {
    calls[id].reject(code, duration::zero());
    ++count[why];
  }

  void leave(std::ptrdiff_t i, errc code, const std::string& why) {
    auto w = queue_.begin() + i;
    reject(w->id, code, why);
    note("waited_us_refused", *w);
    queue_.erase(w);
  }

  void note(const std::string& sum, const waiting_call& w) {
    auto us = now > w.since ? (now - w.since).count() / 1000 : 0;
    count[sum] += us;
    longest_ = std::max(longest_, us);
  }

  void run(call_id id, std::uint32_t weight) {
    running_[id] = weight;
    calls[id].where = place::below;
  }

  void grant() {
    while (!queue_.empty()) {
      auto i = c_.order == wait_order::fifo ? queue_.begin() : queue_.end() - 1;
      if (used() + i->weight > c_.permits)
        return;
      run(i->id, i->weight);
      ++count["granted"];
      note("waited_us_granted", *i);
      queue_.erase(i);
    }
  }

  semaphore_config c_;
  std::vector<waiting_call> queue_;
  std::map<call_id, std::uint32_t> running_;
  std::int64_t longest_ = 0;
};

} // namespace caisson::test
