// Settings of a degradation layer: its levels, and when they are switched.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/policy/policy_config.hpp>
#include <caisson/settings/settings.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace caisson {

/// One level: a set of features that are switched together.
struct degradation_level {
  /// What the level is called: letters, digits, `_` and `-`. The name is also a
  /// feature.
  std::string name = {};

  /// The level above it, which comes before it in the list: while that one is
  /// off, this one is. Empty: there is none.
  std::string parent = {};

  /// Further features that are off while the level is.
  std::vector<std::string> features = {};

  /// It is switched off if a smaller share of the calls succeeds: 0 to 1,
  /// default 0.95. 0: never for that reason.
  double min_success = 0.95;

  /// It is switched off if the percentile of the latency is longer: 1ms to
  /// unlimited, default 800ms. Unlimited: never for that reason.
  duration max_latency = std::chrono::milliseconds(800);
};

/// Lists the fields of `x`.
void describe(field_visitor& v, degradation_level& x);

/// The settings of a degradation layer.
struct degradation_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};

  /// Whether the layer acts, default `enforce`. In the other modes all
  /// features are on.
  caisson::mode mode = caisson::mode::enforce;

  /// The levels: 1 to 32, with different names. Default: core, below it checks,
  /// below that extras.
  std::vector<degradation_level> levels = {
    {.name = "core"},
    {.name = "checks", .parent = "core"},
    {.name = "extras", .parent = "checks"},
  };

  /// For operators: names of levels that are off, and with them those below,
  /// whatever the rules say. Default: none.
  std::vector<std::string> held_off = {};

  /// Names of levels that no rule switches off; each is on as long as those
  /// above it are. Default: none.
  std::vector<std::string> held_on = {};

  /// How far back calls count: 1s to 24h, default 1min. In twelve steps.
  duration window = std::chrono::minutes(1);

  /// With fewer calls in the window than this, no level is switched off: 1 to
  /// 1000000, default 20.
  std::uint32_t min_calls = 20;

  /// Which percentile of the latency counts: 0 to 1, default 0.99.
  double percentile = 0.99;

  /// How often the rules are checked: 10ms to 1h, default 1s.
  duration check_every = std::chrono::seconds(1);

  /// How long to wait for the effect after a level was switched off, before
  /// another one is switched off: 0 to 24h, default 10s.
  duration patience = std::chrono::seconds(10);

  /// How long the numbers must have been healthy before a level is switched on
  /// again: 0 to 24h, default 30s.
  duration recover_after = std::chrono::seconds(30);

  /// If a level is switched off sooner than the current wait after one was
  /// switched on, the wait doubles, up to this: not less than `recover_after`,
  /// to 24h, default 10min.
  duration recover_after_max = std::chrono::minutes(10);

  /// To count as healthy, failures must be at most this share of those that
  /// switch the level off: 0 to 1, default 0.5.
  double recover_failures = 0.5;

  /// To count as healthy, the latency must be at most this share of the one
  /// that switches the level off: 0 to 1, default 0.8.
  double recover_latency = 0.8;

  /// Which outcomes count: errors named by `allow` only, all but those named by
  /// `deny`, or what the function says. In configurations, `count_only` and
  /// `ignore`.
  classifier classify = {};
};

/// Lists the fields of `c`.
void describe(field_visitor& v, degradation_config& c);

/// Checks number, names and parents of the levels, and the lists.
void check(const degradation_config& c, const setting_path& path,
           problems& out);

} // namespace caisson
