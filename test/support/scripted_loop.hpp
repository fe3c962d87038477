// An event loop of tests, whose time is a clock that jumps.
#pragma once

#include <caisson/gate/event_loop.hpp>

#include <support/jumping_clock.hpp>

#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace caisson::test {

/// For one thread. Time passes in `run` only, from timer to timer.
class scripted_loop final : public event_loop {
public:
  explicit scripted_loop(jumping_clock& clock) : clock_(clock) {}

  void post(std::function<void()> f) override {
    ready_.push_back(std::move(f));
  }

  std::unique_ptr<loop_timer> make_timer(std::function<void()> f) override {
    return std::make_unique<timer>(*this, std::move(f));
  }

  /// `f` at that time.
  void at(time_point when, std::function<void()> f) {
    due_.emplace(std::pair{when, ++last_}, std::move(f));
  }

  /// To be awaited.
  auto pause(duration d) {
    struct awaiter {
      scripted_loop& loop;
      duration d;
      [[nodiscard]] bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> waiter) {
        loop.at(loop.clock_.now() + d, [waiter] { waiter.resume(); });
      }
      void await_resume() const noexcept {}
    };
    return awaiter{*this, d};
  }

  /// What is ready now.
  void run_ready() {
    while (!ready_.empty()) {
      auto f = std::move(ready_.front());
      ready_.pop_front();
      f();
    }
  }

  /// All that comes until `until`.
  void run(time_point until = never) {
    run_ready();
    while (!due_.empty() && due_.begin()->first.first <= until) {
      auto next = due_.extract(due_.begin());
      if (auto now = clock_.now(); next.key().first > now)
        clock_.pass(next.key().first - now);
      next.mapped()();
      run_ready();
    }
    if (until != never && clock_.now() < until)
      clock_.pass(until - clock_.now());
  }

  void run_for(duration d) { run(clock_.now() + d); }

  /// How many timers are set.
  [[nodiscard]] std::size_t timers() const { return due_.size(); }
  /// How many functions were posted and did not run.
  [[nodiscard]] std::size_t ready() const { return ready_.size(); }

private:
  using place = std::pair<time_point, std::uint64_t>;

  class timer final : public loop_timer {
  public:
    timer(scripted_loop& loop, std::function<void()> f)
      : loop_(loop), f_(std::move(f)) {}
    ~timer() override { loop_.due_.erase(place_); }

    void set(time_point at) override {
      loop_.due_.erase(place_);
      place_ = {at, ++loop_.last_};
      if (at != never)
        loop_.due_.emplace(place_, f_);
    }

  private:
    scripted_loop& loop_;
    const std::function<void()> f_;
    place place_ = {never, 0};
  };

  jumping_clock& clock_;
  std::deque<std::function<void()>> ready_;
  std::map<place, std::function<void()>> due_;
  std::uint64_t last_ = 0;
};

} // namespace caisson::test
