// Injects faults on purpose, to test whether the other policies handle them.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/policy/schedule.hpp>
#include <caisson/settings/settings.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- configuration ------------------------------------------------------------

/// The settings of a chaos layer. Each call meets at most one fault; the sum of
/// the rates is at most 1.
struct chaos_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};
  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// Whether faults are injected at all, default no.
  bool enabled = false;

  /// The share of calls that fail at once, so that the worker never sees them:
  /// 0 to 1, default 0.001.
  double error_rate = 0.001;

  /// The share of calls that wait before they go on: 0 to 1, default 0.001.
  double latency_rate = 0.001;

  /// How long these wait: the first delay of the schedule, drawn anew for each
  /// call; none if it has none, 365d at most. Default 100ms. If its function
  /// throws, the host is notified, which ends the call (see
  /// `env::callback_threw`); without a host there is no delay.
  schedule latency = schedule::constant(std::chrono::milliseconds(100));

  /// The share of calls that fail although the worker carries them out: 0 to 1,
  /// default 0.001.
  double outcome_rate = 0.001;

  /// The share of calls to which nothing happens until their deadline: 0 to 1,
  /// default 0.001.
  double silence_rate = 0.001;

  /// How long a call that meets silence lasts at most, even without a deadline:
  /// 1ms to 365d, default 30s.
  duration silence = std::chrono::seconds(30);
};

void describe(field_visitor& v, chaos_config& c);

void check(const chaos_config& c, const setting_path& path, problems& out);

// -- counters -----------------------------------------------------------------

/// What a chaos layer counts; docs/chaos.md says what each means.
enum class chaos_counter : std::uint8_t {
  spared,
  errors_injected,
  latencies_injected,
  outcomes_injected,
  silences_injected,
  silences_ended,
  abandoned,
  count_
};

template <>
struct enum_names<chaos_counter> {
  static constexpr std::string_view value[] = {
    "spared",
    "errors_injected",
    "latencies_injected",
    "outcomes_injected",
    "silences_injected",
    "silences_ended",
    "abandoned",
  };
};

// -- policy -------------------------------------------------------------------

/// Makes a share of the calls fail, wait, lose their answer or get none. The
/// error is `injected`, and each fault is an event of the kind `injected`, so
/// it cannot be mistaken for one of the worker's. The error says that the
/// call was not executed, except for a lost answer, where it says whether it
/// was. Draws one number for each call from the gate's seeded source (and what
/// `latency` draws), and none while it is not enabled.
class chaos final : public policy_base<chaos, chaos_config, chaos_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "chaos";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit chaos(chaos_config c);

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;

  // -- time -------------------------------------------------------------------

  decision expire(call_info& call, slot& notes, env& e) override;

protected:
  // -- operation --------------------------------------------------------------

  // New settings apply to new calls, and calls that have met their fault keep
  // it. Without `enabled` no further outcome is replaced.

  void prepare(chaos_config& next, env& e) override;
  void list_gauges(std::vector<metric>& out) const override;

private:
  // What a call has met.
  enum class fault : std::uint8_t { none, error, latency, outcome, silence };

  // What the slot of a call has.
  struct call_state {
    fault what = fault::none;
    // Whether it is held.
    bool waits = false;
  };

  [[nodiscard]] fault draw(random_source& random) const;
  duration some_latency(env& e) const;
  decision wait(call_state& saved, duration d, env& e);
  void emit(counter which, std::string_view what, const call_info& call, env& e,
            duration delay = duration::zero());

  // Calls that are held.
  std::int64_t waiting_ = 0;
};

} // namespace caisson
