// Workers with threads, on the real scheduler and clock.
#include <caisson/adapters/blocking_pool.hpp>
#include <caisson/gate.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// What all sessions of a test have done.
struct pool_tally {
  std::atomic<int> sessions{0};
  std::atomic<int> begun{0};
  std::atomic<int> at_once{0};
  std::atomic<int> most_at_once{0};
  std::atomic<int> interrupted{0};
  std::atomic<int> resets{0};
  std::atomic<bool> reachable{true};
};

// Takes so many milliseconds for an integer and answers with it; -1: throws;
// -2: reports that the server is unreachable.
class scripted_session final : public blocking_session {
public:
  explicit scripted_session(std::shared_ptr<pool_tally> t)
    : tally_(std::move(t)) {
    ++tally_->sessions;
  }

  void reset() noexcept override { ++tally_->resets; }

  result run(const job& x) override {
    ++tally_->begun;
    auto n = portable::get_if<int>(x.content);
    if (!n)
      return {caf::make_message(make_error(caf::sec::unexpected_message))};
    if (*n == -1)
      throw std::runtime_error{"the library threw"};
    if (*n == -2 || !tally_->reachable)
      return {caf::make_message(make_error(transport_errc::not_connected)),
              false};
    auto now = ++tally_->at_once;
    auto most = tally_->most_at_once.load();
    while (most < now && !tally_->most_at_once.compare_exchange_weak(most, now))
      ;
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(*n);
    auto came = signal().wait(-1, 0, std::min<time_point>(end, x.until));
    --tally_->at_once;
    if (came == interruption::wake::interrupted) {
      ++tally_->interrupted;
      return {caf::make_message(make_error(transport_errc::lost))};
    }
    if (end > x.until)
      return {caf::make_message(make_error(transport_errc::timed_out))};
    return {caf::make_message(*n)};
  }

private:
  std::shared_ptr<pool_tally> tally_;
};

/// With the types of pools, too.
struct pool_types_ready {
  pool_types_ready() { init_transport_types(); }
};

struct pool_config : pool_types_ready, system_config {
  pool_config() { register_transport_types(*this); }
};

class blocking_pool_test : public testing::Test {
protected:
  blocking_worker_kind kind() {
    return {
      .make = [t = seen] { return std::make_unique<scripted_session>(t); }};
  }

  // One whose first session exists only while the server is reachable.
  blocking_worker_kind connected_kind() {
    auto k = kind();
    k.ends_if_unreachable = true;
    k.first = [t = seen]() -> std::unique_ptr<blocking_session> {
      if (!t->reachable)
        throw std::runtime_error{"nobody listens"};
      return std::make_unique<scripted_session>(t);
    };
    return k;
  }

  // The answer as text: the value, or the error's name.
  static std::string text_of(const caf::error& e) {
    if (auto code = transport_errc_of(e))
      return std::string{name_of(*code)};
    auto o = outcome_of(caf::make_message(e));
    return o.own_error ? std::string{name_of(static_cast<errc>(o.code))}
                       : "another error";
  }

  template <class Handle>
  static std::string receive(Handle h) {
    std::string result;
    std::move(h).receive([&](int x) { result = std::to_string(x); },
                         [&](const caf::error& e) { result = text_of(e); });
    return result;
  }

  template <class... Ts>
  auto send(const caf::actor& to, const Ts&... xs) {
    return portable::ask_blocking(self, to, 20s, xs...);
  }

  template <class... Ts>
  std::string ask(const caf::actor& to, const Ts&... xs) {
    return receive(send(to, xs...));
  }

  template <class F>
  static bool eventually(F f) {
    for (int i = 0; i < 2'000 && !f(); ++i)
      std::this_thread::sleep_for(5ms);
    return f();
  }

  std::shared_ptr<pool_tally> seen = std::make_shared<pool_tally>();
  pool_config cfg;
  caf::actor_system sys{cfg};
  caf::scoped_actor self{sys};
};

TEST_F(blocking_pool_test, works_on_so_many_messages_at_once) {
  auto pool = spawn_blocking_pool(sys, kind(), {.threads = 3});
  std::vector<decltype(send(pool, 20))> all;
  for (int i = 0; i < 30; ++i)
    all.push_back(send(pool, 20));
  for (auto& x : all)
    EXPECT_EQ(receive(x), "20");
  EXPECT_EQ(seen->most_at_once, 3);
  EXPECT_EQ(seen->sessions, 3);
}

TEST_F(blocking_pool_test, starts_threads_only_when_it_needs_them) {
  auto pool = spawn_blocking_pool(sys, kind(), {.threads = 8});
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(ask(pool, 0), "0");
  EXPECT_EQ(seen->sessions, 1);
}

TEST_F(blocking_pool_test, refuses_what_has_no_room) {
  auto pool = spawn_blocking_pool(sys, kind(),
                                  {.threads = 1, .max_waiting = 1});
  auto first = send(pool, 200);
  auto second = send(pool, 0);
  EXPECT_EQ(ask(pool, 0), "busy");
  EXPECT_EQ(receive(first), "200");
  EXPECT_EQ(receive(second), "0");
  EXPECT_EQ(seen->begun, 2);
}

TEST_F(blocking_pool_test, keeps_the_deadline_of_a_call) {
  auto pool = spawn_blocking_pool(sys, kind(), {.threads = 1});
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(pool, wrap(10'000).within(50ms)), "timed_out");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST_F(blocking_pool_test, has_a_limit_of_its_own_for_each_message) {
  auto pool = spawn_blocking_pool(sys, kind(),
                                  {.threads = 1, .max_time = 30ms});
  EXPECT_EQ(ask(pool, 10'000), "timed_out");
  auto endless = wrap(10'000);
  endless.options.time_left = unlimited;
  EXPECT_EQ(ask(pool, endless), "timed_out");
}

TEST_F(blocking_pool_test, never_begins_what_is_late) {
  auto pool = spawn_blocking_pool(sys, kind(), {.threads = 1});
  auto first = send(pool, 300);
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(pool, wrap(0).within(20ms)), "busy");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 250ms);
  EXPECT_EQ(ask(pool, wrap(0).within(-1s)), "busy");
  EXPECT_EQ(receive(first), "300");
  EXPECT_EQ(seen->begun, 1);
}

TEST_F(blocking_pool_test, answers_what_it_does_not_understand) {
  auto pool = spawn_blocking_pool(sys, kind(), {});
  EXPECT_EQ(ask(pool, std::string{"what?"}), "another error");
  EXPECT_EQ(ask(pool, wrap(1, 2)), "another error");
  EXPECT_EQ(ask(pool, 0), "0");
}

TEST_F(blocking_pool_test, survives_a_session_that_throws) {
  auto pool = spawn_blocking_pool(sys, kind(), {.threads = 1});
  EXPECT_EQ(ask(pool, -1), "lost");
  EXPECT_EQ(seen->resets, 1);
  EXPECT_EQ(ask(pool, 0), "0");
  EXPECT_EQ(seen->sessions, 1);
}

// As when the system has no thread or file descriptor left.
TEST_F(blocking_pool_test, is_busy_while_it_can_make_no_thread) {
  auto k = kind();
  std::atomic<int> failures{2};
  k.make = [&, t = seen]() -> std::unique_ptr<blocking_session> {
    if (failures-- > 0)
      throw std::runtime_error{"no file descriptor"};
    return std::make_unique<scripted_session>(t);
  };
  auto pool = spawn_blocking_pool(sys, k, {.threads = 2});
  EXPECT_EQ(ask(pool, 0), "busy");
  EXPECT_EQ(ask(pool, 0), "busy");
  EXPECT_EQ(ask(pool, 0), "0");
  EXPECT_EQ(seen->sessions, 1);
}

// A gate's deadline cancels the message in the pool.
TEST_F(blocking_pool_test, frees_the_thread_of_a_cancelled_message) {
  auto gate = spawn_gate(sys, blocking_worker(kind(), {.threads = 1}),
                         stack{}.deadline({.timeout = 50ms}));
  EXPECT_EQ(ask(gate, 20'000), "deadline_exceeded");
  EXPECT_EQ(ask(gate, 0), "0");
  EXPECT_TRUE(eventually([&] { return seen->at_once == 0; }));
  EXPECT_EQ(seen->begun, 2);
  stop_gate(gate);
}

TEST_F(blocking_pool_test, takes_a_cancelled_message_from_the_queue) {
  auto pool = spawn_blocking_pool(sys, kind(), {.threads = 1});
  auto gate = spawn_gate(sys, worker{pool}.takes_calls().takes_cancelled(),
                         stack{});
  auto running = send(pool, 300);
  auto waiting = send(gate, wrap(0).within(10s));
  // The gate ends, and cancels what it has sent.
  EXPECT_TRUE(eventually([&] { return seen->begun == 1; }));
  stop_gate(gate);
  EXPECT_EQ(receive(waiting), "cancelled");
  EXPECT_EQ(receive(running), "300");
  EXPECT_EQ(ask(pool, 1), "1");
  EXPECT_EQ(seen->begun, 2);
}

TEST_F(blocking_pool_test, heeds_only_the_sender_who_cancels) {
  auto pool = spawn_blocking_pool(sys, kind(), {.threads = 1});
  auto answer = send(pool, 100);
  caf::scoped_actor other{sys};
  for (std::uint64_t n = 0; n < 100; ++n)
    portable::send(other, pool, cancelled{n});
  EXPECT_EQ(receive(answer), "100");
  EXPECT_EQ(seen->interrupted, 0);
}

TEST_F(blocking_pool_test, answers_all_that_it_has_when_it_ends) {
  auto pool = spawn_blocking_pool(sys, kind(), {.threads = 2});
  std::vector<decltype(send(pool, 20'000))> all;
  for (int i = 0; i < 5; ++i)
    all.push_back(send(pool, 20'000));
  EXPECT_TRUE(eventually([&] { return seen->at_once == 2; }));
  caf::anon_send_exit(pool, caf::exit_reason::user_shutdown);
  std::vector<std::string> answers;
  for (auto& x : all)
    answers.push_back(receive(x));
  EXPECT_EQ(answers, (std::vector<std::string>{"lost", "lost", "stopped",
                                               "stopped", "stopped"}));
  EXPECT_TRUE(eventually([&] { return seen->interrupted == 2; }));
}

TEST_F(blocking_pool_test, leaves_no_thread_behind) {
  {
    auto pool = spawn_blocking_pool(sys, kind(), {.threads = 4});
    std::vector<decltype(send(pool, 20))> all;
    for (int i = 0; i < 8; ++i)
      all.push_back(send(pool, 20));
    for (auto& x : all)
      receive(x);
  }
  // The scoped actor is left.
  EXPECT_TRUE(eventually([&] { return portable::running(sys) <= 1; }));
}

TEST_F(blocking_pool_test, ends_threads_without_work_and_starts_new_ones) {
  auto pool = spawn_blocking_pool(sys, connected_kind(),
                                  {.threads = 4, .idle_timeout = 30ms});
  for (int round = 1; round <= 3; ++round) {
    std::vector<decltype(send(pool, 20))> all;
    for (int i = 0; i < 4; ++i)
      all.push_back(send(pool, 20));
    for (auto& x : all)
      EXPECT_EQ(receive(x), "20");
    EXPECT_EQ(seen->sessions, 4 * round);
    // Of the threads only this test's own actor and the pool are left.
    EXPECT_TRUE(eventually([&] { return seen->resets == 4 * round; }));
    EXPECT_TRUE(eventually([&] { return portable::running(sys) <= 2; }));
  }
}

TEST_F(blocking_pool_test, never_ends_a_thread_that_works) {
  auto pool = spawn_blocking_pool(sys, kind(),
                                  {.threads = 1, .idle_timeout = 1ms});
  EXPECT_EQ(ask(pool, 100), "100");
  EXPECT_EQ(ask(pool, 100), "100");
  EXPECT_EQ(seen->interrupted, 0);
}

TEST_F(blocking_pool_test, makes_the_gate_look_for_another_when_unreachable) {
  auto gate = spawn_gate(sys, blocking_worker(connected_kind(), {.threads = 1}),
                         stack{});
  EXPECT_EQ(ask(gate, 0), "0");
  seen->reachable = false;
  EXPECT_EQ(ask(gate, 0), "not_connected");
  auto look = [&] {
    status s;
    portable::ask_blocking(self, gate, 20s, get_status{})
      .receive([&](const status& x) { s = x; }, [](const caf::error&) {});
    return s;
  };
  EXPECT_TRUE(eventually([&] { return look().worker != worker_state::up; }));
  EXPECT_EQ(ask(gate, wrap(0).within(200ms)), "deadline_exceeded");
  seen->reachable = true;
  EXPECT_EQ(ask(gate, 0), "0");
  auto s = look();
  EXPECT_GE(s.metric("worker_restarts"), 1);
  EXPECT_EQ(s.metric("worker_losses"), 1);
  stop_gate(gate);
}

TEST_F(blocking_pool_test, says_of_what_waits_that_nothing_was_done) {
  auto pool = spawn_blocking_pool(sys, connected_kind(), {.threads = 1});
  auto running = send(pool, 100);
  EXPECT_TRUE(eventually([&] { return seen->begun == 1; }));
  auto fails = send(pool, -2);
  auto waits = send(pool, 0);
  EXPECT_EQ(receive(running), "100");
  EXPECT_EQ(receive(fails), "not_connected");
  EXPECT_EQ(receive(waits), "stopped");
  EXPECT_EQ(seen->begun, 2);
}

// A thousand calls at once for four threads: the semaphore holds them.
TEST_F(blocking_pool_test, is_never_busy_behind_as_many_permits) {
  auto gate = spawn_gate(
    sys, blocking_worker(kind(), {.threads = 4, .max_waiting = 0}),
    stack{}.semaphore({.permits = 4, .max_waiters = 2'000}));
  std::vector<decltype(send(gate, 0))> all;
  for (int i = 0; i < 1'000; ++i)
    all.push_back(send(gate, 0));
  for (auto& x : all)
    ASSERT_EQ(receive(x), "0");
  EXPECT_LE(seen->most_at_once, 4);
  stop_gate(gate);
}

TEST_F(blocking_pool_test, a_kind_that_makes_nothing_is_busy) {
  auto pool = spawn_blocking_pool(sys, {.make = [] { return nullptr; }}, {});
  EXPECT_EQ(ask(pool, 0), "busy");
}

TEST_F(blocking_pool_test, refuses_settings_out_of_range) {
  EXPECT_THROW((void)spawn_blocking_pool(sys, kind(), {.threads = 0}),
               config_error);
  EXPECT_THROW((void)blocking_worker(kind(), {.max_time = 0s}), config_error);
  EXPECT_THROW((void)blocking_worker(kind(), {.idle_timeout = 0s}),
               config_error);
}

TEST(transport_errc, has_names) {
  for (std::uint8_t i = 1; i <= last_transport_errc; ++i) {
    auto x = static_cast<transport_errc>(i);
    EXPECT_NE(name_of(x), "unknown");
    EXPECT_EQ(transport_errc_named(name_of(x)), x);
    EXPECT_EQ(transport_errc_of(make_error(x, "text")), x);
  }
  EXPECT_EQ(name_of(transport_errc{0}), "unknown");
  EXPECT_EQ(transport_text_of(make_error(transport_errc::lost, "a")), "a");
  EXPECT_EQ(transport_errc_of(make_error(errc::shed)), std::nullopt);
  EXPECT_EQ(transport_errc_of(caf::error{}), std::nullopt);
}

TEST(transport_errc, reports_whether_it_was_done_and_whether_to_repeat) {
  struct row {
    transport_errc code;
    answer_class kind;
    bool may_have_executed;
    std::uint32_t most;
  };
  using enum transport_errc;
  for (auto& x : {row{not_connected, answer_class::retry, false, 0},
                  row{lost, answer_class::retry, true, 0},
                  row{timed_out, answer_class::retry, true, 0},
                  row{garbled, answer_class::retry, true, 2},
                  row{too_large, answer_class::fail, true, 0},
                  row{busy, answer_class::shed, false, 0},
                  row{stopped, answer_class::retry, false, 0},
                  row{bad_request, answer_class::fail, false, 0}}) {
    auto info = transport_answer(caf::make_message(make_error(x.code)));
    ASSERT_TRUE(info);
    EXPECT_EQ(info->kind, x.kind) << name_of(x.code);
    EXPECT_EQ(info->may_have_executed, x.may_have_executed) << name_of(x.code);
    EXPECT_EQ(info->max_attempts, x.most) << name_of(x.code);
    auto is_answer = x.code == too_large || x.code == bad_request;
    EXPECT_EQ(info->unanswered, !is_answer) << name_of(x.code);
    EXPECT_EQ(info->out_of_time, x.code == timed_out || x.code == busy)
      << name_of(x.code);
  }
  EXPECT_FALSE(transport_answer(caf::make_message(1)));
  EXPECT_FALSE(transport_answer(caf::make_message(make_error(errc::shed))));
}

} // namespace
} // namespace caisson::test
