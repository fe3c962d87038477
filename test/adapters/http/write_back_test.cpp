// Writes that are acknowledged while an HTTP server is away for long.
#include <caisson/stack/layers/cache_layer.hpp>

#include <adapters/http/servers.hpp>
#include <support/away.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

/// A PUT sets what a GET of the same target answers.
cache_forms put_and_get() {
  auto forms = cache_forms::keyed_by<http_request>(
    [](const http_request& x) { return x.target; });
  forms.write = [](const caf::message& x) -> std::optional<cached_write> {
    auto* in = portable::get_if<http_request>(x);
    if (!in || in->method != "PUT")
      return std::nullopt;
    return cached_write{
      in->target,
      caf::make_message(http_response{.status = 200, .body = in->body}),
      caf::make_message(http_response{.status = 204})};
  };
  return forms;
}

struct http_write_back : http_test {
  /// The server comes, always to the same port.
  std::unique_ptr<real_server> start_server(
    std::function<void(const httplib::Request&, httplib::Response&)> on_put) {
    auto set = [on_put = std::move(on_put)](httplib::Server& s) {
      s.Put("/account", on_put);
    };
    return std::make_unique<real_server>(set, port);
  }

  auto keeping() {
    return [this](const httplib::Request& in, httplib::Response& out) {
      stored = std::stoi(in.body);
      out.status = 204;
    };
  }

  auto answering(int status) {
    return [status](const httplib::Request&, httplib::Response& out) {
      out.status = status;
    };
  }

  std::int64_t count(const caf::actor& g, const std::string& name) {
    status s;
    portable::ask_blocking(*self, g, 20s, get_status{})
      .receive([&](const status& x) { s = x; }, [](const caf::error&) {});
    return s.metric("cache", name);
  }

  void fails_until(const caf::actor& g, std::int64_t failures) {
    EXPECT_TRUE(
      eventually([&] { return count(g, "flush_failed") >= failures; }));
    EXPECT_EQ(count(g, "lost"), 0);
    EXPECT_EQ(count(g, "unwritten"), 1);
  }

  int port = dead_port();
  std::atomic<int> stored{0};
};

TEST_F(http_write_back, nothing_is_lost_while_the_server_is_away_for_long) {
  auto config = at_port(static_cast<std::uint16_t>(port));
  auto g = spawn_gate(*sys, http_worker(config),
                      stack{}.cache(hasty_flushes(), put_and_get()));
  auto put = as_call({.method = "PUT", .target = "/account", .body = "42"});
  ASSERT_EQ(ask(g, std::move(put)).status(), 204);
  fails_until(g, failures_in_two_minutes);
  // A gateway in front of it is there first.
  for (auto status : {502, 504, 503}) {
    auto gateway = start_server(answering(status));
    fails_until(g, count(g, "flush_failed") + failures_in_two_minutes);
  }
  EXPECT_EQ(ask(g, as_call({.target = "/account"})).response->body, "42");
  auto server = start_server(keeping());
  EXPECT_TRUE(eventually([&] { return stored == 42; }));
  EXPECT_TRUE(eventually([&] { return count(g, "unwritten") == 0; }));
  EXPECT_EQ(count(g, "lost"), 0);
  stop_gate(g);
}

// What the server itself says counts.
TEST_F(http_write_back, what_the_server_refuses_is_given_up) {
  auto server = start_server(answering(500));
  auto config = at_port(static_cast<std::uint16_t>(port));
  auto g = spawn_gate(*sys, http_worker(config),
                      stack{}.cache(hasty_flushes(), put_and_get()));
  auto put = as_call({.method = "PUT", .target = "/account", .body = "42"});
  ASSERT_EQ(ask(g, std::move(put)).status(), 204);
  EXPECT_TRUE(eventually([&] { return count(g, "lost") == 1; }));
  stop_gate(g);
}

} // namespace
} // namespace caisson::test
