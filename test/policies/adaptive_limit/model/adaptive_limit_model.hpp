// A model of an adaptive limit by AIMD, first come first served: a row of
// waiting calls, a heap of running ones, and all that has come back since the
// limit was set.
#pragma once

#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>

#include <support/against_model.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace caisson::test {

class adaptive_limit_model : public policy_model<adaptive_limit> {
public:
  // Other settings are those of `keeps_its_rules`.
  static constexpr step_shares shares{
    .arrive = 8, .end = 6, .abandon = 2, .advance = 4, .reconfigure = 0};

  explicit adaptive_limit_model(adaptive_limit_config c)
    : c_(std::move(c)), limit_(c_.initial_limit) {}

  // -- what is drawn ----------------------------------------------------------

  static adaptive_limit_config any_settings() {
    using namespace std::chrono_literals;
    adaptive_limit_config c;
    c.algorithm = limit_algorithm::aimd;
    c.min_limit = any_of<std::uint32_t>({1, 1, 2, 5});
    auto more = any_of<std::uint32_t>({0, 2, 5, 20});
    c.initial_limit = c.min_limit + more / 2;
    c.max_limit = c.min_limit + more;
    c.max_waiters = any_of<std::uint32_t>({0, 1, 3, 1'000});
    auto wait = any_of<duration>({1ns, 30ms, unlimited});
    c.max_wait = c.max_waiters > 0 ? wait : unlimited;
    c.min_samples = any_of<std::uint32_t>({1, 2, 5});
    c.drop_share = any_of({0.0, 0.25, 1.0});
    c.backoff = 0.5;
    c.window = 20ms;
    c.timeout = 100ms;
    return c;
  }

  static call_info arrival(const operation& x, unsigned) {
    return heavy(x.how % 4 == 0 ? 1 + x.which % 8 : 1);
  }

  static ending<> how_it_ends(const operation& x) {
    return x.how % 3 == 0 ? ending<>{outcome::failure(errc::worker_down, true)}
                          : ending<>{outcome::success()};
  }

  static errc why_it_leaves(const operation&) { return errc::cancelled; }

  static duration length(const operation& x) {
    return x.how % 4 == 0 ? duration{x.which % 3}
                          : duration{std::chrono::milliseconds{x.which % 40}};
  }

  // -- what happens -----------------------------------------------------------

  void arrive(call_id id, const call_info& call) {
    std::int64_t weight = call.permits;
    if (weight > c_.max_limit)
      return calls[id].reject(errc::queue_full);
    if (queue_.empty() && has_room(weight))
      return run(id, weight);
    was_busy_ = true;
    if (queue_.size() >= c_.max_waiters)
      return calls[id].reject(errc::queue_full);
    auto end = time_after(now, c_.max_wait);
    calls[id].hold(end);
    queue_.push_back({id, weight, end});
  }

  void finish(call_id id, const ending<>& how) {
    calls[id].where = place::passed;
    auto took = now > running_[id].since ? now - running_[id].since
                                         : duration{};
    running_.erase(id);
    note(!how.result.ok || took >= c_.timeout);
    grant();
  }

  // Says nothing about the worker.
  void abandon(call_id id, errc) {
    running_.erase(id);
    std::erase_if(queue_, [&](const auto& w) { return w.id == id; });
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
      now = i->end;
      calls[i->id].reject(errc::wait_timeout);
      queue_.erase(i);
      grant();
    }
  }

  static void reconfigure(const adaptive_limit_config&) {}

  // -- what is compared -------------------------------------------------------

  static bool knows(std::string_view) { return false; }

  void measure() {
    count["limit"] = limit_;
    count["in_use"] = used();
    count["waiting"] = std::ssize(queue_);
  }

private:
  struct running_call {
    std::int64_t weight;
    time_point since;
  };
  struct waiting_call {
    call_id id;
    std::int64_t weight;
    time_point end;
  };
  struct result {
    time_point at;
    bool bad;
  };

  [[nodiscard]] std::int64_t used() const {
    std::int64_t sum = 0;
    for (const auto& [id, x] : running_)
      sum += x.weight;
    return sum;
  }

  bool has_room(std::int64_t weight) const {
    return running_.empty() || used() + weight <= limit_;
  }

  void run(call_id id, std::int64_t weight) {
    running_[id] = {weight, now};
    calls[id].where = place::below;
    was_busy_ = was_busy_ || used() * 2 > limit_;
  }

  void grant() {
    while (!queue_.empty() && has_room(queue_.front().weight)) {
      auto w = queue_.front();
      queue_.erase(queue_.begin());
      run(w.id, w.weight);
    }
    was_busy_ = was_busy_ || !queue_.empty();
  }

  void note(bool bad_one) {
    results_.push_back({now, bad_one});
    if (results_.size() < c_.min_samples
        || now - results_.front().at < c_.window)
      return;
    auto bad = std::count_if(results_.begin(), results_.end(),
                             [](auto& r) { return r.bad; });
    auto share = static_cast<double>(bad)
                 / static_cast<double>(results_.size());
    if (share > c_.drop_share)
      limit_ = static_cast<std::int64_t>(static_cast<double>(limit_) / 2);
    else if (was_busy_)
      ++limit_;
    limit_ = std::max<std::int64_t>(limit_, c_.min_limit);
    limit_ = std::min<std::int64_t>(limit_, c_.max_limit);
    results_.clear();
    was_busy_ = used() * 2 > limit_;
  }

  adaptive_limit_config c_;
  std::int64_t limit_;
  std::map<call_id, running_call> running_;
  std::vector<waiting_call> queue_;
  std::vector<result> results_;
  bool was_busy_ = false;
};

} // namespace caisson::test
