// Measures how long messages wait in the mailbox of a gate.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/engine/engine_host.hpp>

#include <algorithm>
#include <optional>

namespace caisson::detail {

/// Sends a message through the mailbox of the host, one at a time and only when
/// it is asked: how long that takes is how long others wait.
class mailbox_probe {
public:
  explicit mailbox_probe(engine_host& host) noexcept : host_(host) {}

  /// See `env::probe_mailbox`. Those who ask do so at different times, and all
  /// learn what is known.
  std::optional<duration> ask(time_point since, time_point now) {
    auto known = came_ > since ? last_ : duration::zero();
    if (sent_)
      return std::max(known, time_until(now, *sent_));
    if (!host_.send_probe())
      return std::nullopt;
    sent_ = now;
    return known;
  }

  /// The message has come.
  void on_arrival(time_point now) noexcept {
    if (!sent_)
      return;
    last_ = time_until(now, *sent_);
    came_ = now;
    sent_.reset();
  }

private:
  engine_host& host_;
  // When the one was sent that is in flight.
  std::optional<time_point> sent_;
  // Of the one before, how long it took and when it came.
  duration last_ = duration::zero();
  time_point came_ = time_point::min();
};

} // namespace caisson::detail
