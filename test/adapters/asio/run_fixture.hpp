// The fixture of tests of calls through guards with Asio.
#pragma once

#include <caisson/adapters/asio/run.hpp>
#include <caisson/guard.hpp>

#include <gtest/gtest.h>

#include <asio.hpp>

#include <chrono>
#include <future>
#include <optional>

namespace caisson::test {

using namespace std::chrono_literals;

inline constexpr auto ready = std::future_status::ready;

inline asio::awaitable<void> pause(duration d) {
  asio::steady_timer timer{co_await asio::this_coro::executor, d};
  co_await timer.async_wait(asio::use_awaitable);
}

class asio_run_test : public testing::Test {
public:
  using answer = std::optional<result<int>>;

  auto into(answer& out) {
    return asio::bind_executor(context,
                               [&out](result<int> r) { out = std::move(r); });
  }

  /// Waits for ever, unless it is cancelled.
  auto endless() {
    return [this](const attempt& a) -> asio::awaitable<int> {
      ++running;
      try {
        co_await pause(1h);
      } catch (...) {
        --running;
        abandoned += a.abandoned() ? 1 : 0;
        throw;
      }
      co_return 1;
    };
  }

  auto executor() { return context.get_executor(); }

  // Before the context, whose end may end attempts.
  int running = 0, abandoned = 0;
  asio::io_context context;
};

} // namespace caisson::test
