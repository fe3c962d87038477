// Policies around a function, in a program without actors.
#include <caisson/guard.hpp>

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

/// Stands for a client library that blocks and throws.
class price_server {
public:
  int price_of(const std::string& item) {
    ++asked;
    if (down || asked <= hiccups)
      throw std::runtime_error{"connection refused"};
    return static_cast<int>(item.size());
  }

  int asked = 0;
  int hiccups = 0;
  bool down = false;
};

} // namespace

int main() {
  price_server server;
  // [guard]
  caisson::guard prices{caisson::stack{"prices"}
                          .deadline({.timeout = 2s})
                          .retrier({.max_attempts = 3,
                                    .backoff = caisson::schedule::constant(5ms),
                                    .idempotent = true})
                          .breaker({.threshold = 5})
                          .semaphore({.permits = 4, .max_waiters = 100})};

  auto ask = [&](const std::string& item) {
    auto price = prices.run([&] { return server.price_of(item); });
    if (price)
      fmt::print("{} costs {}\n", item, *price);
    else
      fmt::print("{}: {}\n", item,
                 price.error() == caisson::errc::breaker_open
                   ? "not asked, as the breaker is open"
                   : price.text());
  };
  // [/guard]
  ask("tea");

  server.hiccups = server.asked + 2;
  ask("coffee");
  fmt::print("the server was asked {} times\n", server.asked);

  server.down = true;
  ask("tea");
  ask("tea");
  auto asked = server.asked;
  ask("tea");
  fmt::print("the server was asked {} times more\n", server.asked - asked);

  // [threads]
  // Any number of threads may use a guard; no more than four are in here at a
  // time, and the others wait for their turn.
  server.down = false;
  (void)prices.command({caisson::operator_command::reset, "breaker"});
  std::vector<std::jthread> buyers;
  buyers.reserve(10);
  for (int i = 0; i < 10; ++i)
    buyers.emplace_back([&] { (void)prices.run([] { return 1; }); });
  buyers.clear();
  // [/threads]
  auto s = prices.get_status();
  fmt::print("{} calls, {} succeeded\n", s.metric("calls"),
             s.metric("succeeded"));
  auto as_expected = s.metric("calls") == 15 && s.metric("succeeded") == 12;
  return as_expected ? 0 : 1;
}

/* It prints:

tea costs 3
coffee costs 6
the server was asked 4 times
tea: runtime_error: connection refused
tea: runtime_error: connection refused
tea: not asked, as the breaker is open
the server was asked 0 times more
15 calls, 12 succeeded
*/
