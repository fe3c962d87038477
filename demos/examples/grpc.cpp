// A gate in front of a server of gRPC, which has a bad day.
#include "story.hpp"

#include <caisson/adapters/grpc/client.hpp>
#include <caisson/gate.hpp>

#include <fmt/format.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <prices.grpc.pb.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

/// A real server, which fails, is slow, and goes away.
class price_server final : public shop::Prices::Service {
public:
  price_server() { start(0); }

  grpc::Status Get(grpc::ServerContext* context, const shop::PriceRequest* in,
                   shop::Price* out) override {
    ++served;
    if (failing-- > 0)
      return {grpc::StatusCode::UNAVAILABLE, "not now"};
    for (int i = 0; i < milliseconds && !context->IsCancelled(); ++i)
      std::this_thread::sleep_for(1ms);
    cancelled = context->IsCancelled();
    if (in->item() != "tea")
      return {grpc::StatusCode::NOT_FOUND, "no " + in->item()};
    out->set_item(in->item());
    out->set_cents(320);
    return grpc::Status::OK;
  }

  void stop() {
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }

  void start_again() { start(port_); }

  [[nodiscard]] int port() const { return port_; }

  std::atomic<int> served{0};
  std::atomic<int> failing{0};
  std::atomic<int> milliseconds{0};
  std::atomic<bool> cancelled{false};

private:
  void start(int port) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(fmt::format("127.0.0.1:{}", port),
                             grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// [gate]
caisson::control_handle price_gate(caf::actor_system& system, int port) {
  return caisson::spawn_gate(
    system,
    caisson::grpc_worker({.target = fmt::format("127.0.0.1:{}", port),
                          .max_reconnect_delay = 200ms}),
    caisson::stack{"prices"}
      .deadline({.timeout = 400ms})
      .retrier({.max_attempts = 3,
                .backoff = caisson::schedule::constant(10ms),
                .idempotent = true})
      .breaker({.threshold = 4, .open = caisson::schedule::constant(2s)})
      .semaphore({.permits = 64}));
}
// [/gate]

// [ask]
std::string price_of(caf::scoped_actor& self, const caf::actor& gate,
                     const std::string& item) {
  shop::PriceRequest request;
  request.set_item(item);
  std::string text;
  caisson::portable::ask_blocking(
    self, gate, 5s, caisson::grpc_call("/shop.Prices/Get", request))
    .receive(
      [&](const caisson::grpc_response& x) {
        auto price = caisson::parse<shop::Price>(x);
        text = price ? fmt::format("{} cents", price->cents())
                     : caisson::to_text(x);
      },
      [&](const caf::error& err) { text = caisson::to_text(err); });
  return text;
}
// [/ask]

/// The first words, as the rest is gRPC's own, or has times in it.
std::string in_brief(const std::string& text) {
  return text.substr(0, text.find_first_of(":,", text.find("::") + 2));
}

} // namespace

int main() {
  demo::story story;
  price_server behind;
  caisson::init_grpc_types();
  caisson::system_config config;
  caisson::register_grpc_types(config);
  caf::actor_system system{config};
  {
    caf::scoped_actor self{system};
    auto gate = price_gate(system, behind.port());
    auto ask = [&](const std::string& item) {
      behind.served = 0;
      auto text = price_of(self, gate, item);
      story.print("{:<9} {:<34} calls at the server: {}", item,
                  text.ends_with("cents") || text.starts_with("NOT")
                    ? text
                    : in_brief(text),
                  behind.served.load());
      return text;
    };

    story.check(ask("tea") == "320 cents", "all is well");
    story.check(ask("gold") == "NOT_FOUND: no gold", "and that is an answer");
    story.print("-- the server is unavailable, twice");
    behind.failing = 2;
    story.check(ask("tea") == "320 cents", "retries hide that");
    story.print("-- it takes a second");
    behind.milliseconds = 1'000;
    ask("tea");
    for (int i = 0; i < 1'000 && !behind.cancelled; ++i)
      std::this_thread::sleep_for(1ms);
    story.check(behind.cancelled, "the server knows that nobody waits");
    behind.milliseconds = 0;
    story.print("-- it is gone");
    behind.stop();
    // Until the client has seen the end of the connection.
    std::this_thread::sleep_for(100ms);
    ask("tea");
    ask("tea");
    story.print("-- it is back");
    behind.start_again();
    std::this_thread::sleep_for(2'100ms);
    story.check(ask("tea") == "320 cents", "the breaker has closed");
    caisson::stop_gate(gate);
  }
  return story.end();
}

/* It prints:

tea       320 cents                          calls at the server: 1
gold      NOT_FOUND: no gold                 calls at the server: 1
-- the server is unavailable, twice
tea       320 cents                          calls at the server: 3
-- it takes a second
tea       deadline_exceeded by deadline      calls at the server: 1
-- it is gone
tea       transport::not_connected           calls at the server: 0
tea       breaker_open by breaker            calls at the server: 0
-- it is back
tea       320 cents                          calls at the server: 1
*/
