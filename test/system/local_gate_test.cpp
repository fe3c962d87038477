// Local gates on the real scheduler: every request is answered once, whatever
// dies meanwhile, and factories may block.
#include <caisson/caf/error.hpp>
#include <caisson/local_gate.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

struct local_tally {
  std::atomic<int> asked{0};
  std::atomic<int> values{0};
  std::atomic<int> errors{0};
  std::atomic<int> clients{0};
  std::promise<void> done;
};

// Fails now and then, and dies now and then.
class mortal_worker final : public caf::event_based_actor {
public:
  mortal_worker(caf::actor_config& cfg, int life)
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

// Keeps `window` requests in progress until it has asked `total` times; every
// tenth is awaited.
class local_client final : public caf::event_based_actor {
public:
  local_client(caf::actor_config& cfg, worker behind, const stack& s,
               int window, int total, std::shared_ptr<local_tally> t)
    : caf::event_based_actor(cfg), gate_(this, std::move(behind), s),
      window_(window), left_(total), tally_(std::move(t)) {}

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
    auto good = [this](int) {
      ++tally_->values;
      answered();
    };
    auto bad = [this](caf::error&) {
      ++tally_->errors;
      answered();
    };
    auto request = gate_.request(left_).within(20s).idempotent();
    if (left_ % 10 == 0)
      std::move(request).await(good, bad);
    else
      std::move(request).then(good, bad);
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

  local_gate<> gate_;
  int window_;
  int left_;
  int open_ = 0;
  std::shared_ptr<local_tally> tally_;
};

class local_gate_real_test : public testing::Test {
protected:
  local_gate_real_test() {
    portable::set_threads(cfg, 4);
    sys = std::make_unique<caf::actor_system>(cfg);
  }

  system_config cfg;
  std::unique_ptr<caf::actor_system> sys;
};

TEST_F(local_gate_real_test, one_answer_each_while_workers_die) {
  auto t = std::make_shared<local_tally>();
  constexpr int clients = 4, total = 5'000;
  t->clients = clients;
  for (int i = 0; i < clients; ++i)
    sys->spawn<local_client>(
      worker::supervised(
        [](caf::actor_system& s) -> caf::expected<caf::actor> {
          return caf::actor_cast<caf::actor>(s.spawn<mortal_worker>(500));
        },
        {.restart = schedule::constant(1ms), .max_restarts = 1000}),
      stack{}
        .deadline({.timeout = 20s})
        .retrier({.backoff = schedule::constant(1ms), .idempotent = true})
        .breaker({.threshold = 50, .open = schedule::constant(5ms)})
        .semaphore({.permits = 40}),
      50, total, t);
  auto finished = t->done.get_future().wait_for(60s);
  ASSERT_EQ(finished, std::future_status::ready)
    << "asked " << t->asked << ", got " << t->values << " values and "
    << t->errors << " errors";
  EXPECT_EQ(t->asked, clients * total);
  EXPECT_EQ(t->values + t->errors, t->asked);
  EXPECT_GT(t->values, t->asked / 2);
}

// Counts those of its kind that live.
class counted final : public caf::event_based_actor {
public:
  counted(caf::actor_config& cfg, std::shared_ptr<std::atomic<int>> alive)
    : caf::event_based_actor(cfg), alive_(std::move(alive)) {
    ++*alive_;
  }
  caf::behavior make_behavior() override {
    return {[](int x) { return x * 2; }};
  }
  void on_exit() override { --*alive_; }

private:
  std::shared_ptr<std::atomic<int>> alive_;
};

// Asks once, through a worker whose factory takes a while.
class asker final : public caf::event_based_actor {
public:
  asker(caf::actor_config& cfg, std::shared_ptr<std::atomic<int>> alive,
        std::promise<int>* result)
    : caf::event_based_actor(cfg),
      gate_(this,
            worker::supervised([alive](caf::actor_system& s)
                                 -> caf::expected<caf::actor> {
              std::this_thread::sleep_for(50ms);
              return caf::actor_cast<caf::actor>(s.spawn<counted>(alive));
            }).on_own_thread(),
            stack{}),
      result_(result) {}

  caf::behavior make_behavior() override {
    gate_.request(21).then(
      [this](int x) {
        if (result_)
          result_->set_value(x);
      },
      [this](caf::error&) {
        if (result_)
          result_->set_value(-1);
      });
    return {[](int) {}};
  }

private:
  local_gate<> gate_;
  std::promise<int>* result_;
};

void expect_none(const std::atomic<int>& alive) {
  for (int i = 0; i < 500 && alive > 0; ++i)
    std::this_thread::sleep_for(10ms);
  EXPECT_EQ(alive, 0);
}

TEST_F(local_gate_real_test, a_factory_may_block) {
  auto alive = std::make_shared<std::atomic<int>>(0);
  std::promise<int> result;
  auto x = sys->spawn<asker>(alive, &result);
  EXPECT_EQ(result.get_future().get(), 42);
  EXPECT_EQ(*alive, 1);
  caf::anon_send_exit(x, caf::exit_reason::kill);
  expect_none(*alive);
}

TEST_F(local_gate_real_test, a_worker_that_comes_too_late_is_ended) {
  auto alive = std::make_shared<std::atomic<int>>(0);
  auto x = sys->spawn<asker>(alive, nullptr);
  caf::anon_send_exit(x, caf::exit_reason::kill);
  std::this_thread::sleep_for(100ms);
  expect_none(*alive);
}

// Makes a gate whose worker takes a while, and then finds that it cannot work.
class never_complete final : public caf::event_based_actor {
public:
  never_complete(caf::actor_config& cfg,
                 std::shared_ptr<std::atomic<int>> workers)
    : caf::event_based_actor(cfg),
      good_(this,
            worker::supervised([workers](caf::actor_system&)
                                 -> caf::expected<caf::actor> {
              std::this_thread::sleep_for(50ms);
              ++*workers;
              return caf::make_error(caf::sec::runtime_error);
            }).on_own_thread(),
            stack{}),
      bad_(this, worker{}, stack{}.semaphore({.permits = 0})) {}

  caf::behavior make_behavior() override {
    return {[](int) {}};
  }

private:
  local_gate<> good_;
  local_gate<> bad_;
};

TEST_F(local_gate_real_test, a_factory_outlasts_a_constructor_that_throws) {
  auto workers = std::make_shared<std::atomic<int>>(0);
  for (int i = 0; i < 4; ++i)
    EXPECT_THROW(sys->spawn<never_complete>(workers), config_error);
  while (*workers < 4)
    std::this_thread::sleep_for(10ms);
  sys->await_all_actors_done();
}

// Ends its gate while the worker is being made, and lives on.
class changes_its_mind final : public caf::event_based_actor {
public:
  changes_its_mind(caf::actor_config& cfg, worker behind, bool destroys)
    : caf::event_based_actor(cfg), destroys_(destroys),
      gate_(std::in_place, this, std::move(behind), stack{}) {}

  caf::behavior make_behavior() override {
    destroys_ ? gate_.reset() : gate_->stop();
    return {[](int x) { return x; }};
  }

private:
  bool destroys_;
  std::optional<local_gate<>> gate_;
};

TEST_F(local_gate_real_test, a_worker_that_nobody_wants_any_more_is_ended) {
  for (auto destroys : {true, false}) {
    auto alive = std::make_shared<std::atomic<int>>(0);
    auto workers = std::make_shared<std::atomic<int>>(0);
    // Blocking, so that it does not end just because nobody knows it.
    auto behind = worker::supervised([alive, workers](caf::actor_system& s)
                                       -> caf::expected<caf::actor> {
                    std::this_thread::sleep_for(50ms);
                    ++*alive;
                    ++*workers;
                    return caf::actor_cast<caf::actor>(s.spawn<caf::detached>(
                      [alive](caf::blocking_actor* self) {
                        self->receive([](const caf::exit_msg&) {});
                        --*alive;
                      }));
                  }).on_own_thread();
    auto x = sys->spawn<changes_its_mind>(behind, destroys);
    while (*workers < 1)
      std::this_thread::sleep_for(10ms);
    expect_none(*alive);
    caf::anon_send_exit(x, caf::exit_reason::kill);
  }
}

} // namespace
} // namespace caisson::test
