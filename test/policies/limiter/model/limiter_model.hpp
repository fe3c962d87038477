// A model of a limiter that lives through every single nanosecond.
#pragma once

#include <policies/limiter/model/limiter_rig.hpp>
#include <support/against_model.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

/// `level_` is counted in parts of a token, of which there are `per`; a
/// nanosecond brings `rate`.
class limiter_model : public policy_model<limiter> {
public:
  static constexpr step_shares shares{.arrive = 10,
                                      .end = 3,
                                      .abandon = 2,
                                      .advance = 5,
                                      .step_back = 1,
                                      .reconfigure = 1,
                                      .command = 1};
  static constexpr int longest = 300;

  explicit limiter_model(limiter_config c) : c_(std::move(c)), level_(full()) {}

  // -- what is drawn ----------------------------------------------------------

  // Small enough to count nanoseconds one by one.
  static limiter_config any_settings() {
    limiter_config c;
    c.rate = any_of<std::int64_t>({1, 3, 7, 10, 333, 999, 1000});
    c.per = duration{any_of({1000, 1001, 1999, 5000})};
    c.burst = any_of<std::uint32_t>({1, 1, 2, 3, 5});
    c.max_wait = any_of<duration>({0ns, 1ns, 400ns, 3us, 20us, unlimited});
    c.max_waiters = any_of<std::uint32_t>({0, 1, 3, 1'000'000});
    if (c.max_wait > duration::zero())
      c.max_waiters = std::max(c.max_waiters, 1u);
    c.drain_on_rejection = any_of({false, true});
    c.retry_after_cap = any_of<duration>({unlimited, unlimited, 0ns, 700ns});
    return c;
  }

  call_info arrival(const operation& x, unsigned) const {
    auto call = heavy(x.how % 3 == 0 ? 1 + x.which % 6 : 1);
    if (x.how % 5 == 0)
      call.deadline = now + duration{x.which * 4};
    return call;
  }

  static ending<> how_it_ends(const operation& x) {
    auto again = duration{x.how};
    auto executed = x.how % 2 == 0;
    switch (x.which % 10) {
      case 0: {
        auto o = outcome::failure(errc::rate_limited, executed, again);
        o.from_worker = x.how % 4 == 0;
        return {o};
      }
      case 1:
        return {error_of_worker(again)};
      case 2:
      case 3:
        return {outcome::failure(errc::breaker_open, executed, again)};
      case 4:
        return {outcome::failure(errc::worker_down, true)};
      default:
        return {outcome::success()};
    }
  }
  // The other digits of the number say how it ends.
  static std::size_t choice(const operation& x, std::size_t n) {
    return x.which / 10 % n;
  }

  static duration length(const operation& x) {
    return duration{x.how % 4 == 0 ? x.which % 3 : x.which * 2};
  }

  // -- what happens -----------------------------------------------------------

  void arrive(call_id id, const call_info& call) {
    std::int64_t weight = call.permits;
    auto& x = calls[id];
    if (weight > c_.burst)
      return x.reject(errc::rate_limited, 0ns);
    if (queue_.empty() && level_ >= weight * per())
      return run(id, weight);
    auto turn = pass_time(weight);
    auto wait = turn - now;
    if (wait > c_.max_wait || turn >= call.deadline)
      return x.reject(errc::rate_limited, wait);
    if (queue_.size() >= c_.max_waiters)
      return x.reject(errc::queue_full, wait);
    queue_.push_back({id, weight, time_after(now, c_.max_wait)});
    x.hold();
  }

  void finish(call_id id, const ending<>& how) {
    const auto& o = how.result;
    if (!o.ok && !o.may_have_executed)
      put_back(running_[id]);
    if (c_.drain_on_rejection && !o.ok && o.from_worker
        && (o.is(errc::rate_limited) || o.retry_after > 0ns)) {
      level_ = 0;
      shut_until_ = std::max(shut_until_,
                             now + std::min(o.retry_after, c_.retry_after_cap));
      latest_ = std::max(latest_, shut_until_);
    }
    running_.erase(id);
    calls[id].where = place::passed;
    grant();
  }

  void abandon(call_id id, errc) {
    running_.erase(id);
    std::erase_if(queue_, [=](const auto& w) { return w.id == id; });
    grant();
  }

  void advance_to(time_point t) {
    while (now < t)
      tick();
  }

  void reconfigure(const limiter_config& c) {
    level_ = level_ * c.per.count() / per();
    c_ = c;
    level_ = std::min(level_, full());
    for (const auto& w : queue_)
      if (w.weight > c.burst)
        calls[w.id].reject(errc::rate_limited, 0ns);
    std::erase_if(queue_, [&](const auto& w) { return w.weight > c.burst; });
    grant();
  }

  void command(const policy_command&) {
    level_ = full();
    shut_until_ = time_point::min();
    latest_ = now;
    grant();
  }

  // -- what is compared -------------------------------------------------------

  // Brings the gauge up to the present.
  static void prepare(limiter_rig& real) {
    real.policy.wake(real.e);
    RC_ASSERT(real.e.actions.empty());
  }

  static bool knows(std::string_view) { return false; }

  void measure() {
    count["tokens"] = level_ / per();
    count["waiting"] = std::ssize(queue_);
  }

private:
  struct waiting {
    call_id id;
    std::int64_t weight;
    time_point end;
  };

  [[nodiscard]] std::int64_t per() const { return c_.per.count(); }
  [[nodiscard]] std::int64_t full() const { return per() * c_.burst; }

  // One more nanosecond.
  void tick() {
    now += 1ns;
    if (now > latest_) {
      latest_ = now;
      level_ = level_ < full() ? level_ + c_.rate : full();
    }
    grant();
    // Those who leave at the same instant leave in the order they came.
    for (;;) {
      auto i = std::find_if(queue_.begin(), queue_.end(),
                            [this](const auto& w) { return w.end == now; });
      if (i == queue_.end())
        return;
      auto w = *i;
      queue_.erase(i);
      calls[w.id].reject(errc::wait_timeout, pass_time(w.weight) - now);
      grant();
    }
  }

  void run(call_id id, std::int64_t weight) {
    level_ -= weight * per();
    running_[id] = weight;
    calls[id].where = place::below;
  }

  void grant() {
    while (!queue_.empty() && level_ >= queue_.front().weight * per()) {
      run(queue_.front().id, queue_.front().weight);
      queue_.erase(queue_.begin());
    }
  }

  void put_back(std::int64_t weight) {
    if (now >= shut_until_ && level_ < full())
      level_ = std::min(level_ + weight * per(), full());
  }

  [[nodiscard]] time_point pass_time(std::int64_t weight) const {
    for (const auto& w : queue_)
      weight += w.weight;
    auto missing = weight * per() - level_;
    auto ns = missing / c_.rate + (missing % c_.rate > 0 ? 1 : 0);
    return latest_ + duration{ns};
  }

  limiter_config c_;
  std::int64_t level_;
  // No time before this instant counts (again).
  time_point latest_ = now;
  time_point shut_until_ = time_point::min();
  std::vector<waiting> queue_;
  std::map<call_id, std::int64_t> running_;
};

} // namespace caisson::test
