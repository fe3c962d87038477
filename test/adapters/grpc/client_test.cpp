// The worker for gRPC servers, with servers that answer, are slow, refuse, and
// go away.
#include <adapters/grpc/servers.hpp>

#include <algorithm>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class grpc_client_test : public grpc_test {
protected:
  caf::actor spawn(grpc_client_config c = {}) {
    c.target = server.target();
    return spawn_grpc_worker(*sys, c);
  }

  scripted_prices service;
  grpc_server server{service};
};

TEST_F(grpc_client_test, makes_a_call_and_answers_with_the_response) {
  service.get = [](::grpc::ServerContext& c, const shop::PriceRequest& in,
                   shop::Price& out) {
    c.AddInitialMetadata("before", "1");
    c.AddTrailingMetadata("after", "2");
    c.AddTrailingMetadata("after", "3");
    c.AddTrailingMetadata("raw-bin", std::string{"\0\xff", 2});
    out.set_item(in.item());
    out.set_cents(7);
    return ::grpc::Status::OK;
  };
  auto x = ask(spawn(), price_of("tea"));
  ASSERT_EQ(x.code(), 0) << x.failure();
  auto price = parse<shop::Price>(*x.response);
  ASSERT_TRUE(price);
  EXPECT_EQ(price->item(), "tea");
  EXPECT_EQ(price->cents(), 7);
  EXPECT_EQ(*metadata_of(x.response->headers, "before"), "1");
  EXPECT_EQ(*metadata_of(x.response->trailers, "after"), "2");
  EXPECT_EQ(x.response->trailers.size(), 3u);
  EXPECT_EQ(*metadata_of(x.response->trailers, "raw-bin"),
            (std::string{"\0\xff", 2}));
}

TEST_F(grpc_client_test, answers_with_any_status_and_its_details) {
  auto w = spawn();
  for (int code = 1; code <= 16; ++code) {
    service.get = [code](::grpc::ServerContext&, const shop::PriceRequest&,
                         shop::Price&) {
      return ::grpc::Status{static_cast<::grpc::StatusCode>(code), "no",
                            std::string{"\0de", 3}};
    };
    auto x = ask(w, price_of("tea"));
    EXPECT_EQ(x.code(), code) << x.failure();
    EXPECT_EQ(x.response->message, "no");
    EXPECT_EQ(x.response->details, (std::string{"\0de", 3}));
    EXPECT_FALSE(parse<shop::Price>(*x.response));
  }
}

TEST_F(grpc_client_test, gives_the_server_the_time_that_is_left) {
  auto w = spawn();
  ASSERT_EQ(ask(w, price_of("tea").within(2s)).code(), 0);
  EXPECT_GT(service.time_left(), 1s);
  EXPECT_LE(service.time_left(), 2'100ms);
  // Nobody has said more.
  ASSERT_EQ(ask(w, price_of("tea")).code(), 0);
  EXPECT_GT(service.time_left(), 25s);
  EXPECT_LE(service.time_left(), 31s);
}

TEST_F(grpc_client_test, sends_metadata_and_what_layers_know) {
  grpc_client_config c;
  c.priority_metadata = "x-priority";
  c.key_metadata = "x-key";
  auto w = spawn(c);
  std::string trace = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
  shop::PriceRequest in;
  auto request = [&](grpc_metadata own) {
    return grpc_call(get_price, in, std::move(own));
  };
  grpc_metadata own{
    {"mine", "1"},          {"raw-bin", std::string{"\0\xff", 2}},
    {"x-key", "forged"},    {"x-priority", "9"},
    {"traceparent", "old"}, {"tracestate", "old=1"},
    {"baggage", "old=1"}};
  ASSERT_EQ(ask(w, request(own)
                     .priority(-3)
                     .key("tenant-7")
                     .idempotency_key("k1")
                     .traceparent(trace))
              .code(),
            0);
  EXPECT_EQ(service.seen("mine"), "1");
  EXPECT_EQ(service.seen("raw-bin"), (std::string{"\0\xff", 2}));
  EXPECT_EQ(service.seen("x-priority"), "-3");
  EXPECT_EQ(service.seen("x-key"), "tenant-7");
  EXPECT_EQ(service.seen("idempotency-key"), "k1");
  EXPECT_EQ(service.seen("traceparent"), trace);
  EXPECT_EQ(service.seen("tracestate"), "");
  EXPECT_EQ(service.seen("baggage"), "old=1");
  // The options alone say these.
  ASSERT_EQ(ask(w, request(own)).code(), 0);
  EXPECT_EQ(service.seen("x-priority"), "");
  EXPECT_EQ(service.seen("x-key"), "");
  EXPECT_EQ(service.seen("traceparent"), "old");
  EXPECT_EQ(service.seen("tracestate"), "old=1");
  // What the call carries.
  auto carrying = request(own);
  carrying.options.propagated.set_tracestate("new=2");
  carrying.options.propagated.set_baggage("new=2");
  ASSERT_EQ(ask(w, carrying).code(), 0);
  EXPECT_EQ(service.seen("tracestate"), "new=2");
  EXPECT_EQ(service.seen("baggage"), "new=2");
  // A key that no metadata can have is left out.
  ASSERT_EQ(ask(w, request({}).key("\xc3\xa4")).code(), 0);
  EXPECT_EQ(service.seen("x-key"), "");
}

TEST_F(grpc_client_test, refuses_what_cannot_be_sent) {
  auto w = spawn({.max_request = 10});
  auto refused = [&](const grpc_request& x) {
    auto y = ask(w, x);
    EXPECT_EQ(y.failure(), "bad_request") << x.method;
    return transport_text_of(y.error);
  };
  for (const auto* method :
       {"", "Get", "/Get", "//Get", "/a/", "/a/b/c", "/a/b c", "/a/b\n", "a/b"})
    refused({method, {}, {}});
  for (const auto* name :
       {"", "Upper", "a b", ":path", "grpc-timeout", "te", "content-type",
        "user-agent", "x\n", "content-length", "keep-alive", "upgrade",
        "grpclb_client_stats"})
    refused({get_price, {}, {{name, "1"}}});
  refused({get_price, {}, {{"a", "x\ny"}}});
  refused({get_price, {}, {{"a", "\xc3\xa4"}}});
  EXPECT_EQ(refused({get_price, std::string(11, 'x'), {}}),
            "the message has 11 bytes, more than 10");
  // 700 for those of gRPC and 32 for each, beside name, value and method.
  refused({get_price, {}, {{"a", std::string(8192 - 700 - 32, 'x')}}});
  EXPECT_EQ(refused({get_price, {}, {{"a", std::string(8192, 'x')}}}),
            "the metadata has "
              + std::to_string(8192 + 1 + 732 + get_price.size())
              + " bytes, more than 8192");
  auto keyed = grpc_call(get_price, shop::PriceRequest{});
  keyed.options.idempotency_key = "\xc3\xa4";
  EXPECT_EQ(ask(w, keyed).failure(), "bad_request");
  EXPECT_EQ(service.served, 0);
  // Of another type.
  auto other = ask(w, std::int32_t{7});
  EXPECT_EQ(other.error, caf::sec::unexpected_message);
  // As many as it takes.
  EXPECT_EQ(ask(w, price_of("12345678")).code(), 0);
}

TEST_F(grpc_client_test, refuses_a_response_that_is_too_large) {
  service.get = [](::grpc::ServerContext&, const shop::PriceRequest& in,
                   shop::Price& out) {
    out.set_item(std::string(in.item().size() * 100, 'x'));
    return ::grpc::Status::OK;
  };
  auto w = spawn({.max_response = 5'000});
  EXPECT_EQ(ask(w, price_of(std::string(49, 'a'))).code(), 0);
  EXPECT_EQ(ask(w, price_of(std::string(51, 'a'))).failure(), "too_large");
  // What the server says of the request remains its answer.
  service.get = failing(::grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ask(w, price_of("tea")).code(), 8);
}

TEST_F(grpc_client_test, takes_compressed_responses) {
  service.get = [](::grpc::ServerContext& c, const shop::PriceRequest&,
                   shop::Price& out) {
    c.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    out.set_item(std::string(100'000, 'x'));
    return ::grpc::Status::OK;
  };
  auto x = ask(spawn(), price_of("tea"));
  ASSERT_EQ(x.code(), 0) << x.failure();
  EXPECT_EQ(parse<shop::Price>(*x.response)->item().size(), 100'000u);
  // The bound holds for what comes out, too.
  grpc_client_config small{.max_response = 50'000};
  EXPECT_EQ(ask(spawn(small), price_of("tea")).failure(), "too_large");
}

TEST_F(grpc_client_test, ends_a_call_at_its_deadline) {
  service.get = slow(20'000);
  auto x = ask(spawn(), price_of("tea").within(50ms));
  EXPECT_EQ(x.code(), 4) << x.failure();
  EXPECT_GE(x.took, 50ms);
  EXPECT_LT(x.took, 10s);
  // Time that is over before it begins.
  EXPECT_EQ(ask(spawn(), price_of("tea").within(0s)).failure(), "busy");
}

TEST_F(grpc_client_test, cancels_at_the_server_what_is_cancelled) {
  std::atomic<int> cancelled{0};
  service.get = [&](::grpc::ServerContext& c, const shop::PriceRequest&,
                    shop::Price&) {
    while (!c.IsCancelled())
      std::this_thread::sleep_for(1ms);
    ++cancelled;
    return ::grpc::Status::OK;
  };
  auto gate = spawn_gate(*sys, grpc_worker({.target = server.target()}),
                         stack{"prices"}.deadline({.timeout = 100ms}));
  auto x = ask(gate, price_of("tea").within(20s));
  EXPECT_EQ(x.failure(), "deadline_exceeded");
  EXPECT_TRUE(eventually([&] { return cancelled == 1; }));
  stop_gate(gate);
}

TEST_F(grpc_client_test, bounds_how_many_calls_are_in_progress) {
  std::atomic<bool> go{false};
  std::atomic<int> most{0};
  std::atomic<int> now{0};
  service.get = [&](::grpc::ServerContext&, const shop::PriceRequest&,
                    shop::Price&) {
    ++now;
    while (!go)
      std::this_thread::sleep_for(1ms);
    most = std::max<int>(most, now);
    --now;
    return ::grpc::Status::OK;
  };
  auto w = spawn({.max_in_progress = 4, .max_waiting = 4});
  auto x = ask_at_once(
    w, 12, [&] { return price_of("tea"); },
    [&] { go = eventually([&] { return now == 4; }); });
  EXPECT_EQ(x.ok, 8);
  EXPECT_EQ(x.failed["busy"], 4);
  EXPECT_EQ(most, 4);
}

TEST_F(grpc_client_test, serves_many_calls_at_once) {
  auto w = spawn({.max_in_progress = 1'000, .max_waiting = 10'000});
  auto x = ask_at_once(
    w, 5'000, [] { return price_of("tea"); }, [] {});
  EXPECT_EQ(x.ok, 5'000);
  EXPECT_EQ(service.served, 5'000);
}

} // namespace
} // namespace caisson::test
