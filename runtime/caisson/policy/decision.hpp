// A decision of a policy on a call.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/errc.hpp>

#include <cstdint>

namespace caisson {

/// A decision on a call: pass, reject or hold it.
struct decision {
  /// What becomes of the call; the functions of `policy` say where it goes.
  enum class kind : std::uint8_t { pass, reject, hold };

  /// Pass unless set.
  kind what = kind::pass;
  /// For `reject`: the error that the call gets.
  errc code = errc::cancelled;
  /// For `hold`: whether the call is held whatever the mode of the policy is.
  bool in_all_modes = false;
  /// For `reject` with `shed`: see `outcome::threshold`.
  std::uint16_t threshold = 0;
  /// For `reject`: how long to wait before a retry, zero if unknown. Not
  /// negative.
  duration retry_after = duration::zero();
  /// For `hold`: when to call `expire`, `never` if only `env.resume` ends it.
  /// For `pass`, as the answer to `policy::reserve`: when the work may begin,
  /// `never`: at once.
  time_point until = never;

  /// The call goes on: down to the next layer, or up with its outcome.
  static decision pass() noexcept { return {}; }

  /// The call goes on, but its work must not begin before `t`.
  static decision pass_from(time_point t) noexcept { return {.until = t}; }

  /// The call gets the error `code` of this layer.
  static decision reject(errc code,
                         duration retry_after = duration::zero()) noexcept {
    return {.what = kind::reject, .code = code, .retry_after = retry_after};
  }

  /// The call stays here until `env.resume`, `env.reject` or `env.answer`, or
  /// until `until`, when `policy::expire` decides about it.
  static decision hold(time_point until = never) noexcept {
    return {.what = kind::hold, .until = until};
  }

  /// This decision, whatever the mode of the policy is: because of a promise to
  /// earlier calls.
  [[nodiscard]] decision in_every_mode() const noexcept {
    auto d = *this;
    d.in_all_modes = true;
    return d;
  }
};

/// When the work of a request for a permit may begin that does not wait for its
/// turn but gets its instant.
struct reservation {
  /// Not before this: now, or a turn that a layer further out has promised.
  time_point earliest;
  /// And not after this, or it is of no use; `never` if at any time.
  time_point latest = never;
};

} // namespace caisson
