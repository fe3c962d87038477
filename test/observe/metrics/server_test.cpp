// A real scrape of gates on the real scheduler.
#include <caisson/gate.hpp>
#include <caisson/observe/metrics/collector.hpp>
#include <caisson/observe/metrics/server.hpp>

#include <examples/http_get.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

caf::behavior doubler() {
  return {[](std::int32_t x) -> caf::result<std::int32_t> {
    if (x < 0)
      return caf::make_error(caf::sec::invalid_argument);
    return 2 * x;
  }};
}

class metrics_server_test : public testing::Test {
protected:
  static constexpr metrics_config quick{.publish_every = 10ms};

  control_handle gate(const std::string& name) {
    return spawn_gate(sys, sys.spawn(doubler),
                      stack{name}
                        .retrier({.max_attempts = 1})
                        .breaker()
                        .semaphore({.permits = 5}));
  }

  void ask(const caf::actor& g, std::int32_t x) {
    portable::ask_blocking(self, g, 10s, x)
      .receive([](std::int32_t) {}, [](const caf::error&) {});
  }

  // What is published after a while is waited for, with a limit.
  static std::string scrape_until(std::uint16_t port, const std::string& line) {
    std::string page;
    for (int i = 0; i < 1000; ++i) {
      page = demo::http_get(port, "/metrics");
      if (page.find(line) != std::string::npos)
        break;
      std::this_thread::sleep_for(10ms);
    }
    return page;
  }

  // How many families there are once a gate has published.
  static std::size_t families_with_gates(metrics_collector& gates) {
    std::size_t found = 0;
    for (int i = 0; i < 1000 && found <= 2; ++i) {
      found = gates.Collect().size();
      std::this_thread::sleep_for(10ms);
    }
    return found;
  }

  static bool has(const std::string& page, const std::string& line) {
    return page.find('\n' + line + '\n') != std::string::npos;
  }

  system_config cfg;
  caf::actor_system sys{cfg};
  caf::scoped_actor self{sys};
};

TEST_F(metrics_server_test, serves_all_gates_of_the_system) {
  auto before = gate("before");
  ask(before, 1);
  metrics_server server{sys, "127.0.0.1:0", quick};
  auto after = gate("after");
  ask(after, 1);
  ask(after, -1);
  auto page = scrape_until(server.port(),
                           "caisson_outcomes_total{gate=\"after\","
                           "outcome=\"other_error\"} 1");
  EXPECT_EQ(page.substr(0, 15), "HTTP/1.1 200 OK");
  EXPECT_TRUE(has(page, "caisson_calls_total{gate=\"before\"} 1"));
  EXPECT_TRUE(has(page, "caisson_calls_total{gate=\"after\"} 2"));
  EXPECT_TRUE(has(page, "caisson_gates 2"));
  EXPECT_TRUE(has(page, "caisson_layer_state{gate=\"after\",layer=\"breaker\","
                        "kind=\"breaker\",state=\"closed\"} 1"));
  EXPECT_TRUE(has(page, "caisson_call_duration_seconds_count{gate=\"after\","
                        "result=\"ok\"} 1"));
  stop_gate(after);
  for (int i = 0; i < 1000 && page.find("\"after\"") != std::string::npos; ++i)
    page = scrape_until(server.port(), "caisson_gates");
  EXPECT_EQ(page.find("\"after\""), std::string::npos);
  EXPECT_TRUE(has(page, "caisson_gates 1"));
  stop_gate(before);
}

TEST_F(metrics_server_test, serves_nothing_else) {
  metrics_server server{sys, "127.0.0.1:0"};
  for (auto path : {"/x", "/etc/passwd", "/../../etc/passwd", "/metrics/../x"})
    EXPECT_NE(demo::http_get(server.port(), path).substr(0, 12), "HTTP/1.1 200")
      << path;
}

TEST_F(metrics_server_test, reports_why_it_cannot_listen) {
  metrics_server first{sys, "127.0.0.1:0"};
  auto address = "127.0.0.1:" + std::to_string(first.port());
  try {
    metrics_server second{sys, address};
    ADD_FAILURE() << "two servers listen there";
  } catch (const std::runtime_error& e) {
    EXPECT_EQ(e.what(), fmt::format("cannot listen on 127.0.0.1 port {}: "
                                    "Address already in use: another program, "
                                    "or another server of this one, listens "
                                    "there",
                                    first.port()));
  }
  EXPECT_THROW((metrics_server{sys, "everywhere"}), config_error);
  EXPECT_THROW((metrics_server{sys, "0", {.max_gates = 0}}), config_error);
}

TEST_F(metrics_server_test, has_a_collector_for_other_exposers) {
  auto g = gate("mine");
  ask(g, 1);
  auto gates = std::make_shared<metrics_collector>(sys, quick);
  EXPECT_GT(families_with_gates(*gates), 20u);
  stop_gate(g);
}

// Counters of one gate never fall from one scrape to the next, and no series
// comes twice, while gates come and go.
TEST_F(metrics_server_test, is_scraped_while_gates_come_and_go) {
  metrics_collector gates{sys, quick};
  auto lasting = gate("lasting");
  // Of several gates with one name, the one that is seen first has no number.
  EXPECT_GT(families_with_gates(gates), 20u);
  std::atomic<bool> done{false};
  std::thread scraper{[&] {
    double last = 0;
    while (!done) {
      std::set<std::string> seen;
      for (const auto& f : gates.Collect())
        if (f.name == "caisson_calls_total")
          for (const auto& x : f.metric) {
            std::string labels;
            for (const auto& l : x.label)
              labels += l.name + '=' + l.value + ',';
            EXPECT_TRUE(seen.insert(labels).second) << labels;
            if (labels == "gate=lasting,") {
              EXPECT_GE(x.counter.value, last);
              last = x.counter.value;
            }
          }
    }
    EXPECT_GT(last, 0);
  }};
  std::vector<std::thread> users;
  for (int t = 0; t < 2; ++t)
    users.emplace_back([&, t] {
      caf::scoped_actor actor{sys};
      auto end = std::chrono::steady_clock::now() + 1s;
      while (std::chrono::steady_clock::now() < end) {
        auto g = gate(t == 0 ? "passing" : "lasting");
        for (std::int32_t x = 0; x < 20; ++x)
          for (const auto& to : {g, lasting})
            portable::ask_blocking(actor, caf::actor{to}, 10s, x)
              .receive([](std::int32_t) {}, [](const caf::error&) {});
        // Sometimes in the middle of a publication.
        stop_gate(g);
      }
    });
  // Watches come and go as well.
  users.emplace_back([&] {
    for (int i = 0; i < 50; ++i) {
      gate_watch other{sys, {.every = 20ms}};
      EXPECT_LE(other.gates().size(), 10u);
      std::this_thread::sleep_for(10ms);
    }
  });
  for (auto& x : users)
    x.join();
  done = true;
  scraper.join();
  stop_gate(lasting);
}

TEST_F(metrics_server_test, is_what_promtool_expects) {
  if (std::system("command -v promtool > /dev/null") != 0) {
    // What it reads is what a server reads, so that this matters.
    std::fprintf(stderr, "promtool IS NOT INSTALLED: the metrics are not "
                         "checked; install the package prometheus\n");
    GTEST_SKIP() << "promtool is not installed";
  }
  auto odd = gate("say \"hi\"\\\nzwölf \xff");
  auto plain = gate("plain");
  ask(odd, 1);
  ask(odd, -1);
  metrics_collector gates{sys, {.publish_every = 10ms, .keys_per_layer = 5}};
  std::string text;
  for (int i = 0; i < 1000 && text.find("plain") == std::string::npos; ++i) {
    std::this_thread::sleep_for(10ms);
    text = prometheus::TextSerializer{}.Serialize(gates.Collect());
  }
  auto file = testing::TempDir() + "/caisson_metrics.txt";
  std::ofstream{file} << text;
  auto command = "promtool check metrics < " + file + " > " + file
                 + ".out 2>&1";
  auto result = std::system(command.c_str());
  std::stringstream output;
  output << std::ifstream{file + ".out"}.rdbuf();
  EXPECT_EQ(result, 0) << output.str();
  EXPECT_EQ(output.str(), "");
  stop_gate(odd);
  stop_gate(plain);
}

TEST_F(metrics_server_test, lists_its_pages_at_its_root) {
  metrics_server server{sys, "127.0.0.1:0", quick};
  auto page = demo::http_get(server.port(), "/");
  EXPECT_TRUE(page.starts_with("HTTP/1.1 200")) << page;
  EXPECT_NE(page.find("content-type: text/html"), page.npos) << page;
  for (std::string path : {"/metrics", "/healthz", "/readyz"})
    EXPECT_NE(page.find("<a href=\"" + path + "\">"), page.npos) << path;
}

TEST_F(metrics_server_test, has_no_series_but_those_of_gates) {
  auto g = gate("payments");
  metrics_server server{sys, "127.0.0.1:0", quick};
  auto page = scrape_until(server.port(), "caisson_gates 1");
  EXPECT_EQ(page.find("exposer_"), page.npos);
  stop_gate(g);
}

TEST_F(metrics_server_test, answers_probes_by_rules) {
  auto g = gate("payments");
  metrics_server server{sys, "127.0.0.1:0", quick};
  auto probe = [&](const char* path) {
    auto page = demo::http_get(server.port(), path);
    auto body = page.find("\r\n\r\n");
    return page.substr(9, 3) + ' ' + page.substr(body + 4);
  };
  scrape_until(server.port(), "caisson_gates 1");
  EXPECT_EQ(probe("/healthz"), "200 ok\n");
  EXPECT_EQ(probe("/readyz?verbose"), "200 ok\n");
  EXPECT_EQ(probe("/readyz/"), "404 only /metrics, /healthz and /readyz are "
                               "here\n");
  caf::anon_send(g, drain{});
  for (int i = 0; i < 1000 && probe("/readyz") == "200 ok\n"; ++i)
    std::this_thread::sleep_for(10ms);
  EXPECT_EQ(probe("/readyz"), "503 draining: payments\n");
  EXPECT_EQ(probe("/healthz"), "200 ok\n");
  server.set_ready([](const auto& gates) -> std::string {
    return gates.size() == 1 ? "" : "gates are missing";
  });
  EXPECT_EQ(probe("/readyz"), "200 ok\n");
  server.set_healthy([](const auto&) -> std::string { return "stuck"; });
  EXPECT_EQ(probe("/healthz"), "503 stuck\n");
  server.set_healthy(
    [](const auto&) -> std::string { throw std::runtime_error{"boom"}; });
  EXPECT_EQ(probe("/healthz"), "503 the health check threw: boom\n");
  server.set_healthy([](const auto&) -> std::string { throw 7; });
  EXPECT_EQ(probe("/healthz"), "503 the health check threw\n");
  server.set_healthy({});
  EXPECT_EQ(probe("/healthz"), "200 ok\n");
}

TEST(draining_gates, leaves_out_those_that_a_reload_has_removed) {
  auto draining = std::make_shared<gate_snapshot>();
  draining->state = gate_state::draining;
  auto accepting = std::make_shared<const gate_snapshot>();
  EXPECT_EQ(draining_gates({{"a", 1, draining},
                            {"b", 1, draining, true},
                            {"c", 1, accepting},
                            {"d", 1, draining}}),
            "draining: a, d");
  EXPECT_EQ(draining_gates({{"b", 1, draining, true}}), "");
}

} // namespace
} // namespace caisson::test
