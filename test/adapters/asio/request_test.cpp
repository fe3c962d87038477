// Requests to gates as operations of Asio.
#include <caisson/adapters/asio/request.hpp>
#include <caisson/gate.hpp>

#include <gtest/gtest.h>

#include <asio.hpp>
#include <asio/experimental/awaitable_operators.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class asio_request_test : public testing::Test {
public:
  using promise = caf::typed_response_promise<int>;
  using answer = std::optional<result<int>>;

  asio_request_test() : sys(cfg) {
    echo = sys.spawn(
      []() -> caf::behavior { return {[](int x) { return x; }}; });
    mute = sys.spawn([](caf::event_based_actor* self) -> caf::behavior {
      auto kept = std::make_shared<std::vector<promise>>();
      return {[self, kept](int) {
        return kept->emplace_back(self->make_response_promise<int>());
      }};
    });
  }

  ~asio_request_test() override {
    for (const auto& x : {echo, mute})
      caf::anon_send_exit(x, caf::exit_reason::kill);
  }

  caf::actor gate_of(const caf::actor& behind, const stack& s = stack{"desk"}) {
    return gates.emplace_back(spawn_gate(sys, worker{behind}, s));
  }

  std::int64_t metric_of(const caf::actor& gate, const std::string& name) {
    caf::scoped_actor self{sys};
    std::int64_t out = -1;
    self->request(gate, 5s, get_status{})
      .receive([&](const status& x) { out = x.metric(name); },
               [](const caf::error&) {});
    return out;
  }

  void TearDown() override {
    for (const auto& x : gates)
      stop_gate(x);
  }

  auto into(answer& out) {
    return [&out](result<int> r) { out = std::move(r); };
  }

  system_config cfg;
  caf::actor_system sys;
  caf::actor echo, mute;
  std::vector<caf::actor> gates;
  asio::io_context context;
};

TEST_F(asio_request_test, is_awaited_by_coroutines) {
  auto gate = gate_of(echo);
  auto sum = 0;
  auto ask = [](auto& t, const caf::actor& to,
                int& out) -> asio::awaitable<void> {
    auto home = std::this_thread::get_id();
    for (int i = 0; i < 100; ++i) {
      auto r = co_await async_request<int>(
        t.sys, to, 5s, wrap(i).key("a key that is longer than some bytes"),
        asio::use_awaitable);
      EXPECT_EQ(std::this_thread::get_id(), home);
      out += r.value();
    }
    auto other = co_await async_request<std::string>(t.sys, to, 5s, 7,
                                                     asio::use_awaitable);
    EXPECT_TRUE(other.error() == caf::sec::unexpected_response);
  };
  asio::co_spawn(context, ask(*this, gate, sum), asio::detached);
  context.run();
  EXPECT_EQ(sum, 4950);
}

TEST_F(asio_request_test, calls_handlers_by_their_executors) {
  auto gate = gate_of(echo);
  answer got;
  async_request<int>(sys, gate, 5s, 4, asio::bind_executor(context, into(got)));
  async_request<int>(sys, caf::actor{}, 5s, 4,
                     asio::bind_executor(context, [](result<int> r) {
                       EXPECT_TRUE(r.error() == errc::worker_down);
                     }));
  EXPECT_FALSE(got);
  // It has work until both have run.
  EXPECT_EQ(context.run(), 2u);
  ASSERT_TRUE(got && got->ok());
  EXPECT_EQ(**got, 4);
  // A strand has the same context.
  auto strand = asio::make_strand(context);
  context.restart();
  async_request<void>(sys, gate, 5s, 4,
                      asio::bind_executor(strand, [&](result<void> r) {
                        EXPECT_FALSE(r.ok());
                        EXPECT_TRUE(strand.running_in_this_thread());
                      }));
  context.run();
}

TEST_F(asio_request_test, fulfils_futures) {
  auto gate = gate_of(echo);
  auto later = async_request<int>(sys, gate, 5s, 4, asio::use_future);
  EXPECT_EQ(later.get().value(), 4);
}

TEST_F(asio_request_test, takes_handlers_that_can_only_be_moved) {
  auto gate = gate_of(echo);
  auto own = std::make_unique<int>(0);
  auto* seen = own.get();
  std::promise<int> done;
  async_request<int>(sys, gate, 5s, 4,
                     [own = std::move(own), &done](result<int> r) {
                       *own = *r;
                       done.set_value(*own);
                     });
  EXPECT_EQ(done.get_future().get(), 4);
  (void)seen;
}

TEST_F(asio_request_test, is_cancelled_by_its_slot) {
  auto gate = gate_of(mute);
  asio::cancellation_signal signal;
  answer got;
  async_request<int>(sys, gate, unlimited, 4,
                     asio::bind_executor(context, asio::bind_cancellation_slot(
                                                    signal.slot(), into(got))));
  asio::post(context, [&] { signal.emit(asio::cancellation_type::terminal); });
  context.run();
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->error() == errc::cancelled) << got->text();
  EXPECT_TRUE(got->may_have_executed());
  while (metric_of(gate, "cancelled") == 0)
    std::this_thread::yield();
  // Nothing happens if it is over.
  signal.emit(asio::cancellation_type::terminal);
}

TEST_F(asio_request_test, ends_with_the_coroutine_that_lost_a_race) {
  using namespace asio::experimental::awaitable_operators;
  auto gate = gate_of(mute);
  auto race = [](auto& t, const caf::actor& to) -> asio::awaitable<void> {
    asio::steady_timer timer{co_await asio::this_coro::executor, 20ms};
    auto first = co_await (
      async_request<int>(t.sys, to, unlimited, 4, asio::use_awaitable)
      || timer.async_wait(asio::use_awaitable));
    EXPECT_EQ(first.index(), 1u);
  };
  asio::co_spawn(context, race(*this, gate), asio::detached);
  context.run();
  while (metric_of(gate, "cancelled") == 0)
    std::this_thread::yield();
}

TEST_F(asio_request_test, ends_with_its_context) {
  auto gate = gate_of(mute);
  auto held = std::make_shared<int>(0);
  {
    asio::io_context short_lived;
    async_request<int>(sys, gate, unlimited, 4,
                       asio::bind_executor(short_lived, [held](result<int>) {
                         ADD_FAILURE() << "nobody runs it";
                       }));
    auto ask = [](auto& t, const caf::actor& to,
                  std::shared_ptr<int>) -> asio::awaitable<void> {
      (void)co_await async_request<int>(t.sys, to, unlimited, 4,
                                        asio::use_awaitable);
    };
    asio::co_spawn(short_lived, ask(*this, gate, held), asio::detached);
    short_lived.poll();
    EXPECT_GT(held.use_count(), 1);
  }
  EXPECT_EQ(held.use_count(), 1);
  while (metric_of(gate, "cancelled") < 2)
    std::this_thread::yield();
}

TEST_F(asio_request_test, begins_nothing_while_its_context_ends) {
  struct asks_at_its_end {
    asks_at_its_end(asio_request_test& t, caf::actor to, asio::io_context& x)
      : test(t), gate(std::move(to)), context(x) {}
    asks_at_its_end(const asks_at_its_end&) = delete;
    asks_at_its_end& operator=(const asks_at_its_end&) = delete;
    ~asks_at_its_end() {
      async_request<int>(test.sys, gate, 5s, 4,
                         asio::bind_executor(context, [](result<int>) {
                           ADD_FAILURE() << "nobody runs it";
                         }));
    }
    asio_request_test& test;
    caf::actor gate;
    asio::io_context& context;
  };
  auto gate = gate_of(echo);
  {
    asio::io_context short_lived;
    auto own = std::make_unique<asks_at_its_end>(*this, gate, short_lived);
    asio::post(short_lived, [own = std::move(own)] {});
  }
  // Answers that come now find nobody.
  EXPECT_EQ(
    async_request<int>(sys, gate, 5s, 4, asio::use_future).get().value(), 4);
}

TEST_F(asio_request_test, ends_while_answers_come) {
  auto gate = gate_of(echo);
  for (int i = 0; i < 300; ++i) {
    asio::io_context short_lived;
    for (int k = 0; k < 5; ++k)
      async_request<int>(sys, gate, 5s, 4,
                         asio::bind_executor(short_lived, [](auto) {}));
    short_lived.poll();
  }
}

TEST_F(asio_request_test, serves_many_threads) {
  auto gate = gate_of(echo, stack{"desk"}.retrier().semaphore(
                              {.permits = 4, .max_waiters = 5000}));
  asio::thread_pool pool{3};
  std::atomic<int> good{0};
  auto ask = [](auto& t, const caf::actor& to, auto& n,
                int x) -> asio::awaitable<void> {
    for (int k = 0; k < 20; ++k) {
      auto r = co_await async_request<int>(t.sys, to, 30s, x,
                                           asio::use_awaitable);
      n += r && *r == x ? 1 : 0;
    }
  };
  for (int i = 0; i < 100; ++i)
    asio::co_spawn(pool, ask(*this, gate, good, i), asio::detached);
  pool.join();
  EXPECT_EQ(good, 2000);
}

} // namespace
} // namespace caisson::test
