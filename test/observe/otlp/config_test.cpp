// Settings of an exporter, and what is wrong with them.
#include <caisson/observe/otlp/exporter.hpp>
#include <caisson/settings/settings.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

std::string problem_of(const std::function<void(otlp_config&)>& change) {
  otlp_config c;
  change(c);
  auto found = problems_of(c);
  return found.size() == 1 ? to_text(found[0])
                           : std::to_string(found.size()) + " problems";
}

TEST(otlp_config_test, is_valid_by_default) {
  EXPECT_EQ(to_text(problems_of(otlp_config{})), "");
}

TEST(otlp_config_test, says_what_is_wrong) {
  EXPECT_EQ(
    problem_of([](auto& c) { c.client.url = "http://x/path"; }),
    "client.url: it is not a server: write http://host or https://host, "
    "perhaps with :port, and no user or path");
  EXPECT_EQ(problem_of([](auto& c) { c.traces_path = "v1/traces"; }),
            "traces_path: it is not a path: begin it with / and use no blanks");
  EXPECT_EQ(
    problem_of([](auto& c) { c.metrics_path = ""; }),
    "metrics_path: it is not a path: begin it with / and use no blanks");
  EXPECT_EQ(problem_of([](auto& c) { c.max_waiting = 100; }),
            "max_waiting: it is less than `max_spans`");
  EXPECT_EQ(problem_of([](auto& c) { c.metrics_interval = 1ms; }),
            "metrics_interval: it is less than 10ms, and not 0");
  EXPECT_EQ(problem_of([](auto& c) { c.resource = {"service.name=x"}; }),
            "resource[0]: set it by `service_name`");
  EXPECT_EQ(problem_of([](auto& c) {
              c.resource = {"a=1", "a=2"};
            }),
            "resource[1]: it has the name of an earlier one");
  EXPECT_EQ(problem_of([](auto& c) { c.headers = {"Content-Type=text/html"}; }),
            "headers[0]: Content-Type follows from what is sent");
  EXPECT_EQ(problem_of([](auto& c) { c.headers = {"a b=c"}; }),
            "headers[0]: its name or its value cannot be in a header");
  EXPECT_EQ(problem_of([](auto& c) { c.client.redirects = 1; }),
            "client.redirects: redirections of a collector are not followed, "
            "allowed: 0");
  EXPECT_EQ(problem_of([](auto& c) {
              c.client.key_header = "authorization";
              c.headers = {"Authorization=x"};
            }),
            "headers: one of them is also a header of the client");
  EXPECT_NE(problem_of([](auto& c) {
              c.backoff = schedule::constant(0s);
            }).find("backoff"),
            std::string::npos);
}

TEST(otlp_config_test, says_nothing_of_the_values_of_headers) {
  for (const auto* text :
       {"s3cr3t", "=s3cr3t", "x=s3cr3t\x01", "s3cr3t=\x01"}) {
    auto what = problem_of([&](auto& c) { c.headers = {text}; });
    EXPECT_EQ(what.find("s3cr3t"), std::string::npos) << what;
    EXPECT_TRUE(what.starts_with("headers[0]: ")) << what;
  }
  // The end of a token may look like that of a name.
  auto twice = problem_of([](auto& c) {
    c.headers = {"s3cr3t==", "s3cr3t=="};
  });
  EXPECT_EQ(twice.find("s3cr3t"), std::string::npos) << twice;
}

TEST(otlp_config_test, is_refused_by_the_exporter) {
  system_config cfg;
  caf::actor_system sys{cfg};
  EXPECT_THROW((otlp_exporter{sys, {.max_spans = 0}}), config_error);
}

} // namespace
} // namespace caisson::test
