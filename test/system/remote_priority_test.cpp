// Gates on another node, which act on what the caller says of a call.
#include <caisson/caf/caf_io.hpp>
#include <caisson/gate.hpp>
#include <caisson/request.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/shedder_layer.hpp>

#include "../demos/examples/certificates.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// A machine as busy as the test says, from any thread.
struct busy_machine final : load_source {
  load_reading read(time_point, duration) override {
    return {.cpu = cpu, .memory = 0.0};
  }
  std::atomic<double> cpu{0};
};

enum class transport { tcp, tls };

std::string name_of(const testing::TestParamInfo<transport>& x) {
  return x.param == transport::tcp ? "tcp" : "tls";
}

#ifdef CAISSON_TLS
const auto transports = testing::Values(transport::tcp, transport::tls);
#else
const auto transports = testing::Values(transport::tcp);
#endif

// Calls go through a gate on the client's node to one on the server's.
class remote_priority : public testing::TestWithParam<transport> {
protected:
  static void SetUpTestSuite() {
    files = std::make_unique<demo::scratch_directory>();
    demo::make_authority(*files);
    for (const auto* name : {"server", "client"})
      demo::make_certificate(*files, name);
  }

  static void TearDownTestSuite() { files.reset(); }

  static std::unique_ptr<network_config> config_of(const std::string& name) {
    std::unique_ptr<network_config> config;
#ifdef CAISSON_TLS
    if (GetParam() == transport::tls)
      config = std::make_unique<tls_network_config>(
        tls_files{files->file(name + ".pem"), files->file(name + ".key"),
                  files->file("authority.pem")});
#endif
    if (!config)
      config = std::make_unique<network_config>();
    portable::set_threads(*config, 2);
    return config;
  }

  static caf::expected<std::uint16_t> publish(caf::actor_system& sys,
                                              const call_handle& gate) {
#ifdef CAISSON_TLS
    if (GetParam() == transport::tls)
      return portable::publish_tls(sys, gate);
#endif
    return portable::publish(sys, gate);
  }

  static caf::expected<caf::actor> connect(caf::actor_system& sys,
                                           std::uint16_t port) {
#ifdef CAISSON_TLS
    if (GetParam() == transport::tls)
      return portable::connect_tls(sys, portable::loopback, port);
#endif
    return portable::connect(sys, portable::loopback, port);
  }

  ~remote_priority() override {
    stop_gate(near);
    stop_gate(far);
    caf::anon_send_exit(doubler, caf::exit_reason::kill);
  }

  void connect_to(stack policies) {
    far = spawn_gate(server, worker{doubler}, std::move(policies));
    auto port = publish(server, call_handle{far});
    ASSERT_TRUE(static_cast<bool>(port));
    auto found = connect(client, *port);
    ASSERT_TRUE(static_cast<bool>(found));
    near = spawn_gate(client, worker{*found}.takes_calls(), stack{"near"});
  }

  bool passes(call x) {
    auto answer = request_blocking<int>(client, near, 20s, std::move(x));
    EXPECT_TRUE(answer.ok() || answer.error() == errc::shed) << answer.text();
    return answer.ok();
  }

  std::int64_t metric(const std::string& layer, const std::string& name) {
    caf::scoped_actor self{server};
    std::int64_t found = -1;
    portable::ask_blocking(self, far, 20s, get_status{})
      .receive([&](status& s) { found = s.metric(layer, name); },
               [](caf::error& e) { ADD_FAILURE() << to_text(e); });
    return found;
  }

  static inline std::unique_ptr<demo::scratch_directory> files;
  std::unique_ptr<network_config> server_config = config_of("server");
  std::unique_ptr<network_config> client_config = config_of("client");
  caf::actor_system server{*server_config};
  caf::actor_system client{*client_config};
  caf::actor doubler = server.spawn([](caf::event_based_actor*) {
    return caf::behavior{[](int x) { return 2 * x; }};
  });
  caf::actor far;
  caf::actor near;
};

// A window is a hundred calls.
class remote_shedder : public remote_priority {
protected:
  struct passed {
    int low = 0;
    int high = 0;
  };

  void start() {
    connect_to(
      stack{"far"}.seed(1).add<shedder>({.max_memory = 0,
                                         .in_flight_factor = 0,
                                         .sample = 10ms,
                                         .window = 1min,
                                         .window_calls = 100,
                                         .decrease = 0.1,
                                         .increase = 0.001,
                                         .minimum = 1},
                                        std::shared_ptr<load_source>{machine}));
  }

  passed window() {
    passed n;
    for (auto i = 0; i < 50; ++i) {
      n.low += passes(wrap(i)) ? 1 : 0;
      n.high += passes(wrap(i).priority(1)) ? 1 : 0;
    }
    // A reading is older than `sample` when the next one comes.
    std::this_thread::sleep_for(20ms);
    return n;
  }

  std::shared_ptr<busy_machine> machine = std::make_shared<busy_machine>();
};

TEST_P(remote_shedder, goes_by_the_priority_that_the_caller_gave) {
  start();
  machine->cpu = 1;
  passed last{50, 50};
  for (auto i = 0; i < 20 && last.low > 15; ++i)
    last = window();
  machine->cpu = 0;
  auto then = window();
  EXPECT_EQ(then.high, 50);
  EXPECT_LT(then.low, 30);
}

TEST_P(remote_shedder, goes_by_the_key_that_the_caller_gave) {
  start();
  machine->cpu = 1;
  passed last{50, 50};
  for (auto i = 0; i < 20 && last.low > 35; ++i)
    last = window();
  machine->cpu = 0;
  // The window with the overload ends with this call.
  passes(wrap(1).priority(1));
  auto served = 0;
  for (auto k = 0; k < 30; ++k) {
    auto key = std::to_string(k);
    auto first = passes(wrap(k).key(key));
    served += first ? 1 : 0;
    for (auto i = 0; i < 2; ++i)
      EXPECT_EQ(passes(wrap(k).key(key)), first) << key;
  }
  EXPECT_GT(served, 0);
  EXPECT_LT(served, 30);
}

// Answers with how many requests came before, when it gets a text.
caf::behavior counting_keeper(caf::event_based_actor* self) {
  struct state {
    int came = 0;
    std::optional<caf::typed_response_promise<int>> kept;
  };
  auto x = std::make_shared<state>();
  return {[self, x](int) -> caf::result<int> {
            x->kept = self->make_response_promise<int>();
            return *x->kept;
          },
          [x](const std::string&) {
            if (x->kept)
              std::exchange(x->kept, {})->deliver(x->came++);
          }};
}

class remote_queue : public remote_priority {
protected:
  void start(wait_order order) {
    caf::anon_send_exit(doubler, caf::exit_reason::kill);
    doubler = server.spawn(counting_keeper);
    connect_to(
      stack{"far"}.semaphore({.permits = 1, .max_waiters = 9, .order = order}));
  }

  // Returns when it is there.
  std::future<result<int>> ask(call x) {
    auto there = [&] {
      return metric("semaphore", "waiting") + metric("semaphore", "in_use");
    };
    auto before = there();
    auto answer = request_future<int>(client, near, 20s, std::move(x));
    for (auto i = 0; i < 2000 && there() == before; ++i)
      std::this_thread::sleep_for(5ms);
    EXPECT_EQ(there(), before + 1);
    return answer;
  }

  // How many came to the worker before it.
  int place_of(std::future<result<int>>& answer) {
    for (auto i = 0; i < 2000; ++i) {
      if (answer.wait_for(5ms) == std::future_status::ready) {
        auto x = answer.get();
        EXPECT_TRUE(x.ok()) << x.text();
        return x.ok() ? *x : -1;
      }
      caf::anon_send(doubler, std::string{"go on"});
    }
    return -1;
  }
};

TEST_P(remote_queue, serves_first_what_the_caller_called_important) {
  start(wait_order::priority);
  auto first = ask(wrap(0));
  auto low = ask(wrap(1));
  auto high = ask(wrap(2).priority(20));
  EXPECT_EQ(place_of(first), 0);
  EXPECT_EQ(place_of(high), 1);
  EXPECT_EQ(place_of(low), 2);
}

TEST_P(remote_queue, serves_the_keys_that_the_caller_gave_in_turn) {
  start(wait_order::fair);
  auto first = ask(wrap(0).key("a"));
  auto a1 = ask(wrap(1).key("a"));
  auto a2 = ask(wrap(2).key("a"));
  auto b = ask(wrap(3).key("b"));
  EXPECT_EQ(place_of(first), 0);
  EXPECT_EQ(place_of(a1), 1);
  EXPECT_EQ(place_of(b), 2);
  EXPECT_EQ(place_of(a2), 3);
}

INSTANTIATE_TEST_SUITE_P(by, remote_shedder, transports, name_of);
INSTANTIATE_TEST_SUITE_P(by, remote_queue, transports, name_of);

} // namespace
} // namespace caisson::test
