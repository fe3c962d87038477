// Helpers of the breaker's tests.
#pragma once

#include <caisson/policies/breaker/breaker.hpp>
#include <support/rig.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

using strings = std::vector<std::string>;

/// Opens after `threshold` failures in a row, for 10 seconds.
inline breaker_config with_threshold(std::uint32_t threshold) {
  breaker_config c;
  c.threshold = threshold;
  c.open = schedule::constant(std::chrono::seconds(10));
  return c;
}

inline outcome app_error(std::uint8_t code) {
  outcome o;
  o.ok = false;
  o.code = code;
  o.category = category_hash("app");
  return o;
}

struct breaker_rig : rig<breaker> {
  using rig::rig;

  /// Sends a call that is answered at once.
  call_id call(outcome o) {
    auto id = arrive();
    if (where(id) == place::below)
      finish(id, o);
    return id;
  }

  call_id good() { return call(outcome::success()); }
  call_id bad() { return call(app_error(1)); }

  /// Good and bad calls, one per letter, `x` being a bad one.
  void play(std::string_view results) {
    for (auto c : results)
      c == 'x' ? bad() : good();
  }

  strings changes() const {
    strings out;
    for (auto& x : e.reports)
      if (x.starts_with("state_changed:"))
        out.push_back(x.substr(14));
    return out;
  }
};

} // namespace caisson::test
