// The code of docs/coming-from.md: what a stack of another library is here.
#include <caisson/guard.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct price_service {
  int calls = 0;
  bool broken = false;

  int price_of(const std::string&, duration) {
    ++calls;
    if (broken)
      throw std::runtime_error{"connection refused"};
    return 3;
  }
};

struct coming_from : testing::Test {
  price_service service;
  std::string item = "tea";
};

TEST_F(coming_from, resilience4j_has_the_same_settings) {
  // [resilience4j]
  caisson::guard prices{
    caisson::stack{"prices"}
      .retrier({.max_attempts = 3,
                .backoff = caisson::schedule::constant(10ms),
                .idempotent = true})
      .breaker({.trip = caisson::breaker_trip::rate_by_count,
                .failure_rate = 0.5,
                .window_calls = 100,
                .minimum_calls = 10,
                .open = caisson::schedule::constant(60s),
                .probes = 10})
      .semaphore({.permits = 25})};

  auto price = prices.run([&](const caisson::attempt& a) {
    return service.price_of(item, a.time_left());
  });
  int shown = price.value_or(0);
  // [/resilience4j]
  EXPECT_EQ(shown, 3);
  service.broken = true;
  service.calls = 0;
  EXPECT_EQ(prices.run([&] { return service.price_of(item, 1s); }).value_or(0),
            0);
  EXPECT_EQ(service.calls, 3);
}

TEST_F(coming_from, polly_throws_and_a_guard_returns) {
  caisson::guard prices{caisson::stack{"prices"}.breaker({.threshold = 1})};
  service.broken = true;
  int shown = 0;
  std::string message;
  // [polly]
  auto ask = [&] { return service.price_of(item, 1s); };
  auto price = prices.run(ask);
  if (price)
    shown = *price;
  else if (price.error() == caisson::errc::breaker_open)
    message = "come back in " + caisson::rounded_text(price.retry_after());
  else
    message = price.text();
  // [/polly]
  EXPECT_EQ(shown, 0);
  EXPECT_NE(message.find("connection refused"), std::string::npos) << message;
  EXPECT_THROW(price.value(), std::runtime_error);
  EXPECT_THROW(prices.run(ask).value(), caisson::call_error);
  EXPECT_EQ(service.calls, 1);
}

TEST_F(coming_from, gobreaker_trips_by_a_function) {
  // [gobreaker]
  caisson::guard prices{
    caisson::stack{"prices"}.breaker({.trip = {},
                                      .trip_when =
                                        [](const caisson::breaker_counts& x) {
                                          return x.consecutive_failures > 5;
                                        },
                                      .open = caisson::schedule::constant(60s),
                                      .probes = 1})};
  // [/gobreaker]
  service.broken = true;
  for (int i = 0; i < 8; ++i)
    EXPECT_FALSE(prices.run([&] { return service.price_of(item, 1s); }));
  EXPECT_EQ(service.calls, 6);
}

} // namespace
} // namespace caisson::test
