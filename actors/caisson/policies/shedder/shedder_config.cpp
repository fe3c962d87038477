#include <caisson/policies/shedder/shedder_config.hpp>

#include <fmt/format.h>

namespace caisson {

using namespace std::chrono_literals;

namespace {

void describe_signals(field_visitor& v, shedder_config& c) {
  v.on({"max_cpu", "from which share of the CPU time on there is an overload; "
                   "0: it is not a signal"},
       c.max_cpu, {0.0, 1.0});
  v.on({"max_memory", "from which share of the memory on there is an overload; "
                      "0: it is not a signal"},
       c.max_memory, {0.0, 1.0});
  v.on({"max_mailbox_delay",
        "how long messages may wait in the gate's own mailbox before there is "
        "an overload; 0: that is not a signal"},
       c.max_mailbox_delay, {0s, 1h});
  v.on({"max_delay",
        "by how much longer than usual calls may take below this "
        "layer before there is an overload; 0: that is not a signal"},
       c.max_delay, {0s, 1h});
  v.on({"in_flight_factor", "how many times as many calls as throughput times "
                            "shortest time may be in flight before there is an "
                            "overload; 0: that is not a signal"},
       c.in_flight_factor, {0.0, 100.0});
  v.on({"in_flight_needs_cpu",
        "whether too many calls in flight are a signal only while the CPU time "
        "is, which alone is none then"},
       c.in_flight_needs_cpu);
  v.on({"cool_off", "how long the CPU time counts as too much after it was, "
                    "for in_flight_needs_cpu"},
       c.cool_off, {0s, 1h});
  v.on({"sample", "how often CPU time and memory are read, and the mailbox's "
                  "delay is measured, at most; no window ends earlier"},
       c.sample, {10ms, 5s});
}

void describe_threshold(field_visitor& v, shedder_config& c) {
  v.on({"window", "after what time the threshold moves"}, c.window,
       {10ms, 1min});
  v.integer({"window_calls", "after how many calls it moves if they come "
                             "earlier"},
            c.window_calls, {1, 1'000'000});
  v.on({"decrease", "which share fewer calls pass after each window with an "
                    "overload"},
       c.decrease, {0.001, 0.9});
  v.on({"increase", "which share more calls pass after each window without"},
       c.increase, {0.001, 1.0});
  v.integer({"minimum", "how many calls per second always pass"}, c.minimum,
            {1, 1'000'000});
}

} // namespace

void describe(field_visitor& v, shedder_config& c) {
  describe_common(v, c);
  describe_signals(v, c);
  describe_threshold(v, c);
  v.on({"history", "how far back the largest throughput is looked for"},
       c.history, {1s, 1h});
  v.on({"baseline", "how far back the shortest time of calls is looked for"},
       c.baseline, {1s, 24h});
  v.on({"retry_after", "when rejected callers may come back"}, c.retry_after,
       {0s, 1h});
  v.on({"follow_for", "for how long calls are rejected that are below the "
                      "threshold last reported by the shedder of the worker, a "
                      "gate; 0: they are not"},
       c.follow_for, {0s, 1min});
}

// The steps of the history are what the baseline consists of.
void check(const shedder_config& c, const setting_path& path, problems& out) {
  if (c.baseline < c.history)
    out.push_back({problem_kind::relation, path / "baseline",
                   fmt::format("{} is shorter than history, allowed: {} or "
                               "more",
                               to_text(c.baseline), to_text(c.history))});
}

} // namespace caisson
