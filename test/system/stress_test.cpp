// Gates on the real scheduler, with threads: every request is answered exactly
// once, whatever dies meanwhile.
#include <caisson/gate.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

struct tally {
  std::atomic<int> asked{0};
  std::atomic<int> values{0};
  std::atomic<int> errors{0};
  std::atomic<int> clients{0};
  std::promise<void> done;
};

// Keeps `window` requests in progress until it has asked `total` times.
class client final : public caf::event_based_actor {
public:
  client(caf::actor_config& cfg, caf::actor to, int window, int total,
         std::shared_ptr<tally> t)
    : caf::event_based_actor(cfg), to_(std::move(to)), window_(window),
      left_(total), tally_(std::move(t)) {}

  caf::behavior make_behavior() override {
    for (int i = 0; i < window_; ++i)
      next();
    return {[](int) {}};
  }

private:
  void next() {
    if (left_ == 0)
      return;
    ++tally_->asked;
    --left_;
    ++open_;
    portable::ask(this, to_, portable::no_timeout,
                  call(wrap(left_).within(5s).idempotent()))
      .then(
        [this](int) {
          ++tally_->values;
          answered();
        },
        [this](caf::error&) {
          ++tally_->errors;
          answered();
        });
  }

  void answered() {
    --open_;
    next();
    if (open_ > 0)
      return;
    if (--tally_->clients == 0)
      tally_->done.set_value();
    quit();
  }

  caf::actor to_;
  int window_;
  int left_;
  int open_ = 0;
  std::shared_ptr<tally> tally_;
};

// Fails now and then, and dies now and then.
class shaky final : public caf::event_based_actor {
public:
  shaky(caf::actor_config& cfg, int life)
    : caf::event_based_actor(cfg), life_(life) {}

  caf::behavior make_behavior() override {
    set_exception_handler([](std::exception_ptr&) -> caf::error {
      return caf::sec::runtime_error;
    });
    return {[this](int x) -> caf::result<int> {
      if (life_ > 0 && --life_ == 0)
        throw std::runtime_error{"end of life"};
      if (x % 7 == 0)
        return caf::make_error(caf::sec::end_of_stream);
      return x;
    }};
  }

private:
  int life_;
};

class stress_test : public testing::Test {
protected:
  stress_test() {
    portable::set_threads(cfg, 4);
    sys = std::make_unique<caf::actor_system>(cfg);
  }

  // Lets `clients` clients ask `total` times each; returns what they got.
  std::shared_ptr<tally> run(const caf::actor& g, int clients, int window,
                             int total) {
    auto t = std::make_shared<tally>();
    t->clients = clients;
    for (int i = 0; i < clients; ++i)
      sys->spawn<client>(g, window, total, t);
    auto finished = t->done.get_future().wait_for(60s);
    EXPECT_EQ(finished, std::future_status::ready)
      << "asked " << t->asked << ", got " << t->values << " values and "
      << t->errors << " errors";
    return t;
  }

  static stack everything() {
    return stack{}
      .deadline({.timeout = 10s})
      .retrier({.max_attempts = 3,
                .backoff = schedule::constant(1ms),
                .idempotent = true})
      .breaker({.threshold = 1000})
      .limiter({.rate = 1'000'000, .burst = 1'000'000})
      .semaphore({.permits = 50, .max_waiters = 100'000})
      .deadline({.timeout = 5s});
  }

  system_config cfg;
  std::unique_ptr<caf::actor_system> sys;
};

TEST_F(stress_test, a_full_stack_answers_every_request) {
  auto w = sys->spawn<shaky>(0);
  auto g = spawn_gate(*sys, worker{caf::actor_cast<caf::actor>(w)},
                      everything());
  auto t = run(g, 8, 32, 5'000);
  EXPECT_EQ(t->asked, 40'000);
  EXPECT_EQ(t->values + t->errors, 40'000);
  EXPECT_GT(t->values, 30'000);
  caf::scoped_actor self{*sys};
  portable::ask_blocking(self, g, 10s, get_status{})
    .receive(
      [](const status& s) {
        EXPECT_EQ(s.metrics.at("in_progress"), 0);
        for (auto& l : s.layers)
          if (l.kind == "semaphore") {
            EXPECT_EQ(l.metrics.at("in_use"), 0);
          }
      },
      [](caf::error& e) { FAIL() << to_string(e); });
  stop_gate(g);
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
}

TEST_F(stress_test, workers_that_die_again_and_again_are_made_again) {
  auto g = spawn_gate(
    *sys,
    worker::supervised(
      [](caf::actor_system& s) -> caf::expected<caf::actor> {
        return caf::actor_cast<caf::actor>(s.spawn<shaky>(500));
      },
      {.restart = schedule::constant(1ms), .max_restarts = 1000}),
    everything());
  auto t = run(g, 4, 16, 5'000);
  EXPECT_EQ(t->values + t->errors, t->asked);
  stop_gate(g);
}

TEST_F(stress_test, a_gate_stopped_in_the_middle_answers_what_it_holds) {
  for (int round = 0; round < 20; ++round) {
    auto w = sys->spawn<shaky>(0);
    auto g = spawn_gate(*sys, worker{caf::actor_cast<caf::actor>(w)},
                        everything());
    auto t = std::make_shared<tally>();
    t->clients = 4;
    for (int i = 0; i < 4; ++i)
      sys->spawn<client>(g, 64, 500, t);
    while (t->values < 100)
      std::this_thread::yield();
    stop_gate(g);
    ASSERT_EQ(t->done.get_future().wait_for(60s), std::future_status::ready);
    EXPECT_EQ(t->values + t->errors, t->asked);
    caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
  }
}

TEST_F(stress_test, deadlines_hold_on_the_real_clock) {
  class mute final : public caf::event_based_actor {
  public:
    using caf::event_based_actor::event_based_actor;
    caf::behavior make_behavior() override {
      return {[this](int) {
        kept_.push_back(make_response_promise<int>());
        return kept_.back();
      }};
    }
    void on_exit() override { kept_.clear(); }

  private:
    std::vector<caf::typed_response_promise<int>> kept_;
  };
  auto w = sys->spawn<mute>();
  auto g = spawn_deadline(*sys, worker{caf::actor_cast<caf::actor>(w)},
                          {.timeout = 50ms});
  caf::scoped_actor self{*sys};
  auto begin = std::chrono::steady_clock::now();
  portable::ask_blocking(self, g, 60s, 1)
    .receive([](int) { FAIL() << "answered"; },
             [](caf::error& e) { EXPECT_EQ(e, errc::deadline_exceeded); });
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 50ms);
  stop_gate(g);
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
}

} // namespace
} // namespace caisson::test
