// Settings of a fallback.
#pragma once

#include <caisson/policy/call_info.hpp>
#include <caisson/policy/operation.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/settings/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace caisson {

/// What answers in place of the worker.
enum class alternative_kind : std::uint8_t {
  /// A value, available at once for any number of calls.
  value,
  /// An actor, which can handle a limited number of calls at once.
  actor,
  /// An actor that knows earlier answers: it has less time.
  cache,
};

/// The settings of a fallback. The host has its alternatives (values or
/// actors).
struct fallback_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};
  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// How many calls may be with actors as alternatives at once: 1 to 1000000,
  /// default 10; 0: no limit. Values take no place.
  std::uint32_t max_concurrent = 10;

  /// The share of a call's remaining time that an alternative that is a cache
  /// may take: 0.001 to 1, default 0.15. A cache that takes longer is not worth
  /// waiting for, and the rest of the time is left for the next alternative.
  double cache_share = 0.15;

  /// Which alternative a call tries first after the worker has failed with this
  /// outcome; those before it are not asked. Without a value, or with a number
  /// that no alternative has, the outcome goes up. Default: the first one. If
  /// it throws, the call ends with `callback_failed`.
  std::function<std::optional<std::size_t>(const call_info&, const outcome&)>
    choose = {};

  /// Which outcomes to fall back from: `failure`, `transient` and `refused`,
  /// and in the default table also the error `shed`. The lists are called
  /// `fall_back_on` (allow) and `ignore` (deny), both empty by default. If
  /// `by_value` throws, no alternative is asked, and the gate ends the call
  /// with `callback_failed`.
  classifier classify = {};
};

void describe(field_visitor& v, fallback_config& c);

void check(const fallback_config& c, const setting_path& path, problems& out);

} // namespace caisson
