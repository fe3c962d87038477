// What happened: counts, sums and the event log.
#pragma once

#include <sim/world/blueprint.hpp>
#include <sim/world/histogram.hpp>
#include <sim/world/result.hpp>

#include <caisson/errc.hpp>
#include <caisson/messages.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// How a request or a call ended.
enum class ending : std::uint8_t {
  good = 0,
  /// 1 to `last_errc`: the code of caisson's error.
  failed = last_errc + 1,
  timeout,
};

inline constexpr std::size_t ending_count = last_errc + 3;

/// `good`, the name of an `errc`, `failed` or `timeout`.
[[nodiscard]] std::string_view name_of(ending e) noexcept;

/// What an error answer counts as.
[[nodiscard]] ending ending_of(const outcome& o) noexcept;

/// The event log: lines of text, of which only a digest is kept. The digest is
/// the 64-bit FNV-1a hash of all lines, each with its line break.
class event_log {
public:
  explicit event_log(std::function<void(std::string_view)> sink)
    : sink_(std::move(sink)) {}

  /// Adds the line `<seconds since the start> <text>`.
  template <class... Ts>
  void line(duration at, fmt::format_string<Ts...> text, Ts&&... xs) {
    buffer_.clear();
    auto ns = at.count();
    fmt::format_to(fmt::appender(buffer_), "{}.{:09} ", ns / 1'000'000'000,
                   ns % 1'000'000'000);
    fmt::format_to(fmt::appender(buffer_), text, std::forward<Ts>(xs)...);
    finish_line();
  }

  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_; }
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

private:
  void finish_line();

  std::function<void(std::string_view)> sink_;
  fmt::memory_buffer buffer_;
  std::uint64_t lines_ = 0;
  std::uint64_t digest_ = 0xcbf29ce484222325u;
};

/// The books of one service. Times are since the start of the run; what is
/// before `from` or after `to` counts in no mean.
class service_books {
public:
  service_books(std::string name, std::uint32_t workers, duration from,
                duration to);

  // -- what happens to a request ----------------------------------------------

  void arrived(duration now);
  void refused(duration now);
  void turned_away_down(duration now);
  void entered(duration now, std::size_t queue);
  void began(duration now, duration arrived_at, std::size_t queue);
  /// A worker was occupied or set free.
  void busy_changed(duration now, int by);
  void answered(duration now, bool ok, bool late);
  void abandoned(duration now);
  void lost(duration now);
  /// It is not inside any more; `held_for` is how long it had a worker.
  void left(duration now, duration arrived_at, bool started, duration held_for);
  void queue_is(std::size_t n) { now_.queue = n; }

  // -- what comes of it -------------------------------------------------------

  /// Ends the present second.
  service_second end_second();
  [[nodiscard]] service_summary summary(duration end);

private:
  void integrate(duration now);
  [[nodiscard]] long double clipped(duration t) const;
  [[nodiscard]] bool counts(duration now) const { return now >= from_; }

  service_summary total_;
  std::uint32_t workers_;
  duration from_;
  duration to_;
  service_second now_;

  std::uint64_t inside_ = 0;
  std::uint64_t busy_ = 0;
  duration integrated_to_ = duration::zero();
  // Nanoseconds times requests.
  long double inside_area_ = 0;
  long double busy_area_ = 0;
  // The same area by another way: the time each request spent inside, for those
  // that left, and the sum of the arrival times of those that did not.
  long double time_inside_ = 0;
  long double arrivals_inside_ = 0;
  long double wait_sum_ = 0;
  long double service_sum_ = 0;
  long double sojourn_sum_ = 0;
  std::uint64_t served_ = 0;
  std::uint64_t left_ = 0;
};

/// The books of one run.
class books {
public:
  books(const blueprint& plan, std::function<void(std::string_view)> log);

  /// For instants of the actor system's clock.
  void set_start(time_point t) { start_ = t; }
  [[nodiscard]] duration since_start(time_point t) const { return t - start_; }

  event_log& log() noexcept { return log_; }
  service_books& service(std::size_t i) { return services_[i]; }

  // -- requests of clients ----------------------------------------------------

  /// A new request; returns its number, counted from 1.
  std::uint64_t offered(time_point now, std::size_t load);
  /// It is at the door of its service; `n` of them, in a batch.
  void attempted(time_point now, std::uint64_t n);
  void answered(time_point now, std::uint64_t request, time_point begun,
                std::uint32_t operation, ending how, bool substituted);
  void answered_twice() { ++result_.answered_twice; }
  [[nodiscard]] std::uint64_t open_requests() const noexcept { return open_; }

  // -- gates ------------------------------------------------------------------

  void gate_event(const event& e);
  /// Makes a breaker known; it is closed.
  void add_breaker(std::string gate, std::string layer);

  // -- results ----------------------------------------------------------------

  /// Ends the present second and begins the next one.
  void end_second();
  /// How much of the run that makes so far.
  [[nodiscard]] duration ended_seconds() const {
    return std::chrono::seconds{result_.seconds.size()};
  }
  /// Everything but names, gates and wall-clock numbers.
  [[nodiscard]] arm_result result(time_point end);

private:
  struct tally {
    std::array<std::uint64_t, ending_count> by_ending{};
    std::uint64_t offered = 0;
    std::uint64_t attempts = 0;
    std::uint64_t substituted = 0;
  };

  [[nodiscard]] bool asked_for(std::size_t operation) const;
  static request_counts counts_of(const tally& t);

  const blueprint& plan_;
  event_log log_;
  time_point start_{};
  duration warmup_;
  arm_result result_;
  tally total_;
  tally second_;
  histogram latency_;
  histogram second_latency_;
  std::vector<histogram> by_operation_;
  std::vector<service_books> services_;
  std::vector<std::string> breaker_states_;
  std::map<std::pair<std::string, std::string>, std::size_t> breaker_index_;
  std::uint64_t requests_ = 0;
  std::uint64_t open_ = 0;
};

} // namespace caisson::sim
