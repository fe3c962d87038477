// The probes of one half-open epoch of a breaker.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policies/breaker/breaker_config.hpp>
#include <caisson/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace caisson::detail {

/// Grants probes, each of which is a lease, and weighs their results. Times
/// passed in must not go backwards.
class breaker_probes {
public:
  enum class decision : std::uint8_t { none, open, close };

  /// Grants a lease with this number, larger than all before, unless all probes
  /// are in flight or judged.
  bool grant(std::uint64_t number, call_id call, time_point now,
             const breaker_config& c);

  /// The call of this lease has come back. Returns false if its lease has ended
  /// already. Otherwise the probe is free for another call, unless `judge`d.
  bool take_back(std::uint64_t number);

  /// A probe that was taken back has succeeded or failed.
  void judge(bool success) {
    CAISSON_ENSURE(successes_ + failures_ < ended_,
                   "{} successes and {} failures of {} probes", successes_,
                   failures_, ended_);
    ++(success ? successes_ : failures_);
  }

  /// Ends the oldest lease if its end is not after `by`, and counts a failure.
  /// Returns its call.
  std::optional<call_id> expire(time_point by, const breaker_config& c);

  /// Where to go, as soon as that is certain. With settings that did not change
  /// meanwhile at most one way is possible; if they did, the worse one wins.
  [[nodiscard]] decision weigh(const breaker_config& c) const;

  [[nodiscard]] bool any_failed() const { return failures_ > 0; }

  [[nodiscard]] std::size_t in_flight() const { return leases_.size(); }

  /// When the epoch ends at the latest; `never` before its first probe.
  [[nodiscard]] time_point end(const breaker_config& c) const;

  /// When the epoch or its oldest lease ends.
  [[nodiscard]] time_point next_end(const breaker_config& c) const;

  /// How long a lease lasts: a slow probe has failed.
  [[nodiscard]] static duration lease_of(const breaker_config& c);

private:
  struct lease {
    std::uint64_t number;
    call_id call;
    time_point granted;
  };

  /// In order of numbers, and so of when they end.
  std::vector<lease> leases_;
  time_point first_ = never;
  std::uint32_t successes_ = 0;
  std::uint32_t failures_ = 0;
  /// Leases that are over; of those that came back neutral, too.
  std::uint64_t ended_ = 0;
};

} // namespace caisson::detail
