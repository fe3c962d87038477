// The settings that a canary has for all of its stages, and each stage of its
// own.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings/field.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>

namespace caisson::detail {

// `C` is `canary_config`, or `canary_limits`, whose fields may have no value.

template <class T>
void describe_count(field_visitor& v, const field& f, T& x,
                    range<std::int64_t> r) {
  if constexpr (std::integral<T>)
    v.integer(f, x, {static_cast<T>(r.lo), static_cast<T>(r.hi)});
  else
    v.on(f, x, r);
}

template <class C>
void describe_dwell(field_visitor& v, C& c) {
  using namespace std::chrono_literals;
  v.on({"dwell", "how long each stage lasts at least; unlimited: the canary "
                 "stays in it"},
       c.dwell, range<duration>{1ms, unlimited});
}

template <class C>
void describe_min_calls(field_visitor& v, C& c) {
  describe_count(v,
                 {"min_calls", "how many answers of the canary are needed at "
                               "least to judge it, and to go on to the next "
                               "stage"},
                 c.min_calls, {1, 1'000'000});
}

template <class C>
void describe_limits(field_visitor& v, C& c) {
  using namespace std::chrono_literals;
  v.on({"max_error_excess", "how much larger the canary's share of failures "
                            "may be than the baseline's; 1: no limit"},
       c.max_error_excess, range<double>{0.0, 1.0});
  v.on({"max_latency_ratio", "how many times the baseline's 99th percentile "
                             "of latencies the canary's may be"},
       c.max_latency_ratio, range<double>{1.0, 1000.0});
  v.on({"min_latency_excess", "a 99th percentile that exceeds the baseline's "
                              "by no more than this is not too long"},
       c.min_latency_excess, range<duration>{0s, 1h});
  v.on({"significance_level", "how probable an excess like the canary's may be "
                              "if both were alike, to count all the same; 1: "
                              "each one counts"},
       c.significance_level, range<double>{0.000000001, 1.0});
  v.on({"max_p99", "how long the canary's 99th percentile may be, whatever the "
                   "baseline's is; unlimited: no limit"},
       c.max_p99, range<duration>{1ms, unlimited});
  describe_count(v,
                 {"max_failures_in_a_row",
                  "how many consecutive failures of the canary end the stage "
                  "at once; 0: no limit"},
                 c.max_failures_in_a_row, {0, 1'000'000});
}

template <class C>
void describe_differences(field_visitor& v, C& c) {
  v.on({"max_difference_rate", "the share of the mirrored answers of a stage "
                               "that may differ; 1: all of them"},
       c.max_difference_rate, range<double>{0.0, 1.0});
}

} // namespace caisson::detail
