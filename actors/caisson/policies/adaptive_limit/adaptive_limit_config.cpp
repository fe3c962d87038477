#include <caisson/policies/adaptive_limit/adaptive_limit_config.hpp>

#include <caisson/policy/waiting_settings.hpp>

#include <fmt/format.h>

namespace caisson {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t most_calls = 1'000'000;

void describe_limits(field_visitor& v, adaptive_limit_config& c) {
  v.choice({"algorithm", "how the limit follows from what calls show"},
           c.algorithm);
  v.integer({"initial_limit", "the limit at the start and after a reset, "
                              "within min_limit and max_limit"},
            c.initial_limit, {1, most_calls});
  v.integer({"min_limit", "the limit never falls below it, but for "
                          "measure_limit"},
            c.min_limit, {1, most_calls});
  v.integer({"max_limit", "the limit never rises above it"}, c.max_limit,
            {1, most_calls});
  v.integer({"max_waiters", "how many calls may wait; 0: none, a call above "
                            "the limit is refused at once"},
            c.max_waiters, {0, most_calls});
  v.on({"max_wait", "how long a call may wait; unlimited: until its own "
                    "deadline; 0: not at all, only without `max_waiters`"},
       c.max_wait, {0s, unlimited});
  detail::describe_order(v, c.order, c.queue);
  detail::describe_partitions(v, c.partitions);
  v.on({"window", "how long outcomes are collected at least before the limit "
                  "changes"},
       c.window, {1ms, 1h});
  v.integer({"min_samples", "how many outcomes are collected at least"},
            c.min_samples, {1, most_calls});
  v.on({"backoff", "a window with drops makes the limit that share of what it "
                   "was"},
       c.backoff, {0.1, 0.999});
  v.on({"drop_share", "a larger share of drops among the outcomes of a window "
                      "lowers the limit; 0: one is enough; 1: none does"},
       c.drop_share, {0.0, 1.0});
}

void describe_baseline(field_visitor& v, adaptive_limit_config& c) {
  v.on({.key = "quantile",
        .help = "which quantile of its latencies is that of a window",
        .when = {"algorithm", {"gradient", "vegas"}}},
       c.quantile, {0.01, 1.0});
  v.on({.key = "max_baseline",
        .help = "no longer latency is taken for that without load",
        .when = {"algorithm", {"gradient", "vegas"}}},
       c.max_baseline, {1us, unlimited});
  v.on({.key = "jitter",
        .help = "up to this share of the interval, at random, the baseline is "
                "measured later (vegas: earlier) than planned",
        .when = {"algorithm", {"gradient", "vegas"}}},
       c.jitter, {0.0, 1.0});
}

void describe_aimd_and_vegas(field_visitor& v, adaptive_limit_config& c) {
  v.on({.key = "timeout",
        .help = "a call that took this long (>=) counts as dropped",
        .when = {"algorithm", {"aimd"}}},
       c.timeout, {1us, unlimited});
  v.integer({.key = "alpha",
             .help = "with fewer calls that queue than this times log10 of the "
                     "limit, the limit rises",
             .when = {"algorithm", {"vegas"}}},
            c.alpha, {1, 1'000});
  v.integer({.key = "beta",
             .help = "with more calls that queue than this times log10 of the "
                     "limit, the limit falls",
             .when = {"algorithm", {"vegas"}}},
            c.beta, {1, 1'000});
  v.integer(
    {.key = "probe",
     .help = "after this many samples, times the limit, the baseline is "
             "measured again, with the limit lowered by the calls that "
             "queue and by backoff",
     .when = {"algorithm", {"vegas"}}},
    c.probe, {1, most_calls});
}

void describe_gradient(field_visitor& v, adaptive_limit_config& c) {
  v.on({.key = "buffer",
        .help = "how much longer than the baseline latencies may be without "
                "lowering the limit, as a share of it",
        .when = {"algorithm", {"gradient"}}},
       c.buffer, {0.0, 10.0});
  v.integer({.key = "measure_limit",
             .help = "the limit while the baseline is measured, unless it is "
                     "lower anyway",
             .when = {"algorithm", {"gradient"}}},
            c.measure_limit, {1, most_calls});
  v.integer({.key = "measure_samples",
             .help = "how many calls measure the baseline",
             .when = {"algorithm", {"gradient", "vegas"}}},
            c.measure_samples, {1, most_calls});
  v.on({.key = "measure_every",
        .help = "how long after one measurement the next one begins",
        .when = {"algorithm", {"gradient"}}},
       c.measure_every, {1ms, unlimited});
  v.on({.key = "measure_at_most",
        .help = "how long a measurement takes at most; then min_samples calls "
                "are enough, and with fewer the baseline stays as it was",
        .when = {"algorithm", {"gradient", "vegas"}}},
       c.measure_at_most, {1ms, 1h});
}

} // namespace

void describe(field_visitor& v, adaptive_limit_config& c) {
  describe_common(v, c);
  describe_limits(v, c);
  describe_baseline(v, c);
  describe_aimd_and_vegas(v, c);
  describe_gradient(v, c);
  v.on({"count_only", "errors that count as dropped, all others being ignored; "
                      "empty: the default table"},
       c.classify.allow);
  v.on({"ignore", "errors that do not count; wins over count_only"},
       c.classify.deny);
}

void check(const adaptive_limit_config& c, const setting_path& path,
           problems& out) {
  auto wrong = [&](std::string_view key, std::string message) {
    out.push_back({problem_kind::relation, path / key, std::move(message)});
  };
  if (c.min_limit > c.max_limit)
    wrong("min_limit", fmt::format("{} is more than max_limit, allowed: 1 to "
                                   "{}",
                                   c.min_limit, c.max_limit));
  else if (c.initial_limit < c.min_limit || c.initial_limit > c.max_limit)
    wrong("initial_limit",
          fmt::format("{} is not within min_limit and max_limit, allowed: {} "
                      "to {}",
                      c.initial_limit, c.min_limit, c.max_limit));
  detail::check_waiting(c.max_waiters, c.max_wait, path, out);
  detail::check_order(c.max_waiters, c.order, c.queue, path, out);
  auto by_measuring = c.algorithm == limit_algorithm::gradient
                      && c.measure_limit < c.min_limit;
  detail::check_partitions(by_measuring ? "measure_limit" : "min_limit",
                           by_measuring ? c.measure_limit : c.min_limit,
                           c.max_waiters, c.partitions, path, out);
  if (c.algorithm == limit_algorithm::vegas && c.alpha > c.beta)
    wrong("alpha", fmt::format("{} is more than beta, so that the limit would "
                               "rise and fall at once, allowed: 1 to {}",
                               c.alpha, c.beta));
  // What is out of range has been reported already.
  if (c.algorithm == limit_algorithm::gradient
      && c.measure_at_most > c.measure_every && c.measure_at_most <= 1h
      && c.measure_every >= 1ms)
    wrong("measure_at_most",
          fmt::format("{} is longer than measure_every, so that one "
                      "measurement would follow the other, allowed: 1ms to {}",
                      to_text(c.measure_at_most), to_text(c.measure_every)));
  check_lists(c.classify, "count_only", "ignore", path, out);
}

void check_per_key(const adaptive_limit_config& c, const setting_path& path,
                   problems& out) {
  detail::check_order_per_key(c.order, path, out);
  detail::check_partitions_per_key(c.partitions, path, out);
}

} // namespace caisson
