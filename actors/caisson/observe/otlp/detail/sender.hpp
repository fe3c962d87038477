// The gates through which spans and metrics go to a collector.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/call_handle.hpp>
#include <caisson/observe/otlp/detail/requests.hpp>
#include <caisson/observe/otlp/exporter.hpp>
#include <caisson/policies/retrier/retrier_config.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace caisson::detail {

/// The settings of the retrier in front of the collector.
[[nodiscard]] retrier_config otlp_retrier(const otlp_config& c);

/// What is on its way, and what has become of the rest. Outlives the sender as
/// long as an answer may come.
class otlp_tally {
public:
  explicit otlp_tally(const otlp_config& c);

  /// A span is on its way from now on; false, and counted, if there is no room.
  bool begin_span();
  void end_span(const caf::message& answer);

  /// Whether no metrics are on their way; if some are, that is counted.
  bool takes_metrics();
  void begin_metrics(std::size_t requests);
  void end_metrics(const caf::message& answer);

  /// The collector has answered, or could not be reached.
  void note(const caf::message& answer);

  /// Wait until nothing is on its way, or no metrics are, and at most until
  /// then. Return whether that is so.
  bool wait_until_empty(std::chrono::steady_clock::time_point until);
  bool wait_for_metrics(std::chrono::steady_clock::time_point until);

  /// Without `events_dropped`.
  [[nodiscard]] otlp_counts counts() const;

private:
  void note_problem(std::string text);

  const std::size_t max_spans_;
  const std::uint64_t max_request_;
  const http_headers secret_;
  mutable std::mutex mutex_;
  std::condition_variable empty_;
  std::size_t spans_ = 0;
  std::size_t requests_ = 0;
  /// Spans in requests that were taken, those that it has rejected included.
  std::uint64_t taken_ = 0;
  otlp_counts counts_;
};

/// Used by any thread.
class otlp_sender {
public:
  otlp_sender(caf::actor_system& sys, const otlp_config& c);

  /// What is still on its way is called off.
  ~otlp_sender();

  otlp_sender(const otlp_sender&) = delete;
  otlp_sender& operator=(const otlp_sender&) = delete;

  /// A Span, as OTLP writes it in JSON.
  void send_span(std::string span);

  /// Whether metrics are wanted: the last ones are not on their way any more.
  bool takes_metrics() { return tally_->takes_metrics(); }

  /// The Metrics of each request, as OTLP writes them in JSON.
  void send_metrics(const std::vector<std::vector<std::string>>& requests);

  /// Waits until no metrics are on their way, or until then.
  void wait_for_metrics(std::chrono::steady_clock::time_point until) {
    tally_->wait_for_metrics(until);
  }

  /// Sends the spans that wait for more. None must be sent any more.
  void send_waiting_spans();

  /// Waits until nothing is on its way, or until then. Returns whether all was
  /// answered.
  bool finish(std::chrono::steady_clock::time_point until);

  /// Calls off what is on its way.
  void stop();

  [[nodiscard]] otlp_counts counts() const { return tally_->counts(); }

private:
  otlp_sender(caf::actor_system& sys, const otlp_config& c,
              const std::string& resource);

  caf::actor_system& sys_;
  const duration timeout_;
  const std::shared_ptr<otlp_tally> tally_;
  const otlp_frame metrics_;
  /// In front of the collector.
  const control_handle gate_;
  /// In front of that.
  const control_handle spans_gate_;
};

} // namespace caisson::detail
