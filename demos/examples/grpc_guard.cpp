// gRPC without actors: a service with limits, and a client with guards.
#include "story.hpp"

#include <caisson/adapters/grpc/channel.hpp>
#include <caisson/adapters/grpc/guarded.hpp>
#include <caisson/adapters/grpc/interceptor.hpp>
#include <caisson/adapters/grpc/server.hpp>

#include <fmt/format.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <prices.grpc.pb.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace {

/// Takes a few calls for each user, and fails when it is asked to.
class price_service final : public shop::Prices::Service {
public:
  // [server]
  grpc::Status Get(grpc::ServerContext* context, const shop::PriceRequest* in,
                   shop::Price* out) override {
    return caisson::limited(limits_, *context, [&] { return get(*in, *out); });
  }
  // [/server]

  grpc::Status Watch(grpc::ServerContext*, const shop::PriceRequest*,
                     grpc::ServerWriter<shop::Price>* out) override {
    ++served;
    out->Write({});
    return {grpc::StatusCode::UNAVAILABLE, "the prices are lost"};
  }

  std::atomic<int> served{0};
  std::atomic<int> failing{0};

private:
  grpc::Status get(const shop::PriceRequest& in, shop::Price& out) {
    ++served;
    if (failing-- > 0)
      return {grpc::StatusCode::UNAVAILABLE, "not now"};
    out.set_item(in.item());
    out.set_cents(320);
    return grpc::Status::OK;
  }

  caisson::guard limits_{
    caisson::stack{"in"}.limiter({.rate = 1, .per = 1h, .burst = 5})};
};

std::string text_of(const grpc::Status& x) {
  return caisson::to_text(
    caisson::grpc_response{x.error_code(), x.error_message()});
}

} // namespace

int main() {
  demo::story story;
  price_service service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  const caisson::grpc_client_config config{
    .target = fmt::format("127.0.0.1:{}", port)};

  // [guarded]
  caisson::guard prices{caisson::stack{"prices"}
                          .deadline({.timeout = 2s})
                          .retrier({.max_attempts = 3,
                                    .backoff = caisson::schedule::constant(5ms),
                                    .idempotent = true})};
  auto stub = shop::Prices::NewStub(caisson::grpc_channel(config));

  auto ask = [&](const std::string& item, shop::Price& price) {
    shop::PriceRequest request;
    request.set_item(item);
    return caisson::guarded(prices, [&](grpc::ClientContext& context) {
      return stub->Get(&context, request, &price);
    });
  };
  // [/guarded]

  auto ask_and_print = [&] {
    service.served = 0;
    shop::Price price;
    auto status = ask("tea", price);
    story.print("tea: {}, calls of the handler: {}",
                status.ok() ? fmt::format("{} cents", price.cents())
                            : text_of(status),
                service.served.load());
    return status;
  };
  story.check(ask_and_print().ok(), "all is well");
  service.failing = 2;
  story.check(ask_and_print().ok(), "retries hide failures");
  ask_and_print();
  story.check(!ask_and_print().ok(), "five calls an hour");

  // [interceptor]
  auto streams = std::make_shared<caisson::guard>(
    caisson::stack{"streams"}
      .breaker({.threshold = 2})
      .semaphore({.permits = 100}));
  caisson::grpc_client_interceptors interceptors;
  interceptors.push_back(caisson::grpc_interceptor(streams));
  auto channel = caisson::grpc_channel(config, std::move(interceptors));
  // [/interceptor]

  auto watching = shop::Prices::NewStub(channel);
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    auto stream = watching->Watch(&context, {});
    shop::Price price;
    int count = 0;
    while (stream->Read(&price))
      ++count;
    story.print("a stream of {} prices: {}", count, text_of(stream->Finish()));
  }
  server->Shutdown();
  return story.end();
}

/* It prints:

tea: 320 cents, calls of the handler: 1
tea: 320 cents, calls of the handler: 3
tea: 320 cents, calls of the handler: 1
tea: RESOURCE_EXHAUSTED: rate_limited, calls of the handler: 0
a stream of 1 prices: UNAVAILABLE: the prices are lost
a stream of 1 prices: UNAVAILABLE: the prices are lost
a stream of 0 prices: UNAVAILABLE: breaker_open
*/
