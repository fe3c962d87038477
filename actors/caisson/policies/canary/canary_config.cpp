#include <caisson/policies/canary/canary_config.hpp>

#include <caisson/policies/canary/canary_fields.hpp>

#include <fmt/format.h>

namespace caisson {

namespace {

using namespace std::chrono_literals;

// -- fields -------------------------------------------------------------------

void describe_mirroring(field_visitor& v, canary_config& c) {
  v.on({"mirror_rate", "the share of the idempotent calls answered by the "
                       "baseline that the canary gets, too"},
       c.mirror_rate, {0.0, 1.0});
  v.integer({"max_mirrored",
             "how many mirrored calls may be with the canary "
             "at once",
             "calls"},
            c.max_mirrored, {1, 10'000});
  v.on({"mirror_timeout", "how long a mirrored call may take"},
       c.mirror_timeout, {1ms, 1h});
  detail::describe_differences(v, c);
  v.integer({"max_described",
             "of how many differences of each stage events and the status show "
             "both answers, cut to 200 bytes each"},
            c.max_described, {0, 100});
}

} // namespace

void describe(field_visitor& v, canary_config& c) {
  describe_common(v, c);
  v.on({"enabled", "whether the canary gets calls at all"}, c.enabled);
  canary_stage_list stages{c.stages};
  v.on({"stages", "the share of the calls that the canary gets in each stage, "
                  "and limits of the stage; after the last one it keeps them"},
       stages);
  detail::describe_dwell(v, c);
  detail::describe_min_calls(v, c);
  v.on({"window", "how far back answers count; farther if the canary gave "
                  "fewer than min_calls answers in that time"},
       c.window, {1ms, 24h});
  detail::describe_limits(v, c);
  v.on({"sticky", "whether all calls with the same key go to the same worker; "
                  "keys of the canary stay with it in later stages"},
       c.sticky);
  v.choice({"on_failure",
            "a call that the canary failed: baseline: the "
            "baseline gets it if it was certainly not executed, or is "
            "idempotent; pass: its outcome goes up"},
           c.on_failure);
  v.on({"hand_over_after", "how long after the canary was given up the "
                           "idempotent calls that it has go to the baseline; "
                           "unlimited: they wait for it"},
       c.hand_over_after, {0s, unlimited});
  v.on({"retry_after", "how long after a rollback the first stage begins "
                       "again; unlimited: only when an operator says so"},
       c.retry_after, {1ms, unlimited});
  describe_mirroring(v, c);
  v.on({"count_only", "errors that count as failures, all others being "
                      "neutral; empty: the default table, `shed` and "
                      "`draining`"},
       c.classify.allow);
  v.on({"ignore", "errors that are neutral; wins over count_only"},
       c.classify.deny);
}

void check(const canary_config& c, const setting_path& path, problems& out) {
  check_lists(c.classify, "count_only", "ignore", path, out);
}

// -- stages -------------------------------------------------------------------

canary_rules rules_of(const canary_config& c, const canary_stage& stage) {
  const auto& own = stage.own;
  return {
    .dwell = own.dwell.value_or(c.dwell),
    .min_calls = own.min_calls.value_or(c.min_calls),
    .window = c.window,
    .max_error_excess = own.max_error_excess.value_or(c.max_error_excess),
    .max_latency_ratio = own.max_latency_ratio.value_or(c.max_latency_ratio),
    .min_latency_excess = own.min_latency_excess.value_or(c.min_latency_excess),
    .significance_level = own.significance_level.value_or(c.significance_level),
    .max_p99 = own.max_p99.value_or(c.max_p99),
    .max_failures_in_a_row = own.max_failures_in_a_row.value_or(
      c.max_failures_in_a_row),
    .max_difference_rate = own.max_difference_rate.value_or(
      c.max_difference_rate),
  };
}

std::string to_text(const canary_rules& rules) {
  return fmt::format(
    "dwell = {}, min_calls = {}, max_error_excess = {}, "
    "max_latency_ratio = {}, min_latency_excess = {}, "
    "significance_level = {}, max_p99 = {}, max_failures_in_a_row = {}, "
    "max_difference_rate = {}",
    to_text(rules.dwell), rules.min_calls, to_text(rules.max_error_excess),
    to_text(rules.max_latency_ratio), to_text(rules.min_latency_excess),
    to_text(rules.significance_level), to_text(rules.max_p99),
    rules.max_failures_in_a_row, to_text(rules.max_difference_rate));
}

// -- outcomes -----------------------------------------------------------------

canary_verdict verdict_on(const outcome& o, const canary_config& c, env& e) {
  // An error that the lists make no failure is given an answer that the default
  // table never gives to an error, so that `neutral` comes from the table.
  // Errors that blame the request count, too: the baseline has its share of
  // them, and a canary that finds no orders at all is broken.
  static constexpr list_meaning lists{verdict::transient, verdict::success,
                                      verdict::success, verdict::failure};
  switch (c.classify.judge(o, lists, e)) {
    case verdict::failure:
    case verdict::transient:
    case verdict::refused:
      return canary_verdict::bad;
    case verdict::success:
      return o.ok || c.classify.by_value ? canary_verdict::good
                                         : canary_verdict::neutral;
    case verdict::neutral:
      break;
  }
  // A worker that rejects calls cannot replace one that does not.
  return !c.classify.by_value && (o.is(errc::shed) || o.is(errc::draining))
           ? canary_verdict::bad
           : canary_verdict::neutral;
}

} // namespace caisson
