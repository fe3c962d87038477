// Gates whose worker is a gRPC server.
#include <adapters/grpc/servers.hpp>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class grpc_gate_test : public grpc_test {
protected:
  control_handle gate_with(stack layers) {
    return spawn_gate(*sys, grpc_worker({.target = server.target()}),
                      std::move(layers));
  }

  scripted_prices service;
  grpc_server server{service};
};

retrier_config quick_retries() {
  return {
    .max_attempts = 3, .backoff = schedule::constant(1ms), .idempotent = true};
}

TEST_F(grpc_gate_test, a_retrier_repeats_what_is_unavailable) {
  service.get = [this](::grpc::ServerContext&, const shop::PriceRequest&,
                       shop::Price&) {
    return service.served < 3 ? ::grpc::Status{::grpc::UNAVAILABLE, "not yet"}
                              : ::grpc::Status::OK;
  };
  auto gate = gate_with(stack{"prices"}.retrier(quick_retries()));
  EXPECT_EQ(ask(gate, price_of("tea")).code(), 0);
  EXPECT_EQ(service.served, 3);
  // What is not idempotent is not.
  service.served = 0;
  EXPECT_EQ(ask(gate, price_of("tea").idempotent(false)).code(), 14);
  EXPECT_EQ(service.served, 1);
  stop_gate(gate);
}

TEST_F(grpc_gate_test, a_retrier_repeats_nothing_that_is_at_fault) {
  auto gate = gate_with(stack{"prices"}.retrier(quick_retries()));
  for (auto code : {::grpc::NOT_FOUND, ::grpc::INVALID_ARGUMENT,
                    ::grpc::ALREADY_EXISTS, ::grpc::DATA_LOSS}) {
    service.served = 0;
    service.get = failing(code);
    EXPECT_EQ(ask(gate, price_of("tea")).code(), code);
    EXPECT_EQ(service.served, 1);
  }
  stop_gate(gate);
}

TEST_F(grpc_gate_test, a_retrier_obeys_pushback) {
  auto gate = gate_with(stack{"prices"}.retrier(quick_retries()));
  service.get = failing(::grpc::UNAVAILABLE, "-1");
  EXPECT_EQ(ask(gate, price_of("tea")).code(), 14);
  EXPECT_EQ(service.served, 1);
  service.served = 0;
  service.get = failing(::grpc::UNAVAILABLE, "60");
  auto x = ask(gate, price_of("tea"));
  EXPECT_EQ(x.code(), 14);
  EXPECT_EQ(service.served, 3);
  EXPECT_GE(x.took, 120ms);
  service.served = 0;
  service.get = failing(::grpc::UNAVAILABLE, "no number");
  EXPECT_EQ(ask(gate, price_of("tea")).code(), 14);
  EXPECT_EQ(service.served, 1);
  stop_gate(gate);
}

TEST_F(grpc_gate_test, a_breaker_opens_and_closes) {
  auto gate = gate_with(stack{"prices"}.breaker(
    {.threshold = 2, .open = schedule::constant(50ms)}));
  service.get = failing(::grpc::NOT_FOUND);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(ask(gate, price_of("tea")).code(), 5);
  service.get = failing(::grpc::UNAVAILABLE);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(ask(gate, price_of("tea")).code(), 14);
  EXPECT_EQ(ask(gate, price_of("tea")).failure(), "breaker_open");
  service.get = [](::grpc::ServerContext&, const shop::PriceRequest&,
                   shop::Price&) { return ::grpc::Status::OK; };
  EXPECT_TRUE(
    eventually([&] { return ask(gate, price_of("tea")).code() == 0; }));
  stop_gate(gate);
}

TEST_F(grpc_gate_test, a_call_that_was_not_sent_is_repeated_whatever_its_mark) {
  auto port = server.port();
  server.stop();
  auto gate = spawn_gate(
    *sys, grpc_worker({.target = "127.0.0.1:" + std::to_string(port)}),
    stack{"prices"}.retrier(
      {.max_attempts = 10, .backoff = schedule::constant(200ms)}));
  std::optional<grpc_server> back;
  auto x = ask_at_once(
    gate, 1, [] { return price_of("tea").idempotent(false).within(20s); },
    [&] {
      std::this_thread::sleep_for(150ms);
      back.emplace(service, port);
    });
  EXPECT_EQ(x.ok, 1);
  EXPECT_EQ(service.served, 1);
  stop_gate(gate);
}

TEST_F(grpc_gate_test, each_attempt_has_the_same_idempotency_key) {
  std::vector<std::string> keys;
  service.get = [&](::grpc::ServerContext&, const shop::PriceRequest&,
                    shop::Price&) {
    keys.push_back(service.seen("idempotency-key"));
    return ::grpc::Status{::grpc::UNAVAILABLE, ""};
  };
  auto c = quick_retries();
  c.idempotency_keys = true;
  auto gate = gate_with(stack{"prices"}.retrier(c));
  ask(gate, price_of("tea"));
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_NE(keys[0], "");
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_EQ(keys[0], keys[2]);
  stop_gate(gate);
}

} // namespace
} // namespace caisson::test
