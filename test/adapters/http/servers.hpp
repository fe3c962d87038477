// HTTP servers on loopback, real ones and such that break the rules.
#pragma once

#include <caisson/adapters/http_client/client.hpp>
#include <caisson/gate.hpp>

#include <support/scripted_server.hpp>

#include <gtest/gtest.h>
#include <httplib.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace caisson::test {

/// cpp-httplib's server with handlers of the test's.
class real_server {
public:
  /// At that port, or at any.
  template <class F>
  explicit real_server(F set_handlers, int port = 0) {
    set_handlers(server_);
    server_.set_keep_alive_max_count(1'000);
    // It ends only when idle connections have.
    server_.set_keep_alive_timeout(1);
    if (port == 0)
      port_ = server_.bind_to_any_port("127.0.0.1");
    else if (server_.bind_to_port("127.0.0.1", port))
      port_ = port;
    else
      throw std::runtime_error{"the port is taken"};
    thread_ = std::thread{[this] { server_.listen_after_bind(); }};
    while (!server_.is_running())
      std::this_thread::yield();
  }

  ~real_server() {
    server_.stop();
    thread_.join();
  }

  real_server(const real_server&) = delete;
  real_server& operator=(const real_server&) = delete;

  [[nodiscard]] std::uint16_t port() const {
    return static_cast<std::uint16_t>(port_);
  }

private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

/// Reads until the end of a head, or of the connection.
inline std::string read_head(const raw_socket& x) {
  std::string all;
  while (all.find("\r\n\r\n") == std::string::npos) {
    auto part = x.read();
    if (part.empty())
      break;
    all += part;
  }
  return all;
}

/// An actor system, and requests of the test's.
class http_test : public testing::Test {
protected:
  http_test() {
    init_http_types();
    register_http_types(cfg);
    sys.emplace(cfg);
    self.emplace(*sys);
  }

  struct answer {
    std::optional<http_response> response;
    caf::error error;
    duration took;

    [[nodiscard]] int status() const { return response ? response->status : 0; }
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
      .receive([&](const http_response& x) { result.response = x; },
               [&](const caf::error& e) { result.error = e; });
    result.took = std::chrono::steady_clock::now() - begin;
    return result;
  }

  static http_client_config at_port(std::uint16_t port) {
    http_client_config c;
    c.url = "http://127.0.0.1:" + std::to_string(port);
    return c;
  }

  template <class F>
  static bool eventually(F f) {
    for (int i = 0; i < 2'000 && !f(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return f();
  }

  system_config cfg;
  std::optional<caf::actor_system> sys;
  std::optional<caf::scoped_actor> self;
};

} // namespace caisson::test
