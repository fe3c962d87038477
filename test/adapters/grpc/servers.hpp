// Servers of gRPC on loopback, with handlers of the test's.
#pragma once

#include <caisson/adapters/grpc/client.hpp>
#include <caisson/gate.hpp>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <prices.grpc.pb.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace caisson::test {

/// The method that most tests call.
inline const std::string get_price = "/shop.Prices/Get";

/// A service whose methods are the test's, which are set before it is used.
class scripted_prices : public shop::Prices::Service {
public:
  using context = ::grpc::ServerContext;
  using get_function = std::function<::grpc::Status(
    context&, const shop::PriceRequest&, shop::Price&)>;
  using watch_function = std::function<::grpc::Status(
    context&, ::grpc::ServerWriter<shop::Price>&)>;
  using each_function = std::function<::grpc::Status(
    context&, ::grpc::ServerReaderWriter<shop::Price, shop::PriceRequest>&)>;

  ::grpc::Status Get(context* c, const shop::PriceRequest* in,
                     shop::Price* out) override {
    keep(*c);
    ++served;
    return get(*c, *in, *out);
  }

  ::grpc::Status Watch(context* c, const shop::PriceRequest*,
                       ::grpc::ServerWriter<shop::Price>* out) override {
    keep(*c);
    ++served;
    return watch(*c, *out);
  }

  ::grpc::Status
  Each(context* c,
       ::grpc::ServerReaderWriter<shop::Price, shop::PriceRequest>* both)
    override {
    keep(*c);
    ++served;
    return each(*c, *both);
  }

  /// What the last call had of that metadata; empty if it had none.
  std::string seen(const std::string& name) {
    std::lock_guard guard{mutex_};
    auto i = metadata_.find(name);
    return i == metadata_.end() ? "" : i->second;
  }

  /// How much time the last call had when it came.
  duration time_left() {
    std::lock_guard guard{mutex_};
    return left_;
  }

  get_function get = [](context&, const shop::PriceRequest& in,
                        shop::Price& out) {
    out.set_item(in.item());
    out.set_cents(static_cast<std::int64_t>(in.item().size()));
    return ::grpc::Status::OK;
  };
  watch_function watch = [](context&, ::grpc::ServerWriter<shop::Price>& out) {
    for (int i = 1; i <= 3; ++i) {
      shop::Price x;
      x.set_cents(i);
      out.Write(x);
    }
    return ::grpc::Status::OK;
  };
  each_function each =
    [](context&,
       ::grpc::ServerReaderWriter<shop::Price, shop::PriceRequest>& both) {
      shop::PriceRequest in;
      while (both.Read(&in)) {
        shop::Price out;
        out.set_item(in.item());
        both.Write(out);
      }
      return ::grpc::Status::OK;
    };
  std::atomic<int> served{0};

private:
  void keep(const context& c) {
    std::lock_guard guard{mutex_};
    metadata_.clear();
    for (const auto& [name, value] : c.client_metadata())
      metadata_.emplace(std::string{name.data(), name.size()},
                        std::string{value.data(), value.size()});
    left_ = c.deadline() - std::chrono::system_clock::now();
  }

  std::mutex mutex_;
  std::map<std::string, std::string> metadata_;
  duration left_ = duration::zero();
};

/// Answers so many milliseconds later, or earlier if the call is over.
inline scripted_prices::get_function slow(int milliseconds) {
  return [milliseconds](::grpc::ServerContext& c, const shop::PriceRequest&,
                        shop::Price&) {
    for (int i = 0; i < milliseconds && !c.IsCancelled(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ::grpc::Status::OK;
  };
}

/// Answers with that status, and a pushback unless it is empty.
inline scripted_prices::get_function failing(::grpc::StatusCode code,
                                             const std::string& pushback = {}) {
  return [code, pushback](::grpc::ServerContext& c, const shop::PriceRequest&,
                          shop::Price&) {
    if (!pushback.empty())
      c.AddTrailingMetadata("grpc-retry-pushback-ms", pushback);
    return ::grpc::Status{code, "as the test says"};
  };
}

/// A server with one service.
class grpc_server {
public:
  using credentials = std::shared_ptr<::grpc::ServerCredentials>;

  /// At that port, or at any.
  explicit grpc_server(
    ::grpc::Service& service, int port = 0,
    const credentials& by = ::grpc::InsecureServerCredentials()) {
    ::grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port), by, &port_);
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
    if (!server_ || port_ == 0)
      throw std::runtime_error{"no server of gRPC"};
  }

  ~grpc_server() { stop(); }

  grpc_server(const grpc_server&) = delete;
  grpc_server& operator=(const grpc_server&) = delete;

  /// Ends all calls at once.
  void stop() {
    if (server_)
      server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string target() const {
    return "127.0.0.1:" + std::to_string(port_);
  }

private:
  std::unique_ptr<::grpc::Server> server_;
  int port_ = 0;
};

/// A request for the price of that item.
inline call price_of(const std::string& item) {
  shop::PriceRequest x;
  x.set_item(item);
  return grpc_call(get_price, x);
}

/// A port at which nobody listens: a server has had it.
inline int free_port() {
  scripted_prices service;
  return grpc_server{service}.port();
}

/// An actor system, and requests of the test's.
class grpc_test : public testing::Test {
protected:
  grpc_test() {
    init_grpc_types();
    register_grpc_types(cfg);
    sys.emplace(cfg);
    self.emplace(*sys);
  }

  struct answer {
    std::optional<grpc_response> response;
    caf::error error;
    duration took;

    [[nodiscard]] int code() const { return response ? response->code : -1; }
    [[nodiscard]] std::string failure() const {
      if (response)
        return {};
      if (auto code = transport_errc_of(error))
        return std::string{name_of(*code)};
      auto o = outcome_of(caf::make_message(error));
      return o.own_error ? std::string{name_of(static_cast<errc>(o.code))}
                         : "another error";
    }
  };

  template <class T>
  answer ask(const caf::actor& to, T&& what) {
    answer result;
    auto begin = std::chrono::steady_clock::now();
    portable::ask_blocking(*self, to, std::chrono::seconds(30),
                           std::forward<T>(what))
      .receive([&](const grpc_response& x) { result.response = x; },
               [&](const caf::error& e) { result.error = e; });
    result.took = std::chrono::steady_clock::now() - begin;
    return result;
  }

  struct tally {
    int ok = 0;
    std::map<std::string, int> failed;
  };

  /// Sends `n` requests, calls `then`, and takes the answers.
  template <class Make, class Then>
  tally ask_at_once(const caf::actor& to, int n, Make make, Then then) {
    using handle = decltype(portable::ask_blocking(
      *self, to, std::chrono::seconds(60), make()));
    std::vector<handle> sent;
    for (int i = 0; i < n; ++i)
      sent.push_back(
        portable::ask_blocking(*self, to, std::chrono::seconds(60), make()));
    then();
    tally out;
    for (auto& x : sent)
      std::move(x).receive(
        [&](const grpc_response& y) {
          if (is_ok(y))
            ++out.ok;
          else
            ++out.failed[to_text(y)];
        },
        [&](const caf::error& e) {
          ++out.failed[answer{{}, e, {}}.failure()];
        });
    return out;
  }

  /// What `f` has found once may be different the next time.
  template <class F>
  static bool eventually(F f) {
    for (int i = 0; i < 2'000; ++i) {
      if (f())
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  system_config cfg;
  std::optional<caf::actor_system> sys;
  std::optional<caf::scoped_actor> self;
};

} // namespace caisson::test
