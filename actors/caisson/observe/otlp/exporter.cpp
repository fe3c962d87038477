#include <caisson/observe/otlp/exporter.hpp>

#include <caisson/observe/event_log.hpp>
#include <caisson/observe/gate_watch.hpp>
#include <caisson/observe/otlp/detail/metric_requests.hpp>
#include <caisson/observe/otlp/detail/sender.hpp>
#include <caisson/observe/otlp/detail/spans.hpp>
#include <caisson/settings/settings.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace caisson {

namespace {

// So that no clock overflows.
constexpr duration longest_shutdown = std::chrono::hours(24);

std::uint64_t unix_now() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
    std::max<std::int64_t>(std::chrono::nanoseconds{now}.count(), 0));
}

} // namespace

struct otlp_exporter::parts {
  parts(caf::actor_system& sys, const otlp_config& c)
    : config((require_valid(c), c)), sender(sys, config), starts(unix_now()),
      log(event_log::to_function(sys, [this](const event& x, utc_time at) {
        if (auto span = detail::otlp_span(x, at))
          sender.send_span(std::move(*span));
      })) {
    if (config.metrics_interval == duration::zero())
      return;
    gates.emplace(sys,
                  gate_watch_config{.every = config.metrics.publish_every,
                                    .keys = config.metrics.keys_per_layer});
    ticker = std::thread{[this] { tick(); }};
  }

  ~parts() { shutdown(config.shutdown_time); }

  parts(const parts&) = delete;
  parts& operator=(const parts&) = delete;

  bool shutdown(duration timeout) {
    std::lock_guard guard{ending};
    if (ended)
      return *ended;
    auto until = std::chrono::steady_clock::now()
                 + std::min<duration>(timeout, longest_shutdown);
    // What has come is read by then.
    log.close();
    sender.send_waiting_spans();
    {
      std::lock_guard lock{mutex};
      closing = true;
    }
    wake.notify_all();
    if (ticker.joinable()) {
      ticker.join();
      // Or the last ones would be skipped.
      sender.wait_for_metrics(until);
      send_metrics();
    }
    ended = sender.finish(until);
    if (!*ended)
      sender.stop();
    return *ended;
  }

  void tick() {
    std::unique_lock lock{mutex};
    while (!wake.wait_for(lock, config.metrics_interval,
                          [this] { return closing; })) {
      lock.unlock();
      send_metrics();
      lock.lock();
    }
  }

  // By the ticker, and when that has ended.
  void send_metrics() {
    if (!sender.takes_metrics())
      return;
    auto now = unix_now();
    // Now and then someone sets the calendar.
    auto offset = duration{static_cast<std::int64_t>(now)}
                  - std::chrono::steady_clock::now().time_since_epoch();
    sender.send_metrics(detail::otlp_metrics(gates->gates(), config.metrics,
                                             starts, now,
                                             detail::enough_metrics, offset));
  }

  const otlp_config config;
  detail::otlp_sender sender;
  detail::gate_starts starts;
  std::optional<gate_watch> gates;
  std::mutex ending;
  std::optional<bool> ended;
  std::mutex mutex;
  std::condition_variable wake;
  bool closing = false;
  std::thread ticker;
  event_log log;
};

otlp_exporter::otlp_exporter(caf::actor_system& sys, otlp_config c)
  : parts_(std::make_unique<parts>(sys, c)) {}

otlp_exporter::~otlp_exporter() = default;

void otlp_exporter::follow(const control_handle& gate) {
  parts_->log.follow(gate);
}

std::function<void(const event&)> otlp_exporter::listener() const {
  return parts_->log.listener();
}

bool otlp_exporter::shutdown(duration timeout) {
  return parts_->shutdown(timeout);
}

otlp_counts otlp_exporter::counts() const {
  auto out = parts_->sender.counts();
  out.events_dropped = parts_->log.dropped();
  return out;
}

} // namespace caisson
