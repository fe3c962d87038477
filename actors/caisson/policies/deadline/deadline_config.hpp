// Settings of a deadline.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policies/deadline/learned_limit.hpp>
#include <caisson/policy/operation.hpp>
#include <caisson/settings/fwd.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace caisson {

class stage_budget;

/// The settings of a deadline.
struct deadline_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};
  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// How long a call may stay below this layer: 1us to 365d, default 1s.
  duration timeout = std::chrono::seconds(1);

  /// A call with less time left than this is refused: 0 to 365d, not more than
  /// `timeout`, default 0.
  duration min_left = duration::zero();

  /// The share of its remaining time that a call may stay below this layer:
  /// 0.001 to 1, default 1. Below a retrier a smaller share leaves time for
  /// further attempts. The gate's default deadline does not count as time left.
  double share = 1;

  /// However small the `share`, a call gets this long, and at least `min_left`,
  /// if it has that much time left: 1us to 365d, default 1ms. If `share` is
  /// less than 1, not more than `timeout`.
  duration least = std::chrono::milliseconds(1);

  /// The part of a call's remaining time that the layers below may not use: 0
  /// to 365d, default 0. A call with no more time left than this is refused.
  duration reserve = duration::zero();

  /// Whether and how the layer learns, in place of `timeout`, how long a call
  /// may stay below it.
  learned_limit learned = {};
};

void describe(field_visitor& v, deadline_config& c);

void check(const deadline_config& c, const setting_path& path, problems& out);

/// The settings of a layer in front of the worker of one stage of `budget`: the
/// stage's share is the `timeout`, the budget's reserve is the `reserve`. The
/// caller's deadline is the total. Throws `std::out_of_range` if there is no
/// stage with that name.
[[nodiscard]] deadline_config deadline_of(const stage_budget& budget,
                                          std::string_view stage);

} // namespace caisson
