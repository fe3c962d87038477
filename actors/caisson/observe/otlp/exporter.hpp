// Sends spans and metrics of gates to a collector of OpenTelemetry.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/caf/call_handle.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/observe/otlp/config.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace caisson {

/// What an `otlp_exporter` has done so far.
struct otlp_counts {
  /// Spans that the collector has taken.
  std::uint64_t spans_exported = 0;
  /// Spans for which there was no room (`max_waiting`).
  std::uint64_t spans_dropped = 0;
  /// Spans that the collector has refused, has not taken in time, or for which
  /// there was no time at the end.
  std::uint64_t spans_failed = 0;
  /// Spans refused in requests that it has accepted (`partialSuccess`).
  std::uint64_t spans_rejected = 0;
  /// Events, some of which may have been ends of spans, that came faster than
  /// they could be read.
  std::uint64_t events_dropped = 0;
  /// Requests with metrics that the collector has taken.
  std::uint64_t metrics_exported = 0;
  /// Requests with metrics that it has refused, or has not taken in time.
  std::uint64_t metrics_failed = 0;
  /// How often metrics were not sent because the last ones were still on their
  /// way. Nothing is lost: the next ones count from the same start.
  std::uint64_t metrics_skipped = 0;
  /// Values refused in requests that it has accepted (`partialSuccess`).
  std::uint64_t points_rejected = 0;
  /// What was last wrong, also if a further attempt has succeeded, for people;
  /// empty: nothing. Without the values of headers.
  std::string last_problem = {};
};

/// Sends spans of gates, and metrics of all gates of a system, to a collector
/// that takes OTLP over HTTP, as JSON. See docs/otlp.md.
///
///     caisson::otlp_exporter otlp{system, {.service_name = "shop"}};
///     otlp.follow(payments);
///
/// It sends through gates of its own, called `otlp` and `otlp_spans`: spans are
/// batched, what the collector cannot take for now is sent again, and what
/// waits is bounded. No gate waits for it, and a collector that is down costs
/// nothing but that memory. Not for virtual time.
///
/// It has threads of its own, and its functions may be called from any thread.
/// It must not outlive the system.
class otlp_exporter {
public:
  /// Throws `config_error` if the configuration is not valid.
  explicit otlp_exporter(caf::actor_system& sys, otlp_config c = {});

  /// As `shutdown` with `shutdown_time`.
  ~otlp_exporter();

  /// Its threads use it where it is.
  otlp_exporter(const otlp_exporter&) = delete;
  otlp_exporter& operator=(const otlp_exporter&) = delete;

  /// Sends the spans of calls through a gate of this node: of those with a
  /// `traceparent` that has the flag `sampled`, from now on until the exporter
  /// or the gate ends. It may follow any number of gates.
  void follow(const control_handle& gate);

  /// For `local_gate::on_event`: sends the spans in the events it is called
  /// with. Does nothing after `shutdown`.
  [[nodiscard]] std::function<void(const event&)> listener() const;

  /// Takes no more events, sends what waits and the metrics once more, and
  /// waits for the collector's answers, for at most `timeout`. Returns whether
  /// all were answered; what was not is counted as failed. Further calls do
  /// nothing and return the same. It blocks: not in an actor.
  bool shutdown(duration timeout);

  /// What it has done so far.
  [[nodiscard]] otlp_counts counts() const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace caisson
