// A decision of a policy on a call.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/errc.hpp>

#include <cstdint>

namespace caisson {

/// A decision on a call: pass, reject or hold it.
struct decision {
  enum class kind : std::uint8_t { pass, reject, hold };

  kind what = kind::pass;
  errc code = errc::cancelled;
  /// For `reject`: when to retry, zero if unknown.
  duration retry_after = duration::zero();
  /// For `hold`: when to call `expire`, `never` if only `env.resume` ends it.
  time_point until = never;
  /// For `hold`: whether the call is held whatever the mode of the policy is.
  bool in_all_modes = false;

  static decision pass() noexcept { return {}; }

  static decision reject(errc code,
                         duration retry_after = duration::zero()) noexcept {
    return {kind::reject, code, retry_after, never};
  }

  static decision hold(time_point until = never) noexcept {
    return {kind::hold, errc::cancelled, duration::zero(), until};
  }

  /// The same, whatever the mode of the policy is: because of a promise to
  /// earlier calls.
  [[nodiscard]] decision in_every_mode() const noexcept {
    auto d = *this;
    d.in_all_modes = true;
    return d;
  }
};

} // namespace caisson
