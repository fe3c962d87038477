// A collector of OpenTelemetry that says what the test wants, and what sends to
// it.
#pragma once

#include <caisson/gate.hpp>
#include <caisson/observe/otlp/exporter.hpp>

#include <adapters/http/servers.hpp>
#include <support/scratch.hpp>
#include <support/source_dir.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

using nlohmann::json;

/// Keeps what it gets, and which of it it has taken.
class collector {
public:
  struct request {
    std::string path;
    httplib::Headers headers;
    std::string body;
    std::chrono::steady_clock::time_point at;
    bool taken = false;
  };

  /// Answers the n-th request to `path`, from 0 on. By default all are taken.
  using script = std::function<void(const std::string& path, std::size_t n,
                                    httplib::Response& out)>;

  explicit collector(script answer = {})
    : answer_(std::move(answer)), server_([this](httplib::Server& s) {
        auto take = [this](const httplib::Request& in, httplib::Response& out) {
          serve(in, out);
        };
        s.Post("/v1/traces", take);
        s.Post("/v1/metrics", take);
      }) {}

  [[nodiscard]] std::uint16_t port() const { return server_.port(); }

  [[nodiscard]] std::vector<request> all(std::string_view path) const {
    std::lock_guard guard{mutex_};
    std::vector<request> out;
    for (const auto& x : all_)
      if (x.path == path)
        out.push_back(x);
    return out;
  }

  /// The spans in what it has taken.
  [[nodiscard]] std::vector<json> spans() const {
    std::vector<json> out;
    for (const auto& x : all("/v1/traces"))
      if (x.taken)
        for (const auto& span : spans_in(x))
          out.push_back(span);
    return out;
  }

  static json spans_in(const request& x) {
    return json::parse(x.body)["resourceSpans"][0]["scopeSpans"][0]["spans"];
  }

  /// What it has taken is as the schema says.
  void expect_valid() const {
    scratch_dir dir;
    auto file = (dir / "requests").string();
    {
      std::lock_guard guard{mutex_};
      std::ofstream out{file, std::ios::binary};
      for (const auto& x : all_)
        if (x.taken)
          out << x.path << ' ' << x.body << '\n';
    }
    auto command = fmt::format("{} --requests {} >{}/said 2>&1",
                               source_path("test/observe/otlp/check").string(),
                               file, dir.path().string());
    EXPECT_EQ(std::system(command.c_str()), 0) << text_of(dir / "said");
  }

private:
  void serve(const httplib::Request& in, httplib::Response& out) {
    std::size_t place = 0;
    std::size_t n = 0;
    {
      std::lock_guard guard{mutex_};
      for (const auto& x : all_)
        n += x.path == in.path;
      place = all_.size();
      all_.push_back(
        {in.path, in.headers, in.body, std::chrono::steady_clock::now()});
    }
    out.status = 200;
    out.set_content("{}", "application/json");
    if (answer_)
      answer_(in.path, n, out);
    std::lock_guard guard{mutex_};
    all_[place].taken = out.status < 300;
  }

  const script answer_;
  mutable std::mutex mutex_;
  std::vector<request> all_;
  real_server server_;
};

/// A text in a list of attributes of OTLP; empty if it is not there.
inline std::string attribute_in(const json& x, const std::string& key) {
  for (const auto& a : x.at("attributes"))
    if (a.at("key") == key)
      return a.at("value").at("stringValue");
  return {};
}

class otlp_test : public http_test {
protected:
  static constexpr const char* trace = "4bf92f3577b34da6a3ce929d0e0e4736";

  static std::string traceparent(bool sampled = true) {
    return fmt::format("00-{}-00f067aa0ba902b7-{}", trace,
                       sampled ? "01" : "00");
  }

  // Spans alone, at once, and repeated at once.
  static otlp_config quick(std::uint16_t port) {
    otlp_config c;
    c.client.url = fmt::format("http://127.0.0.1:{}", port);
    c.service_name = "shop";
    c.max_delay = std::chrono::milliseconds(2);
    c.backoff = schedule::constant(std::chrono::milliseconds(5));
    c.metrics_interval = duration::zero();
    return c;
  }

  // A gate in front of an actor that doubles, fails below zero and dies of 13.
  control_handle gate(const std::string& name) {
    auto worker = sys->spawn([]() -> caf::behavior {
      return {[](std::int32_t x) -> caf::result<std::int32_t> {
        if (x == 13)
          throw std::runtime_error{"unlucky"};
        if (x < 0)
          return caf::make_error(caf::sec::invalid_argument);
        return 2 * x;
      }};
    });
    return spawn_gate(*sys, worker, stack{name});
  }

  void call_traced(const caf::actor& to, std::int32_t x, bool sampled = true) {
    portable::ask_blocking(*self, to, std::chrono::seconds(10),
                           wrap(x).traceparent(traceparent(sampled)))
      .receive([](std::int32_t) {}, [](const caf::error&) {});
  }

  // The end of the n-th call through some gate.
  event ended(std::uint64_t n) {
    event x;
    x.number = n;
    x.time_ns = sys->clock().now().time_since_epoch().count();
    x.gate = "g";
    x.kind = event_kind::call_ended;
    x.to = "ok";
    x.call = n;
    x.delay = std::chrono::milliseconds(1);
    x.trace_id = trace;
    x.span_id = fmt::format("{:016x}", n);
    x.parent_span_id = "00f067aa0ba902b7";
    return x;
  }

  void end_calls(const otlp_exporter& out, std::uint64_t first,
                 std::uint64_t last) {
    auto take = out.listener();
    for (auto n = first; n <= last; ++n)
      take(ended(n));
  }
};

} // namespace caisson::test
