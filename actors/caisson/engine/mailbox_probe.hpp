// Measures how long messages wait in the mailbox of a gate.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/engine/engine_host.hpp>

#include <cstdint>
#include <optional>

namespace caisson::detail {

/// Under this key the hosts that have a mailbox send the message to themselves;
/// attempts never have it.
inline constexpr std::uint64_t probe_key = (std::uint64_t{1} << 59) - 2;

/// Sends a message through the mailbox of the host, one at a time and only when
/// it is asked: how long that takes is how long others wait.
class mailbox_probe {
public:
  explicit mailbox_probe(engine_host& host) noexcept : host_(host) {}

  /// How long the message took that came last or, if one is under way, how
  /// long that has been; nothing without a mailbox. Then sends the next one,
  /// unless one is under way.
  std::optional<duration> ask(time_point now) {
    if (sent_)
      return time_until(now, *sent_);
    if (!host_.send_probe())
      return std::nullopt;
    sent_ = now;
    return last_;
  }

  /// The message has come.
  void on_arrival(time_point now) noexcept {
    if (sent_)
      last_ = time_until(now, *sent_);
    sent_.reset();
  }

private:
  engine_host& host_;
  // When the one was sent that is under way.
  std::optional<time_point> sent_;
  duration last_ = duration::zero();
};

} // namespace caisson::detail
