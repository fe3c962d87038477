// Policies around coroutines of Asio: no thread waits for a call.
#include <caisson/adapters/asio/request.hpp>
#include <caisson/adapters/asio/run.hpp>
#include <caisson/gate.hpp>
#include <caisson/guard.hpp>

#include <fmt/format.h>

#include <asio.hpp>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

namespace {

/// Stands for an asynchronous client of a server.
class price_client {
public:
  asio::awaitable<int> price_of(std::string item) {
    ++asked;
    auto takes = item == "cake" ? 1h : 1ms;
    asio::steady_timer answer{co_await asio::this_coro::executor, takes};
    co_await answer.async_wait(asio::use_awaitable);
    if (asked <= hiccups)
      throw std::runtime_error{"connection refused"};
    co_return static_cast<int>(item.size());
  }

  int asked = 0;
  int hiccups = 0;
};

// [run]
asio::awaitable<void> ask(caisson::guard& prices,
                          std::shared_ptr<price_client> client,
                          std::string item) {
  // It may run longer than this coroutine waits, and owns what it uses.
  auto fetch = [client, item](const caisson::attempt&) -> asio::awaitable<int> {
    co_return co_await client->price_of(item);
  };
  auto price = co_await caisson::async_run(
    prices, co_await asio::this_coro::executor, fetch, asio::use_awaitable);
  if (price)
    fmt::print("{} costs {}\n", item, *price);
  else
    fmt::print("{}: {}\n", item, price.text());
}
// [/run]

// [request]
asio::awaitable<void> order(caf::actor_system& system, caf::actor shop) {
  auto number = co_await caisson::async_request<std::int32_t>(
    system, shop, 2s, caisson::wrap(std::string("two teas")).key("table 7"),
    asio::use_awaitable);
  fmt::print("order {}\n", number.value());
}
// [/request]

caf::behavior shop() {
  return {
    [](const std::string& what) {
      return static_cast<std::int32_t>(what.size());
    },
  };
}

} // namespace

void caf_main(caf::actor_system& system, const caisson::system_config&) {
  asio::io_context context;
  auto client = std::make_shared<price_client>();
  caisson::guard prices{caisson::stack{"prices"}
                          .deadline({.timeout = 300ms})
                          .retrier({.max_attempts = 3,
                                    .backoff = caisson::schedule::constant(5ms),
                                    .idempotent = true})
                          .semaphore({.permits = 2, .max_waiters = 10})};
  auto run = [&](const std::string& item) {
    asio::co_spawn(context, ask(prices, client, item), asio::detached);
    context.run();
    context.restart();
  };
  run("tea");

  client->hiccups = client->asked + 2;
  run("coffee");
  fmt::print("the server was asked {} times\n", client->asked);

  // Its answer would take an hour: the guard cancels what it waits for.
  run("cake");

  // [cancel]
  asio::cancellation_signal signal;
  asio::co_spawn(context, ask(prices, client, "cake"),
                 asio::bind_cancellation_slot(signal.slot(), asio::detached));
  asio::post(context, [&] { signal.emit(asio::cancellation_type::terminal); });
  context.run();
  context.restart();
  // [/cancel]
  auto status = prices.get_status();
  fmt::print("{} calls, {} cancelled, {} permits in use\n",
             status.metric("calls"), status.metric("cancelled"),
             status.metric("semaphore", "in_use"));

  auto desk = caisson::spawn_gate(system, system.spawn(shop),
                                  caisson::stack{"shop"}.breaker());
  asio::co_spawn(context, order(system, desk), asio::detached);
  context.run();
}

CAF_MAIN()

/* It prints:

tea costs 3
coffee costs 6
the server was asked 4 times
cake: deadline_exceeded by deadline
cake: cancelled by prices
4 calls, 1 cancelled, 0 permits in use
order 8
*/
