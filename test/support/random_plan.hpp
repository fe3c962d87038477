// Plans drawn at random, with settings from the edges of their ranges.
//
// A gate behind another one cannot see as much as one gate with all layers, nor
// do messages between gates take no time at all. Where the two may differ for
// such a reason, plans do not go there; each comment below names one.
#pragma once

#include <caisson/random.hpp>

#include "support/stack_plan.hpp"

#include <initializer_list>
#include <ostream>
#include <string_view>

namespace caisson::test {

/// Which plans are drawn.
enum class plan_kind {
  /// No deadlines: a call waits wherever it must for as long as it takes.
  patient,
  /// Deadlines, and no layer in which a call could wait when its deadline
  /// passes. A gate in front of another does not know whether that one has sent
  /// the call on, and must take it for reached; a single gate knows.
  prompt,
  /// Both. No policy may then judge by `reached`, and the answers to the
  /// callers are compared accordingly.
  mixed,
};

inline std::ostream& operator<<(std::ostream& out, plan_kind kind) {
  constexpr const char* names[] = {"patient", "prompt", "mixed"};
  return out << names[static_cast<int>(kind)];
}

class random_plan {
public:
  random_plan(plan_kind kind, std::uint64_t seed)
    : kind_(kind), random_(mix_seed(seed * 3 + static_cast<int>(kind))) {}

  stack_plan draw() {
    stack_plan p;
    do
      p.layers = some_layers(1 + number(5));
    while (!valid(p.layers));
    // In `mixed` a limiter judges by `reached`, and the worker's gate holds
    // calls while the worker is being started.
    p.supervised = kind_ == plan_kind::patient && chance(30);
    auto calls = static_cast<int>(1 + number(24));
    for (auto id = 1; id <= calls; ++id)
      p.calls.push_back(some_call(id));
    for (auto n = number(6); n > 0; --n)
      add_act(p);
    std::stable_sort(p.calls.begin(), p.calls.end(),
                     [](auto& a, auto& b) { return a.at < b.at; });
    std::stable_sort(p.acts.begin(), p.acts.end(),
                     [](auto& a, auto& b) { return a.at < b.at; });
    return p;
  }

  static bool valid(const std::vector<layer_plan>& layers) {
    stack s;
    problems found;
    for (const auto& x : layers)
      for (auto& p : add_layer(s, x, {}))
        found.push_back(std::move(p));
    for (auto& p : s.check())
      // There is no actor to ask yet.
      if (p.kind != problem_kind::missing)
        found.push_back(std::move(p));
    return found.empty();
  }

private:
  using words = std::initializer_list<std::string_view>;

  std::uint64_t number(std::uint64_t n) { return random_.below(n); }
  bool chance(unsigned percent) { return number(100) < percent; }
  bool prompt() const { return kind_ == plan_kind::prompt; }

  template <class T>
  T pick(std::initializer_list<T> all) {
    return *(all.begin() + static_cast<std::ptrdiff_t>(number(all.size())));
  }

  std::string word(words all) { return std::string{pick(all)}; }

  // Two things that are due at the same instant in different gates come in an
  // order that a single gate need not have: all times are odd.
  duration odd(duration d) {
    return d + duration{1'013 * static_cast<std::int64_t>(1 + number(997))};
  }

  std::string time(std::initializer_list<duration> all) {
    auto d = pick(all);
    return caisson::to_text(d == duration::zero() || d == unlimited ? d
                                                                    : odd(d));
  }

  // -- layers -----------------------------------------------------------------

  std::vector<layer_plan> some_layers(std::size_t n) {
    std::vector<layer_plan> all;
    auto in_batch = false;
    auto in_chaos = false;
    for (std::size_t i = 0; i < n; ++i) {
      layer_plan x;
      // A gate takes a value from another one for the worker's. If it loses an
      // alternative's, it says that the worker was reached.
      do
        x.kind = some_kind(i + 1 == n, in_batch);
      while (in_chaos && x.kind == layer_kind::fallback);
      in_batch = in_batch || x.kind == layer_kind::batcher;
      in_chaos = in_chaos || x.kind == layer_kind::chaos;
      x.name = fmt::format("L{}", i);
      x.set = some_settings(x.kind);
      x.set["mode"] = chance(80) ? "enforce" : word({"observe", "off"});
      x.alternatives = pick(
        {offer::value, offer::actor, offer::actor_then_value});
      all.push_back(std::move(x));
    }
    return all;
  }

  layer_kind some_kind(bool innermost, bool in_batch) {
    using enum layer_kind;
    switch (kind_) {
      case plan_kind::patient:
        return pick({semaphore, limiter, breaker, retrier, batcher, fallback,
                     chaos, canary});
      case plan_kind::prompt:
        // A batch may be held below its batcher when an item's time is over.
        return pick({deadline, semaphore, limiter, breaker, retrier, fallback,
                     deadline, retrier, chaos, canary});
      case plan_kind::mixed:
        // The deadlines of a batch and of its last item pass at the same
        // instant, and the next batch goes then: layers below would have to be
        // told of the two in the same order.
        if (in_batch)
          return pick({deadline, retrier, fallback});
        // A limiter gives tokens back for calls that were not reached, so that
        // no layer below it may hold one.
        return innermost && chance(30)
                 ? limiter
                 : pick({deadline, semaphore, breaker, retrier, batcher,
                         fallback, chaos, canary});
    }
    return deadline;
  }

  texts some_settings(layer_kind kind) {
    switch (kind) {
      case layer_kind::deadline:
        return {{"timeout", time({ms(1), ms(50), ms(700), ms(3'000)})},
                {"min_left", time({ms(0), ms(0), ms(20)})}};
      case layer_kind::semaphore:
        return {{"permits", word({"1", "2", "50"})},
                {"max_waiters", prompt() ? "0" : word({"0", "1", "20"})},
                {"max_wait", time({ms(0), ms(20), ms(1'000), unlimited})},
                {"order", word({"fifo", "lifo"})}};
      case layer_kind::limiter:
        return {{"rate", word({"1", "20", "997"})},
                {"burst", word({"1", "3", "100"})},
                {"max_wait", prompt()
                               ? "0s"
                               : time({ms(0), ms(100), ms(2'000), unlimited})},
                {"max_waiters", word({"0", "1", "1000"})},
                {"drain_on_rejection", word({"true", "false"})}};
      case layer_kind::breaker:
        return breaker_settings();
      case layer_kind::retrier:
        return retrier_settings();
      case layer_kind::batcher:
        return {{"max_items", word({"1", "2", "4"})},
                {"max_delay", time({ms(0), ms(10), ms(1'000)})},
                {"max_outstanding", word({"1", "2", "1000"})},
                {"max_waiting", word({"4", "1000"})},
                {"deadline_margin", time({ms(0), ms(5)})}};
      case layer_kind::fallback:
        // Items of a batch, and calls of a worker that dies, come back at once
        // to a single gate, one by one through a chain: how many places are
        // taken at that moment is not the same. `prompt` has neither.
        return {{"max_concurrent", prompt() ? word({"0", "1", "10"}) : "0"},
                {"fall_back_on", word({"", "", "breaker_open,queue_full"})}};
      case layer_kind::chaos:
        return chaos_settings();
      case layer_kind::canary:
        return canary_settings();
    }
    return {};
  }

  // All calls or none: each gate of a chain draws from a source of its own.
  texts chaos_settings() {
    texts set{{"enabled", word({"true", "true", "false"})},
              {"error_rate", "0"},
              {"latency_rate", "0"},
              {"latency", time({ms(0), ms(30), ms(2'000)})},
              {"outcome_rate", "0"},
              {"silence_rate", "0"},
              {"silence", time({ms(1), ms(400), ms(60'000)})}};
    set[prompt() ? word({"error_rate", "outcome_rate"})
                 : word({"error_rate", "latency_rate", "latency_rate",
                         "outcome_rate", "silence_rate"})]
      = "1";
    return set;
  }

  // All calls or none, as above.
  texts canary_settings() {
    return {{"enabled", word({"true", "true", "false"})},
            {"stages", word({"1", "1", "0.000001", "0.000001, 1"})},
            {"dwell", time({ms(1), ms(700), unlimited})},
            {"min_calls", word({"1", "3", "100"})},
            {"window", time({ms(10), ms(60'000)})},
            {"max_error_excess", word({"0", "0.5", "1"})},
            {"max_latency_ratio", word({"1", "1.5", "1000"})},
            {"min_latency_excess", time({ms(0), ms(5)})},
            {"max_failures_in_a_row", word({"0", "1", "3"})},
            {"on_failure", word({"baseline", "baseline", "pass"})},
            {"retry_after", time({ms(10), ms(1'000), unlimited})},
            {"mirror_rate", word({"0", "1"})},
            // Which of those that end at the same instant has the last place
            // is not the same.
            {"max_mirrored", "10000"},
            {"mirror_timeout", time({ms(1), ms(1'000)})},
            {"max_difference_rate", word({"0", "0.5", "1"})}};
  }

  texts breaker_settings() {
    texts set{
      {"trip",
       word({"consecutive", "without_gap", "rate_by_count", "rate_by_time"})},
      {"threshold", word({"1", "3"})},
      {"quiet_period", time({ms(10), ms(10'000), unlimited})},
      {"failure_rate", word({"0.001", "0.5", "1"})},
      {"window_calls", word({"5", "100"})},
      {"minimum_calls", word({"1", "5"})},
      {"window_time", time({ms(100), ms(10'000)})},
      {"open", time({ms(10), ms(400), ms(2'000)})},
      {"eager_half_open", word({"true", "false"})},
      {"probes", word({"1", "3"})},
      {"successes_to_close", word({"0", "1"})},
      {"probe_timeout", time({ms(100), ms(10'000)})},
      {"half_open_max", time({ms(50), ms(60'000), unlimited})},
      {"after_half_open_max", word({"open", "closed"})},
      // Gates in a chain do not see into each other.
      {"count_attempt_timeouts", "false"},
    };
    // By default a failure that did not reach the worker does not count.
    if (kind_ == plan_kind::mixed)
      set["count_only"] = "deadline_exceeded,worker_down,batch_failed,"
                          "system_error:*";
    return set;
  }

  texts retrier_settings() {
    texts set{{"max_attempts", word({"1", "2", "3", "5"})},
              {"idempotent", word({"true", "false"})},
              {"budget", word({"true", "false"})},
              {"unsafe", "true"},
              {"heed_breakers", "false"},
              {"budget_ratio", word({"0", "0.2", "1"})},
              {"budget_reserve", word({"0", "1", "10"})}};
    if (chance(50)) {
      set["backoff"] = time({ms(0), ms(10), ms(300)});
    } else {
      set["backoff.kind"] = "exponential";
      set["backoff.base"] = time({ms(5), ms(100)});
    }
    return set;
  }

  static constexpr duration ms(std::int64_t n) {
    return std::chrono::milliseconds(n);
  }

  // -- calls ------------------------------------------------------------------

  call_plan some_call(int id) {
    call_plan x;
    x.id = id;
    // Calls come in crowds, none with another: a crowd that is in the mailbox
    // of one gate comes to the next one later than in a single gate.
    x.at = odd(ms(500) * static_cast<int>(number(8))) + duration{id};
    if (kind_ != plan_kind::patient && chance(70))
      // Some share their deadline with others.
      x.deadline = chance(30) ? pick({ms(1'001), ms(2'003)})
                              : x.at + odd(pick({ms(2), ms(60), ms(2'500)}));
    x.idempotent = kind_ == plan_kind::mixed ? 1 : static_cast<int>(number(3));
    // A heavy call lets several that wait go at once when it ends; in a single
    // gate the first of them may be back before the next one goes.
    x.permits = !prompt() || chance(80)
                  ? 1
                  : 1 + static_cast<std::uint32_t>(number(3));
    x.worker = some_replies();
    x.alternative = some_replies();
    return x;
  }

  std::vector<reply_plan> some_replies() {
    std::vector<reply_plan> all;
    for (auto n = 1 + number(4); n > 0; --n)
      all.push_back(some_reply());
    return all;
  }

  reply_plan some_reply() {
    using what = reply_plan::what;
    reply_plan x;
    x.kind = chance(8)
               ? what::nothing
               : pick({what::value, what::error, what::error, what::own_error});
    x.code = pick({errc::breaker_open, errc::rate_limited, errc::queue_full,
                   errc::deadline_exceeded, errc::worker_down, errc::shed,
                   errc::cancelled});
    x.reached = chance(40);
    x.retry_after = chance(50) ? ms(0) : odd(pick({ms(1), ms(150)}));
    x.after = chance(30) ? ms(0) : odd(pick({ms(1), ms(30), ms(900)}));
    return x;
  }

  // -- what operators and the world do ----------------------------------------

  void add_act(stack_plan& p) {
    using what = act_plan::what;
    act_plan x;
    x.at = odd(ms(400) * static_cast<int>(number(10))) + duration{500};
    const auto& layer = p.layers[number(p.layers.size())];
    x.layer = layer.name;
    x.kind = !prompt() && chance(10)
               ? pick({what::worker_dies, what::alternative_dies})
             : chance(50) ? what::reconfigure
                          : what::command;
    if (x.kind == what::reconfigure)
      for (auto& [key, value] : some_settings(layer.kind))
        if (chance(50) && key.find('.') == std::string::npos)
          x.set[key] = value;
    // A deadline that was handed to the next gate cannot be taken back there:
    // the mode of a deadline stays as it is.
    if (layer.kind == layer_kind::deadline)
      x.command = "reset";
    else if (layer.kind == layer_kind::breaker && chance(50))
      x.command = word({"force_open", "force_closed"});
    else
      x.command = word({"reset", "off", "enable", "observe"});
    p.acts.push_back(std::move(x));
  }

  plan_kind kind_;
  random_source random_;
};

} // namespace caisson::test
