// Callers and a worker for the benchmarks of gates that hold many calls.
#pragma once

#include <caisson/caf/hooks.hpp>
#include <caisson/gate.hpp>

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

namespace caisson::bench {

/// What a request asks of the worker: the content of every message here.
enum request : int {
  /// Answer at once.
  answer_now,
  /// Keep the request without an answer.
  keep,
  /// Answer with an error.
  fail,
  /// Answer all that were kept.
  answer_kept,
};

inline caf::message request_for(request what) {
  return caf::make_message(static_cast<int>(what));
}

/// What has happened so far; outlives all actors.
struct tally {
  std::atomic<std::size_t> kept{0};
  std::atomic<std::size_t> failed{0};
  std::atomic<std::size_t> answered{0};
  std::atomic<std::size_t> callers_ended{0};
};

/// The worker. What it keeps is not answered when it ends.
class keeper final : public caf::event_based_actor {
public:
  keeper(caf::actor_config& cfg, tally& t)
    : caf::event_based_actor(cfg), tally_(t) {}

  caf::behavior make_behavior() override {
    return {[this](int what) -> caf::result<int> {
      switch (what) {
        case keep:
          kept_.push_back(make_response_promise<int>());
          ++tally_.kept;
          return kept_.back();
        case fail:
          ++tally_.failed;
          return caf::make_error(caf::sec::end_of_stream);
        case answer_kept:
          for (auto& x : std::exchange(kept_, {}))
            x.deliver(1);
          return 1;
        default:
          return 1;
      }
    }};
  }

  void on_exit() override { kept_.clear(); }

private:
  tally& tally_;
  std::vector<caf::typed_response_promise<int>> kept_;
};

/// Makes `n` requests and counts the answers. Ends when all have come. Sent a
/// `drain`, takes its requests back one by one: the next when the one before
/// was answered.
///
/// It counts its requests by itself: an actor's own list of them is searched
/// from the front on CAF 0.17, which would hide what a gate costs.
class caller final : public portable::interceptor<drain> {
public:
  caller(caf::actor_config& cfg, caf::actor to, caf::message request,
         std::size_t n, tally& t)
    : portable::interceptor<drain>(cfg), to_(std::move(to)),
      request_(std::move(request)), open_(n), tally_(t) {}

  void on_exit() override {
    ++tally_.callers_ended;
    portable::interceptor<drain>::on_exit();
  }

protected:
  caf::behavior make_behavior() override {
    for (std::uint64_t key = 1; key <= open_; ++key)
      forward(to_, key, request_, false);
    return portable::interceptor<drain>::make_behavior();
  }

  caf::message_handler control() override {
    return caf::message_handler{[this](const drain&) { take_one_back(); }};
  }

  void on_answer(std::uint64_t, caf::message&&) override {
    ++tally_.answered;
    if (--open_ == 0)
      quit();
    else if (taking_back_)
      take_one_back();
  }

  void on_message(portable::reply_to, caf::message&&) override {}
  void on_timer() override {}
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  void take_one_back() {
    taking_back_ = true;
    send_from_return_address(to_,
                             caf::make_message(cancelled{call_number(open_)}));
  }

  caf::actor to_;
  caf::message request_;
  std::size_t open_;
  bool taking_back_ = false;
  tally& tally_;
};

/// Four layers that let everything pass. A call that failed is held an hour,
/// if `retries`.
inline stack four_layers(bool retries = false) {
  return stack{
    gate_config{.default_deadline = unlimited, .max_calls = 16'000'000}}
    .retrier({.max_attempts = retries ? 2u : 1u,
              .backoff = schedule::constant(std::chrono::hours(1)),
              .idempotent = true,
              .budget = false})
    .breaker({.threshold = 1'000'000})
    .limiter({.rate = 1'000'000'000, .burst = 1'000'000})
    .semaphore({.permits = 1'000'000});
}

} // namespace caisson::bench
