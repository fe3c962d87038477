// Settings of what is sent to a collector of OpenTelemetry.
#pragma once

#include <caisson/adapters/http_client/client.hpp>
#include <caisson/base/time.hpp>
#include <caisson/observe/metrics_config.hpp>
#include <caisson/policy/schedule.hpp>
#include <caisson/settings/field.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting_path.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson {

/// The settings of an `otlp_exporter`.
struct otlp_config {
  /// The collector, and how it is reached: its `url` has no path, and
  /// `max_time` is for one attempt. Default: `http://127.0.0.1:4318`, 10s.
  http_client_config client = {.url = "http://127.0.0.1:4318",
                               .max_time = std::chrono::seconds(10)};

  /// Where the collector takes spans.
  std::string traces_path = "/v1/traces";

  /// Where the collector takes metrics.
  std::string metrics_path = "/v1/metrics";

  /// Headers of all requests, each as `name=value`, such as
  /// `authorization=Bearer …`. Values are in no log and no error.
  std::vector<std::string> headers = {};

  /// The attribute `service.name` of all that is sent.
  std::string service_name = "unknown_service";

  /// Further attributes of the program, each as `name=value`, such as
  /// `deployment.environment.name=test`. `service.instance.id` is a random one
  /// unless it is given here.
  std::vector<std::string> resource = {};

  /// A request has at most this many spans, and is sent when there are so many:
  /// 1 to 10000, default 512.
  std::uint32_t max_spans = 512;

  /// How long a span waits for others to be sent with: 0 to 1h, default 1s.
  duration max_delay = std::chrono::seconds(1);

  /// How many spans may be on their way at once, from the end of what they
  /// report to the collector's answer: 1 to 1000000, not less than `max_spans`,
  /// default 2048. Further ones are dropped and counted.
  std::uint32_t max_waiting = 2'048;

  /// How long a span, or a request with metrics, may be on its way, with all
  /// attempts: 10ms to 1h, default 30s. Then it is dropped and counted.
  duration timeout = std::chrono::seconds(30);

  /// How long to wait before each further attempt, if the collector does not
  /// say. Default: exponential, 1s ×2 up to 5s, equal jitter.
  schedule backoff = schedule::exponential(std::chrono::seconds(1))
                       .limit(std::chrono::seconds(5))
                       .jittered(jitter::equal);

  /// How often metrics are sent: 10ms to 24h, default 1min; 0: never.
  duration metrics_interval = std::chrono::minutes(1);

  /// Which metrics there are.
  metrics_config metrics = {};

  /// How long the destructor waits for what is on its way: 0 to 1h, default 5s.
  duration shutdown_time = std::chrono::seconds(5);
};

void describe(field_visitor& v, otlp_config& c);
void check(const otlp_config& c, const setting_path& path, problems& out);

} // namespace caisson
