// Tests with a real Redis.
#pragma once

#include <caisson/adapters/redis/client.hpp>
#include <caisson/gate.hpp>

#include <support/scripted_server.hpp>
#include <support/server_process.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace caisson::test {

using namespace std::chrono_literals;

inline std::string rendered(const redis_reply& x) {
  switch (x.kind) {
    case redis_kind::nil:
      return "nil";
    case redis_kind::integer:
      return std::to_string(x.integer);
    case redis_kind::error:
      return "-" + x.text;
    case redis_kind::array: {
      std::string all = "[";
      for (const auto& y : x.items)
        all += rendered(y) + ' ';
      return all + ']';
    }
    default:
      return x.text;
  }
}

inline std::string rendered(const caf::error& e) {
  if (auto code = transport_errc_of(e))
    return "!" + std::string{name_of(*code)};
  auto content = caf::make_message(e);
  auto o = outcome_of(content);
  return o.own_error ? "!" + std::string{name_of(static_cast<errc>(o.code))}
                     : "!another error";
}

class redis_test : public testing::Test {
protected:
  redis_test() {
    init_redis_types();
    register_redis_types(cfg);
    sys.emplace(cfg);
    self.emplace(*sys);
  }

  ~redis_test() override {
    for (auto& g : gates)
      stop_gate(g);
  }

  /// A server that still has, after its end, what it has answered.
  void start_durable() {
    start({"--appendonly", "yes", "--appendfsync", "always"});
  }

  void start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"redis-server",
                                   "--port",
                                   std::to_string(port),
                                   "--bind",
                                   "127.0.0.1",
                                   "--dir",
                                   dir.path(),
                                   "--pidfile",
                                   dir.path() + "/redis.pid",
                                   "--save",
                                   "",
                                   "--busy-reply-threshold",
                                   "50"};
    words.insert(words.end(), more.begin(), more.end());
    server = std::make_unique<server_process>(words, dir.path() + "/log");
  }

  redis_client_config config() const {
    redis_client_config c;
    c.port = port;
    return c;
  }

  caf::actor gate_for(const redis_client_config& c, stack s = stack{"redis"}) {
    gates.push_back(spawn_gate(*sys, redis_worker(c), std::move(s)));
    return gates.back();
  }

  // With retries, so that it does not matter when the server is up.
  static stack patient_stack() {
    stack s{"redis"};
    s.retrier(
      {.max_attempts = 0, .backoff = schedule::constant(5ms), .budget = false});
    return s;
  }
  caf::actor patient_gate() { return gate_for(config(), patient_stack()); }

  // The same for crowds of calls.
  caf::actor patient_gate_for_many() {
    auto s = patient_stack();
    s.semaphore({.permits = 4, .max_waiters = 100'000});
    return gate_for(config(), std::move(s));
  }

  template <class Handle>
  static std::string receive(Handle h) {
    std::string text;
    std::move(h).receive([&](const redis_reply& x) { text = rendered(x); },
                         [&](const caf::error& e) { text = rendered(e); });
    return text;
  }

  auto send(const caf::actor& to, std::vector<std::string> args,
            duration within = 20s) {
    auto what = as_call(redis_command{std::move(args)});
    what.options.time_left = within;
    return portable::ask_blocking(*self, to, 60s, std::move(what));
  }

  std::string ask(const caf::actor& to, std::vector<std::string> args,
                  duration within = 20s) {
    return receive(send(to, std::move(args), within));
  }

  status look(const caf::actor& g) {
    status s;
    portable::ask_blocking(*self, g, 20s, get_status{})
      .receive([&](const status& x) { s = x; }, [](const caf::error&) {});
    return s;
  }

  template <class F>
  static bool eventually(F f) {
    for (int i = 0; i < 2'000 && !f(); ++i)
      std::this_thread::sleep_for(5ms);
    return f();
  }

  scratch_dir dir;
  std::uint16_t port = dead_port();
  std::unique_ptr<server_process> server;
  system_config cfg;
  std::optional<caf::actor_system> sys;
  std::optional<caf::scoped_actor> self;
  std::vector<caf::actor> gates;
};

} // namespace caisson::test
