// The share of calls that passes after a breaker has closed.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policies/breaker/breaker_config.hpp>

#include <optional>

namespace caisson::detail {

/// Grows linearly from `ramp_from` to 1 during `ramp`; 1 without a ramp.
class breaker_ramp {
public:
  /// No ramp.
  breaker_ramp() = default;

  /// Begins at `now`.
  explicit breaker_ramp(time_point now) : begun_(now) {}

  /// `never` without a ramp.
  [[nodiscard]] time_point end(const breaker_config& c) const {
    return begun_ ? time_after(*begun_, c.ramp) : never;
  }

  [[nodiscard]] bool runs() const { return begun_.has_value(); }

  [[nodiscard]] double share(time_point now, const breaker_config& c) const {
    if (!begun_ || now >= end(c))
      return 1;
    auto part = to_seconds(now - *begun_) / to_seconds(c.ramp);
    return c.ramp_from + (1 - c.ramp_from) * part;
  }

private:
  std::optional<time_point> begun_;
};

} // namespace caisson::detail
