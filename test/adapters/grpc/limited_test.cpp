// Servers of gRPC that limit what they take.
#include <adapters/grpc/servers.hpp>

#include <caisson/adapters/grpc/channel.hpp>
#include <caisson/adapters/grpc/server.hpp>
#include <caisson/policies.hpp>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

constexpr std::string_view trace_of_test
  = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";

// Whatever its handler does, its calls pass a guard.
class limited_prices final : public scripted_prices {
public:
  explicit limited_prices(const stack& x) : limits(x) {}

  ::grpc::Status Get(context* c, const shop::PriceRequest* in,
                     shop::Price* out) override {
    return limited(
      limits, *c, [&] { return scripted_prices::Get(c, in, out); }, names);
  }

  ::grpc::Status Watch(context* c, const shop::PriceRequest* in,
                       ::grpc::ServerWriter<shop::Price>* out) override {
    return limited(
      limits, *c, [&] { return scripted_prices::Watch(c, in, out); }, names);
  }

  guard limits;
  grpc_option_metadata names;
};

class called_back_prices final : public shop::Prices::CallbackService {
public:
  explicit called_back_prices(const stack& x) : limits(x) {}

  ::grpc::ServerUnaryReactor* Get(::grpc::CallbackServerContext* c,
                                  const shop::PriceRequest*,
                                  shop::Price* out) override {
    out->set_cents(7);
    return limited_unary(limits, *c, [this](grpc_unary_end end) {
      ++served;
      handler(std::move(end));
    });
  }

  guard limits;
  std::function<void(grpc_unary_end)> handler = [](const grpc_unary_end& end) {
    end(::grpc::Status::OK);
  };
  std::atomic<int> served{0};
};

class grpc_limited_test : public grpc_test {
protected:
  struct end {
    ::grpc::Status status;
    std::string pushback;
  };

  static end get(const grpc_server& server, duration timeout = 20s,
                 const grpc_metadata& metadata = {}) {
    auto stub = shop::Prices::NewStub(
      grpc_channel({.target = server.target()}));
    ::grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    for (const auto& [name, value] : metadata)
      context.AddMetadata(name, value);
    shop::Price out;
    auto status = stub->Get(&context, {}, &out);
    const auto& trailers = context.GetServerTrailingMetadata();
    auto i = trailers.find("grpc-retry-pushback-ms");
    return {status, i == trailers.end()
                      ? ""
                      : std::string{i->second.data(), i->second.size()}};
  }
};

TEST_F(grpc_limited_test, refuses_before_the_handler_with_pushback) {
  limited_prices service{
    stack{"in"}.limiter({.rate = 1, .per = 2s, .burst = 2})};
  grpc_server server{service};
  EXPECT_TRUE(get(server).status.ok());
  EXPECT_TRUE(get(server).status.ok());
  auto x = get(server);
  EXPECT_EQ(x.status.error_code(), ::grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(x.status.error_message(), "rate_limited");
  ASSERT_NE(x.pushback, "");
  EXPECT_GT(std::stoi(x.pushback), 0);
  EXPECT_LE(std::stoi(x.pushback), 2'000);
  EXPECT_EQ(service.served, 2);
}

TEST_F(grpc_limited_test, holds_a_permit_until_the_handler_has_returned) {
  limited_prices service{stack{"in"}.semaphore({.permits = 1})};
  std::atomic<bool> go{false};
  service.get = [&](::grpc::ServerContext&, const shop::PriceRequest&,
                    shop::Price&) {
    while (!go)
      std::this_thread::sleep_for(1ms);
    return ::grpc::Status::OK;
  };
  grpc_server server{service};
  // Also if its client has long given up.
  EXPECT_EQ(get(server, 50ms).status.error_code(), ::grpc::DEADLINE_EXCEEDED);
  EXPECT_EQ(service.served, 1);
  auto x = get(server);
  EXPECT_EQ(x.status.error_code(), ::grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(x.status.error_message(), "queue_full");
  EXPECT_EQ(x.pushback, "");
  EXPECT_EQ(service.served, 1);
  go = true;
  EXPECT_TRUE(eventually([&] { return get(server).status.ok(); }));
}

TEST_F(grpc_limited_test, says_unavailable_while_it_drains) {
  limited_prices service{stack{"in"}};
  grpc_server server{service};
  service.limits.drain();
  auto x = get(server);
  EXPECT_EQ(x.status.error_code(), ::grpc::UNAVAILABLE);
  EXPECT_EQ(x.status.error_message(), "draining");
  EXPECT_EQ(service.served, 0);
}

TEST_F(grpc_limited_test, limits_streams_as_a_whole) {
  limited_prices service{stack{"in"}.semaphore({.permits = 1})};
  std::atomic<bool> go{false};
  service.watch = [&](::grpc::ServerContext& c,
                      ::grpc::ServerWriter<shop::Price>& out) {
    out.Write({});
    while (!go && !c.IsCancelled())
      std::this_thread::sleep_for(1ms);
    return ::grpc::Status::OK;
  };
  grpc_server server{service};
  auto stub = shop::Prices::NewStub(grpc_channel({.target = server.target()}));
  ::grpc::ClientContext context;
  shop::Price out;
  auto stream = stub->Watch(&context, {});
  ASSERT_TRUE(stream->Read(&out));
  EXPECT_EQ(get(server).status.error_message(), "queue_full");
  go = true;
  EXPECT_FALSE(stream->Read(&out));
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(get(server).status.ok());
}

TEST_F(grpc_limited_test, counts_failures_of_the_handler) {
  limited_prices service{stack{"in"}.breaker({.threshold = 2})};
  grpc_server server{service};
  service.get = failing(::grpc::INVALID_ARGUMENT);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(get(server).status.error_code(), ::grpc::INVALID_ARGUMENT);
  service.get = [](::grpc::ServerContext&, const shop::PriceRequest&,
                   shop::Price&) -> ::grpc::Status {
    throw std::runtime_error{"a bug"};
  };
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(get(server).status.error_code(), ::grpc::UNKNOWN);
  auto x = get(server);
  EXPECT_EQ(x.status.error_message(), "breaker_open");
  EXPECT_NE(x.pushback, "");
}

TEST_F(grpc_limited_test, takes_options_from_metadata) {
  limited_prices service{stack{"in"}.add<keyed<limiter>>(
    {{.rate = 1, .per = 1h, .burst = 1}, {.max_keys = 10}})};
  service.names = {.priority = "x-priority", .key = "x-key"};
  grpc_server server{service};
  EXPECT_TRUE(get(server, 20s, {{"x-key", "a"}}).status.ok());
  EXPECT_TRUE(get(server, 20s, {{"x-key", "b"}}).status.ok());
  EXPECT_EQ(get(server, 20s, {{"x-key", "a"}}).status.error_message(),
            "rate_limited");
  call_options seen;
  service.get = [&](::grpc::ServerContext& c, const shop::PriceRequest&,
                    shop::Price&) {
    seen = grpc_options_of(c, service.names);
    return ::grpc::Status::OK;
  };
  get(server, 20s,
      {{"x-key", "c"},
       {"x-priority", "-2"},
       {"idempotency-key", "k"},
       {"traceparent", std::string{trace_of_test}},
       {"tracestate", "a=1"},
       {"baggage", "user=7, bad"}});
  EXPECT_EQ(seen.key, "c");
  EXPECT_EQ(seen.priority, -2);
  EXPECT_EQ(seen.idempotency_key, "k");
  EXPECT_EQ(seen.traceparent, trace_of_test);
  EXPECT_EQ(seen.propagated.tracestate(), "a=1");
  EXPECT_EQ(seen.propagated.baggage(), "user=7");
  EXPECT_EQ(seen.time_left, unlimited);
  get(server, 20s,
      {{"x-key", std::string(max_key_length + 1, 'x')},
       {"x-priority", "3x"},
       {"traceparent", "00-0"},
       {"tracestate", "a=1"}});
  EXPECT_EQ(seen.key, "");
  EXPECT_EQ(seen.priority, 0);
  EXPECT_EQ(seen.traceparent, "");
  EXPECT_EQ(seen.propagated.tracestate(), "");
}

// -- with callbacks -----------------------------------------------------------

TEST_F(grpc_limited_test, holds_a_permit_until_a_callback_has_answered) {
  called_back_prices service{stack{"in"}.semaphore({.permits = 1})};
  std::optional<grpc_unary_end> held;
  std::atomic<bool> is_held{false};
  service.handler = [&](const grpc_unary_end& end) {
    held = end;
    is_held = true;
  };
  grpc_server server{service};
  std::thread first{[&] { EXPECT_TRUE(get(server).status.ok()); }};
  EXPECT_TRUE(eventually([&] { return is_held.load(); }));
  auto x = get(server);
  EXPECT_EQ(x.status.error_code(), ::grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(service.served, 1);
  (*held)(::grpc::Status::OK);
  // Only the first answer counts.
  (*held)({::grpc::UNKNOWN, ""});
  held.reset();
  first.join();
  service.handler = [](const grpc_unary_end& end) { end(::grpc::Status::OK); };
  EXPECT_TRUE(eventually([&] { return get(server).status.ok(); }));
}

TEST_F(grpc_limited_test, a_callback_that_throws_or_forgets_has_failed) {
  called_back_prices service{stack{"in"}.breaker({.threshold = 3})};
  grpc_server server{service};
  service.handler = [](const grpc_unary_end&) {
    throw std::runtime_error{"a bug"};
  };
  EXPECT_EQ(get(server).status.error_code(), ::grpc::UNKNOWN);
  service.handler = [](const grpc_unary_end&) {};
  EXPECT_EQ(get(server).status.error_code(), ::grpc::INTERNAL);
  service.handler = [](const grpc_unary_end& end) {
    end({::grpc::UNAVAILABLE, "no"});
    throw std::runtime_error{"too late"};
  };
  EXPECT_EQ(get(server).status.error_code(), ::grpc::UNAVAILABLE);
  EXPECT_TRUE(eventually(
    [&] { return get(server).status.error_message() == "breaker_open"; }));
}

TEST_F(grpc_limited_test, a_server_can_end_while_callbacks_are_in_progress) {
  called_back_prices service{stack{"in"}.semaphore({.permits = 10})};
  std::vector<grpc_unary_end> held;
  std::mutex mutex;
  service.handler = [&](const grpc_unary_end& end) {
    std::lock_guard guard{mutex};
    held.push_back(end);
  };
  std::optional<grpc_server> server{std::in_place, service};
  std::vector<std::thread> clients;
  for (int i = 0; i < 5; ++i)
    clients.emplace_back(
      [&] { EXPECT_FALSE(get(*server, 200ms).status.ok()); });
  for (auto& x : clients)
    x.join();
  std::thread answering{[&] {
    std::lock_guard guard{mutex};
    held.clear();
  }};
  server.reset();
  answering.join();
}

} // namespace
} // namespace caisson::test
