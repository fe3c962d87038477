#include <caisson/base/ensure.hpp>
#include <caisson/policies/chaos.hpp>
#include <caisson/policy/callback.hpp>
#include <caisson/policy/schedule_settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

namespace {

// No call is held for longer, whatever the settings and functions say.
constexpr duration longest = std::chrono::hours(24 * 365);

} // namespace

void describe(field_visitor& v, chaos_config& c) {
  using namespace std::chrono_literals;
  describe_common(v, c);
  v.on({"enabled", "whether faults are injected at all"}, c.enabled);
  v.on({"error_rate", "the share of calls that fail at once, so that the "
                      "worker never sees them"},
       c.error_rate, {0.0, 1.0});
  v.on({"latency_rate", "the share of calls that wait before they go on"},
       c.latency_rate, {0.0, 1.0});
  v.on({"latency", "how long these wait: the first delay, drawn anew for each "
                   "call"},
       c.latency);
  v.on({"outcome_rate", "the share of calls that fail although the worker "
                        "carries them out"},
       c.outcome_rate, {0.0, 1.0});
  v.on({"silence_rate", "the share of calls to which nothing happens until "
                        "their deadline"},
       c.silence_rate, {0.0, 1.0});
  v.on({"silence", "how long a call that meets silence may last at most; then "
                   "it fails"},
       c.silence, {1ms, longest});
}

void check(const chaos_config& c, const setting_path& path, problems& out) {
  auto sum = c.error_rate + c.latency_rate + c.outcome_rate + c.silence_rate;
  // Decimal fractions that add up to 1 may be a little more as doubles.
  if (constexpr auto tolerance = 1e-9; sum > 1 + tolerance)
    out.push_back(
      {problem_kind::relation, path / "error_rate",
       fmt::format("error_rate, latency_rate, outcome_rate and "
                   "silence_rate are {:.10g} together, allowed: at most "
                   "1",
                   sum)});
}

// -- construction -------------------------------------------------------------

chaos::chaos(chaos_config c) : policy_base(std::move(c)) {
  config_.latency = config_.latency.detached();
}

// -- calls --------------------------------------------------------------------

decision chaos::admit(call_info& call, slot& notes, env& e) {
  auto& saved = notes.start<call_state>();
  if (config_.enabled)
    saved.what = draw(e.random);
  switch (saved.what) {
    case fault::none:
      count(counter::spared);
      break;
    case fault::error:
      emit(counter::errors_injected, "error", call, e);
      return decision::reject(errc::injected);
    case fault::latency: {
      auto d = some_latency(e);
      emit(counter::latencies_injected, "latency", call, e, d);
      return d > duration::zero() ? wait(saved, d, e) : decision::pass();
    }
    case fault::outcome:
      // The event is sent when it happens.
      break;
    case fault::silence:
      emit(counter::silences_injected, "silence", call, e);
      return wait(saved, config_.silence, e);
  }
  return decision::pass();
}

// One number for all faults, so that their rates are of all calls.
chaos::fault chaos::draw(random_source& random) const {
  auto x = random.uniform();
  auto falls_in = [&](double share) { return (x -= share) < 0; };
  if (falls_in(config_.error_rate))
    return fault::error;
  if (falls_in(config_.latency_rate))
    return fault::latency;
  if (falls_in(config_.outcome_rate))
    return fault::outcome;
  if (falls_in(config_.silence_rate))
    return fault::silence;
  return fault::none;
}

duration chaos::some_latency(env& e) const {
  schedule::cursor first;
  auto d = call_user(
    "latency", [&] { return config_.latency.next(first, e.random); }, e);
  return std::min(d.value_or(std::nullopt).value_or(duration::zero()), longest);
}

decision chaos::wait(call_state& saved, duration d, env& e) {
  CAISSON_ENSURE(!saved.waits && d > duration::zero(),
                 "a call waits for {} more", d);
  saved.waits = true;
  ++waiting_;
  return decision::hold(time_after(e.now, d));
}

decision chaos::complete(call_info& call, slot& notes, outcome&, env& e) {
  const auto& saved = notes.as<call_state>();
  CAISSON_ENSURE(!saved.waits, "a call is held and comes back");
  if (saved.what != fault::outcome)
    return decision::pass();
  // Once faults are switched off, those that have not happened yet must not
  // happen.
  if (!config_.enabled) {
    count(counter::spared);
    return decision::pass();
  }
  emit(counter::outcomes_injected, "outcome", call, e);
  return decision::reject(errc::injected);
}

void chaos::abandon(call_info&, slot& notes, const outcome&, bool, env&) {
  waiting_ -= notes.as<call_state>().waits ? 1 : 0;
  CAISSON_ENSURE(waiting_ >= 0, "{} calls wait", waiting_);
  count(counter::abandoned);
}

void chaos::emit(counter which, std::string_view what, const call_info& call,
                 env& e, duration delay) {
  count(which);
  e.emit({.kind = event_kind::injected,
          .detail = what,
          .call = call.id,
          .delay = delay});
}

// -- time ---------------------------------------------------------------------

decision chaos::expire(call_info&, slot& notes, env&) {
  auto& saved = notes.as<call_state>();
  CAISSON_ENSURE(saved.waits && waiting_ > 0,
                 "of {} calls this one does not wait", waiting_);
  saved.waits = false;
  --waiting_;
  if (saved.what != fault::silence)
    return decision::pass();
  count(counter::silences_ended);
  return decision::reject(errc::injected);
}

// -- operation ----------------------------------------------------------------

void chaos::prepare(chaos_config& next, env&) {
  take_over_schedule(next.latency, config_.latency);
}

void chaos::list_gauges(std::vector<metric>& out) const {
  out.push_back({"waiting", waiting_, true});
}

} // namespace caisson
