#include <caisson/stack/built_in_kinds.hpp>

#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>
#include <caisson/policies/batcher/batcher.hpp>
#include <caisson/policies/breaker/breaker.hpp>
#include <caisson/policies/chaos.hpp>
#include <caisson/policies/cooldown.hpp>
#include <caisson/policies/deadline/deadline.hpp>
#include <caisson/policies/limiter.hpp>
#include <caisson/policies/retrier/retrier.hpp>
#include <caisson/policies/semaphore.hpp>
#include <caisson/policies/throttle.hpp>
#include <caisson/stack/alternatives.hpp>
#include <caisson/stack/layers/batcher_layer.hpp>
#include <caisson/stack/layers/cache_layer.hpp>
#include <caisson/stack/layers/canary_layer.hpp>
#include <caisson/stack/layers/degradation_layer.hpp>
#include <caisson/stack/layers/feature_layer.hpp>
#include <caisson/stack/layers/limiter_layer.hpp>
#include <caisson/stack/layers/retrier_layer.hpp>
#include <caisson/stack/layers/shedder_layer.hpp>

#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace caisson {

namespace {

void add_fallback(layer_reader& from, stack& to) {
  auto chain = detail::read_alternatives(from);
  to.fallback(std::move(chain), from.config<fallback_config>());
}

// The actor that the key names; null if there is no such key, or no such actor,
// which has then been reported.
caf::actor read_actor(layer_reader& from, std::string_view key,
                      std::string_view help) {
  auto known = from.out().size();
  std::string name;
  from.fields().on({.key = key, .help = help}, name);
  if (!from.at().table.contains(key) || from.out().size() != known)
    return {};
  return detail::find_actor(name, from.system(), from.at().path / key,
                            place_in(from.at(), key), from.out());
}

void add_keyed_retrier(layer_reader& from, stack& to) {
  constexpr std::string_view key = "verify";
  std::string ignored;
  from.fields().on({.key = key, .help = "not for policies per key"}, ignored);
  if (from.at().table.contains(key))
    from.out().push_back({problem_kind::relation, from.at().path / key,
                          "cannot be given beside per_key",
                          std::string{place_in(from.at(), key)}});
  to.add<keyed<retrier>>(from.config<keyed_config<retrier>>());
}

void add_retrier(layer_reader& from, stack& to) {
  if (detail::wants_keys(from, {}))
    return add_keyed_retrier(from, to);
  auto how = verifier{};
  how.target = read_actor(from, "verify",
                          "the registered name of the actor that knows what "
                          "became of a call");
  // One that was not found has been reported.
  how.asks = how.target != nullptr;
  to.retrier(from.config<retrier_config>(), std::move(how));
}

void add_canary(layer_reader& from, stack& to) {
  auto target = read_actor(from, "canary",
                           "the registered name of the new version");
  auto config = from.config<canary_config>();
  if (target)
    to.add<canary>(std::move(config), std::move(target));
  else
    to.add<canary>(std::move(config));
}

// Users return policies from functions, and keep them in containers.
template <class Policy, class... Ts>
policy_kind built_in(Ts&&... xs) {
  static_assert(std::is_move_constructible_v<Policy>);
  return kind_of<Policy>(std::forward<Ts>(xs)...);
}

policy_kind with_states(policy_kind x, std::vector<std::string_view> all) {
  x.states = std::move(all);
  return x;
}

policy_kind with_text(policy_kind x, kind_description text) {
  x.text = std::move(text);
  return x;
}

policy_kind with_gauges(policy_kind x, std::vector<kind_gauge> all) {
  x.gauges = std::move(all);
  return x;
}

constexpr kind_gauge waiting_calls{
  "waiting", "Calls that wait: for a permit, a token, a batch or a retry."};

// Those of a policy that lends permits, behind its own.
std::vector<kind_gauge> lending_gauges(std::vector<kind_gauge> own) {
  own.insert(own.end(),
             {{"in_use", "Permits of a semaphore or an adaptive limit in use."},
              waiting_calls,
              {"in_use_", "Permits that the calls of a partition have.",
               "partition_in_use", "partition"},
              {"waiting_", "Calls of a partition that wait for a permit.",
               "partition_waiting", "partition"},
              {"guaranteed_", "Permits that are guaranteed to a partition.",
               "partition_guaranteed", "partition"}});
  return own;
}

// In parts, each as long as a screen.

std::vector<policy_kind> limiting_kinds() {
  return {
    with_text(
      with_gauges(
        built_in<deadline>(),
        {{"limit_us",
          "The time limit of a deadline that learns it, at present."},
         {"samples", "Durations that a deadline learns its time limit from."}}),
      {.also_known_as = "timeout, time limiter",
       .summary = "limits how long a call may take, overall or per "
                  "attempt",
       .places = {{20, "overall",
                   "outside the retrier, so that it covers all "
                   "attempts and backoffs together"},
                  {90, "per attempt",
                   "inside the retrier, so that one slow attempt does "
                   "not use up the whole time; inside the semaphore, "
                   "so that waiting for a permit does not count"}}}),
    with_text(
      with_gauges(
        built_in<semaphore>(),
        lending_gauges(
          {{"permits", "Permits of a semaphore, those in use included."}})),
      {.also_known_as = "bulkhead, concurrency limit",
       .summary = "limits how many calls are in flight; lends permits",
       .places = {{70, "",
                   "close to the worker, so that calls hold permits "
                   "only while the worker works, not during "
                   "backoffs"}}}),
    with_text(
      with_states(
        with_gauges(
          built_in<adaptive_limit>(),
          lending_gauges(
            {{"limit", "The present limit of an adaptive limit."},
             {"latency_us", "Latency of an adaptive limit's last window."},
             {"baseline_us", "Latency without load, to an adaptive limit."},
             {"gradient_permille",
              "What an adaptive limit multiplied its limit by."}})),
        {"measuring", "adjusting"}),
      {.page = "adaptive-limit",
       .also_known_as = "adaptive concurrency, concurrency limits, gradient, "
                        "Vegas",
       .summary = "limits how many calls are in flight, and finds the limit by "
                  "itself from how long they take and whether they fail",
       .places = {{75, "",
                   "in place of the semaphore, close to the worker, so that it "
                   "times the worker and not backoffs or other queues"}},
       .lost_with_key
       = "the limit and the baseline: the new one begins at `initial_limit`"}),
    with_text(
      with_gauges(
        built_in<limiter>(),
        {{"tokens", "Tokens that a limiter had left after the last call."},
         waiting_calls}),
      {.also_known_as = "rate limiter, token bucket, leaky bucket",
       .summary = "limits how many calls pass per unit of time",
       .places = {{60, "",
                   "inside the breaker: calls that the breaker refuses "
                   "cost no token, and calls that the limiter rejects "
                   "do not count as failures; inside the retrier: "
                   "retries cost tokens too"}},
       .lost_with_key
       = "the level of the bucket: a new one is full, so at most `burst` more "
         "calls pass. It is the bucket that had the most time to fill"}),
  };
}

std::vector<policy_kind> refusing_kinds() {
  return {
    with_text(
      with_states(
        with_gauges(
          built_in<shedder>(),
          {{"threshold",
            "Level from which calls pass a shedder, of 4096; 0: all do."},
           {"cpu_permille",
            "Share of the CPU time in use, to a shedder; 0 if unknown."},
           {"memory_permille",
            "Share of the memory in use, to a shedder; 0 if unknown."},
           {"delay_us", "How much longer than usual a shedder's calls take."},
           {"in_flight", "Calls in flight below the layer."},
           {"in_flight_limit",
            "Calls below a shedder that are no sign of overload."}}),
        {"passing", "shedding"}),
      {.also_known_as = "load shedding, overload control, admission control, "
                        "BBR, DAGOR",
       .summary = "rejects calls, the least important first, while the program "
                  "or the machine is overloaded",
       .places = {{5, "",
                   "outside everything that costs work or takes permits and "
                   "tokens; inside degradation, which then sees what callers "
                   "see"}}}),
    with_text(
      with_states(built_in<cooldown>(), {"passing", "cooling"}),
      {.also_known_as = "Retry-After for all callers, global rate "
                        "limit pause",
       .summary = "rejects calls for as long as the worker has asked "
                  "callers to stay away",
       .places = {{55, "",
                   "inside the retrier, so that it sees each attempt; "
                   "outside limiter and semaphore, so that calls which "
                   "it rejects take no tokens and no permits"}},
       .lost_with_key
       = "its time: the new one lets calls pass until the worker asks for time "
         "again"}),
    with_text(
      with_states(
        with_gauges(
          built_in<throttle>(),
          {{"requests", "Calls in the window of a throttle."},
           {"accepts", "Calls in the window of a throttle that were accepted."},
           {"rejection_permille",
            "Probability with which a throttle rejects a call."}}),
        {"passing", "throttling"}),
      {.also_known_as = "adaptive throttling, client-side throttling, "
                        "admission control",
       .summary = "rejects a share of the calls itself while the "
                  "worker does not accept them",
       .places = {{65, "",
                   "inside the retrier, so that each attempt counts; "
                   "inside the breaker and the limiter, so that it "
                   "judges by what the worker says and not by what "
                   "they reject"}},
       .lost_with_key
       = "its counts: the new one lets all calls pass until it has seen enough "
         "of them fail"}),
  };
}

std::vector<policy_kind> repeating_kinds() {
  return {
    with_text(
      with_states(
        with_gauges(
          built_in<breaker>(),
          {{"failure_streak", "Failures in a row that a breaker has counted."},
           {"window_total", "Results in the window of a breaker.",
            "window_results"},
           {"failure_rate_permille",
            "Share of failures in the window of a breaker."},
           {"slow_rate_permille",
            "Share of slow calls in the window of a breaker."},
           {"score_permille", "Composite score of a breaker; 1 is normal."},
           {"ramp_permille",
            "Share of calls that a breaker that has closed lets pass."},
           {"probes_in_flight", "Probes that a half-open breaker waits for."},
           {"openings_in_a_row",
            "Times a breaker has opened since it was last closed."}}),
        {"closed", "open", "half_open", "forced_open", "forced_closed"}),
      {.also_known_as = "circuit breaker",
       .summary = "stops calls to a failing worker, and probes until "
                  "it works again",
       .places = {{50, "",
                   "inside the retrier, so that it sees every attempt "
                   "and refuses each one while open"}},
       .lost_with_key
       = "if it is closed, the failures counted so far; if not, it makes no "
         "room"}),
    with_text(
      with_gauges(built_in<retrier>(add_retrier),
                  {{"verifying", "Calls that a retrier verifies."},
                   {"budget_left",
                    "Retries that the budget of a retrier still pays for."},
                   {"alarm", "1 while a retrier hides failing first attempts."},
                   waiting_calls}),
      {.also_known_as = "retry with backoff, retry budget",
       .summary = "repeats failed calls, within a budget",
       .places = {{40, "", "outside everything that it should retry"}},
       .lost_with_key
       = "its budget (a new one has its reserve) and its alarm"}),
    with_text(with_states(
                with_gauges(
                  built_in<batcher>(),
                  {{"outstanding", "Batches that were sent and not answered."},
                   waiting_calls}),
                {"idle", "collecting", "blocked", "draining"}),
              {.also_known_as = "micro-batching, request collapser",
               .summary = "collects calls and sends them as one batch, which "
                          "the worker must know",
               .places = {{80, "",
                           "inside a semaphore that should count items, "
                           "outside one that should count batches"}}}),
    with_text(with_gauges(built_in<cache>(),
                          {{"entries", "Values that a cache holds."},
                           {"loading", "Values that a cache waits for."}}),
              {.also_known_as = "single flight, request coalescing, "
                                "stale-if-error, write-behind",
               .summary = "keeps answers, fetches each once for all callers, "
                          "answers with old ones if the worker fails, and can "
                          "acknowledge writes before the worker has them",
               .places = {{30, "",
                           "outside retrier, breaker and limiter: a call that "
                           "it answers uses none of their budgets and tokens, "
                           "and old values stand in for their errors"}}}),
  };
}

std::vector<policy_kind> changing_kinds() {
  return {
    with_text(
      with_states(
        with_gauges(built_in<canary>(add_canary),
                    {{"share_ppm", "Share of calls that a canary gets."},
                     {"canary_slow_permille",
                      "Share of a canary's calls above its limit."}}),
        {"waiting", "promoted", "rolled_back"}),
      {.also_known_as = "canary release, traffic splitting, traffic "
                        "mirroring (shadowing)",
       .summary = "gives a new version of the worker a share of the "
                  "calls, in stages, and rolls back if it does worse",
       .places = {{110, "",
                   "next to the worker: layers further in see only the "
                   "calls that the worker gets"}}}),
    with_text(built_in<chaos>(),
              {.also_known_as = "fault injection",
               .summary = "injects errors, delays, lost answers and silence on "
                          "purpose, to test the others",
               .places = {{100, "",
                           "right in front of the worker, so that all other "
                           "layers take its faults for the worker's"}}}),
    with_text(
      with_states(
        with_gauges(
          built_in<degradation>(),
          {{"levels_off", "Levels that are switched off."},
           {"level_", "1 while this level is switched on, 0 while it is off.",
            "level", "level"}}),
        {"normal", "degraded"}),
      {.also_known_as = "graceful degradation, brownout, load shedding "
                        "by feature",
       .summary = "switches features off, level by level, while a "
                  "service is overloaded or failing, and on again",
       .places = {{0, "", "outermost, where it sees what callers see"}}}),
    with_text(with_states(
                with_gauges(built_in<feature>(),
                            {{"on", "1 while the feature of a layer is on."}}),
                {"on", "off"}),
              {.page = "degradation",
               .also_known_as = "feature flag, kill switch",
               .summary = "rejects calls while the feature that they belong to "
                          "is off",
               .places = {{15, "",
                           "inside a fallback, outside everything that takes "
                           "permits or tokens"}}}),
    with_text(
      built_in<fallback>(add_fallback,
                         "alternatives = [{ value = -1, type = 'int32' }]\n"),
      {.also_known_as = "graceful fallback, failover to a replica",
       .summary = "answers with a value or asks another actor when the "
                  "worker fails",
       .places = {{10, "",
                   "outside everything whose errors it should answer; "
                   "outside the overall deadline, it may answer after "
                   "that, up to the caller's own; inside, it shares "
                   "the time"}}}),
  };
}

} // namespace

std::deque<policy_kind> detail::built_in_kinds() {
  std::deque<policy_kind> out;
  for (auto& part : {limiting_kinds(), refusing_kinds(), repeating_kinds(),
                     changing_kinds()})
    out.insert(out.end(), part.begin(), part.end());
  return out;
}

} // namespace caisson
