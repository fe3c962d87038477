// A model of a canary.
#pragma once

#include <caisson/base/histogram.hpp>

#include <policies/canary/model/canary_steps.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// Keeps every answer and every call, and goes through them all each time.
class canary_model : public canary_steps {
public:
  explicit canary_model(canary_config c) : c_(std::move(c)) { use_rules(); }

  // -- what happens -----------------------------------------------------------

  [[nodiscard]] double share() const {
    if (state == "promoted")
      return c_.stages.back().share;
    return in_stage() ? c_.stages[stage].share : 0;
  }

  [[nodiscard]] bool judged() const {
    return in_stage() || state == "promoted";
  }

  void arrive(call_id id, const call_info& call) {
    advance(now);
    if (state == "waiting" && c_.enabled)
      start(now);
    auto& x = calls[id];
    x.of_canary = share() >= 1
                  || (call.key == keys_of_all().canary && share() > 0);
    x.where = x.of_canary ? place::redirected : place::below;
    x.idempotent = call.idempotent == idempotence::yes;
    x.run = run;
    x.sent = now;
    ++count[x.of_canary ? "to_canary" : "to_baseline"];
    if (x.of_canary)
      progress_[id] = {now, run, x.idempotent};
  }

  void finish(call_id id, const ending<canary_verdict>& how) {
    auto& x = calls[id];
    x.executed = x.executed || how.result.may_have_executed;
    x.may_have_executed = x.executed;
    x.where = place::passed;
    auto first = !x.second;
    if (first)
      answer(id, x, how);
    if (first && x.of_canary && how.meaning == canary_verdict::bad
        && c_.on_failure == on_canary_failure::baseline
        && (!x.executed || x.idempotent)) {
      x.second = true;
      x.where = place::below;
      ++count["given_to_baseline"];
    }
  }

  void abandon(call_id id, errc why) {
    auto late = why == errc::deadline_exceeded;
    if (const auto& x = calls[id]; !x.second)
      answer(id, x,
             {outcome::failure(why, true),
              late ? canary_verdict::bad : canary_verdict::neutral});
  }

  void advance_to(time_point t) { advance(t); }

  void answer(call_id id, const canary_call& call,
              const ending<canary_verdict>& s) {
    auto of_canary = call.of_canary;
    auto timed = of_canary && progress_.at(id).timed;
    progress_.erase(id);
    advance(now);
    constexpr const char* names[] = {"_succeeded", "_failed", "_neutral"};
    ++count[(of_canary ? "canary" : "baseline")
            + std::string{names[static_cast<int>(s.meaning)]}];
    auto neutral = s.meaning == canary_verdict::neutral;
    auto bad = s.meaning == canary_verdict::bad;
    if (call.run != run || !judged()) {
      count["late_results"] += of_canary && !neutral;
      return;
    }
    auto late = s.result.is(errc::deadline_exceeded);
    if (!neutral) {
      roll(now);
      records_.push_back(
        {of_canary, bad,
         bad && !late ? std::nullopt : std::optional{now - call.sent}});
    }
    if (!of_canary)
      return;
    auto slow = now - call.sent > rules_.max_p99 || (bad && late);
    auto counts = !timed && (slow || s.meaning == canary_verdict::good);
    if (counts)
      slow_.push_back(slow);
    if (!neutral) {
      ++answers;
      in_a_row = bad ? in_a_row + 1 : 0;
    }
    if (!neutral || counts)
      weigh(!neutral, now);
  }

  /// The next instant at which something is due.
  [[nodiscard]] time_point wakeup() const {
    return std::min({phase_due(), overdue().first, hand_over_due()});
  }

  void advance(time_point now) {
    for (auto at = wakeup(); at <= now && at != never; at = wakeup()) {
      // Other settings may have made it due in the past.
      clock_ = std::max(clock_, at);
      if (hand_over_due() <= at) {
        hand_over(clock_);
      } else if (overdue().first <= at) {
        pass_overdue(clock_);
      } else if (state == "rolled_back") {
        start(clock_);
      } else {
        dwelt = true;
        go_on(clock_);
      }
    }
    clock_ = now;
  }

  void command(const policy_command& x) {
    auto what = x.what;
    if (what == operator_command::reset)
      count.clear();
    if (what == operator_command::reset || state == "rolled_back") {
      ++run;
      enter("waiting", 0, now);
    }
    if (what == operator_command::reset)
      kept_.reset();
  }

  void reconfigure(const canary_config& next) {
    auto old = share();
    auto changed = next.stages.size() != c_.stages.size();
    for (std::size_t i = 0; !changed && i < next.stages.size(); ++i)
      changed = next.stages[i].share != c_.stages[i].share;
    c_ = next;
    if (!c_.enabled) {
      if (judged())
        ends_.push_back({now, run});
      if (state != "waiting") {
        ++run;
        enter("waiting", 0, now);
      }
      return use_rules();
    }
    if (judged() && changed
        && !(state == "promoted" && c_.stages.back().share == old)) {
      std::size_t at = 0;
      for (std::size_t i = 0; i < c_.stages.size(); ++i)
        if (c_.stages[i].share <= old)
          at = i;
      enter("stage", at, now);
    }
    use_rules();
    dwelt = in_stage() && now >= time_after(since, rules_.dwell);
    go_on(now);
  }

  std::string state = "waiting";
  std::size_t stage = 0;
  std::uint64_t run = 0;
  std::int64_t answers = 0;
  std::int64_t in_a_row = 0;

  // -- what is compared -------------------------------------------------------

  void measure() {
    count["with_canary"] = calls_at(place::redirected);
    count["stage_answers"] = answers;
    count["failures_in_a_row"] = in_a_row;
  }

  void check(const rig& real) const {
    RC_ASSERT(
      real.state()
      == (state == "stage" ? std::string{name_of_stage(stage)} : state));
    RC_ASSERT(real.policy.share() == share());
  }

private:
  struct with_canary {
    time_point sent;
    std::uint64_t run = 0;
    bool idempotent = false;
    bool timed = false;
    bool looked_at = false;
  };

  struct record {
    bool of_canary;
    bool bad;
    std::optional<duration> took;
  };

  struct numbers {
    std::size_t answers = 0;
    std::size_t bad = 0;
    std::size_t latencies = 0;
    std::optional<duration> slowest;

    [[nodiscard]] double rate() const {
      return answers == 0
               ? 0
               : static_cast<double>(bad) / static_cast<double>(answers);
    }
  };

  [[nodiscard]] bool in_stage() const { return state == "stage"; }

  void start(time_point now) {
    ++run;
    enter("stage", 0, now);
    kept_.reset();
  }

  void enter(std::string next, std::size_t n, time_point now) {
    keep();
    state = std::move(next);
    stage = n;
    since = span_since = now;
    dwelt = false;
    answers = in_a_row = 0;
    records_.clear();
    looked_worse_.reset();
    slow_.clear();
    last_span_ = last_slow_ = 0;
    use_rules();
  }

  void use_rules() {
    auto before = rules_.max_p99;
    auto last = c_.stages.size() - 1;
    rules_ = rules_of(c_, c_.stages[in_stage()            ? stage
                                    : state == "promoted" ? last
                                                          : 0]);
    if (rules_.max_p99 != before) {
      for (auto& [_, x] : progress_)
        x.timed = false;
      slow_.clear();
      last_slow_ = 0;
    }
  }

  // -- what is due ------------------------------------------------------------

  [[nodiscard]] time_point phase_due() const {
    return in_stage() && !dwelt     ? time_after(since, rules_.dwell)
           : state == "rolled_back" ? time_after(since, c_.retry_after)
                                    : never;
  }

  [[nodiscard]] std::pair<time_point, call_id> overdue() const {
    std::pair<time_point, call_id> first{never, 0};
    if (judged() && rules_.max_p99 != unlimited)
      for (const auto& [id, x] : progress_)
        if (!x.timed && x.sent + rules_.max_p99 + 1ns < first.first)
          first = {x.sent + rules_.max_p99 + 1ns, id};
    return first;
  }

  // All that are due together are looked at before it is weighed.
  void pass_overdue(time_point now) {
    auto any = false;
    for (auto x = overdue(); x.first <= now; x = overdue()) {
      auto& call = progress_.at(x.second);
      call.timed = true;
      if (call.run == run)
        any = true, slow_.push_back(true);
    }
    if (any)
      weigh(false, now);
  }

  [[nodiscard]] time_point hand_over_due() const {
    for (const auto& end : ends_)
      for (const auto& [id, x] : progress_)
        if (!x.looked_at && x.run <= end.second)
          return time_after(end.first, c_.hand_over_after);
    return never;
  }

  // The baseline has them from now on, and the canary may have done the work.
  void hand_over(time_point now) {
    std::vector<call_id> all;
    for (const auto& end : ends_)
      if (time_after(end.first, c_.hand_over_after) <= now)
        for (auto& [id, x] : progress_)
          if (!x.looked_at && x.run <= end.second) {
            x.looked_at = true;
            if (x.idempotent)
              all.push_back(id);
          }
    for (auto id : all) {
      progress_.erase(id);
      auto& x = calls[id];
      x.second = x.executed = true;
      x.where = place::below;
      ++count["handed_over"];
      ++count["canary_neutral"];
    }
  }

  // -- judgement --------------------------------------------------------------

  enum class finding { good, undecided, worse };

  void weigh(bool answered, time_point now) {
    auto most = rules_.max_failures_in_a_row;
    if ((most > 0 && in_a_row >= most) || look(answered, now) == finding::worse)
      return go_back(now);
    go_on(now);
  }

  void go_on(time_point now) {
    if (!in_stage() || !dwelt || answers < rules_.min_calls
        || (looked_worse_ && now < *looked_worse_ + c_.window))
      return;
    auto found = look(true, now);
    if (found == finding::worse)
      return go_back(now);
    if (found == finding::undecided)
      return;
    auto last = stage + 1 == c_.stages.size();
    ++count[last ? "promotions" : "went_on"];
    enter(last ? "promoted" : "stage", last ? stage : stage + 1, now);
  }

  void go_back(time_point now) {
    ++count["rollbacks"];
    ends_.push_back({now, run});
    ++run;
    enter("rolled_back", 0, now);
  }

  [[nodiscard]] numbers of(bool canary, std::size_t from = 0) const {
    numbers out;
    histogram times;
    for (auto i = from; i < records_.size(); ++i)
      if (records_[i].of_canary == canary) {
        ++out.answers;
        out.bad += records_[i].bad;
        if (records_[i].took)
          times.record(*records_[i].took);
      }
    out.latencies = times.count();
    if (enough(times.count()))
      out.slowest = times.quantile(0.99);
    return out;
  }

  // The baseline's, if they are enough.
  void keep() {
    if (auto x = of(false); enough(x.answers))
      kept_ = x;
  }

  void roll(time_point now) {
    if (now < span_since + c_.window / 2
        || !enough(of(true, last_span_).answers))
      return;
    keep();
    records_.erase(records_.begin(),
                   records_.begin() + static_cast<std::ptrdiff_t>(last_span_));
    last_span_ = records_.size();
    slow_.erase(slow_.begin(),
                slow_.begin() + static_cast<std::ptrdiff_t>(last_slow_));
    last_slow_ = slow_.size();
    span_since = now;
  }

  finding look(bool compares, time_point now) {
    auto found = compare(compares);
    if (found == finding::undecided)
      looked_worse_ = now;
    return found;
  }

  // `compares`: latencies with the baseline's, too.
  [[nodiscard]] finding compare(bool compares) const {
    auto slow = std::count(slow_.begin(), slow_.end(), true);
    auto timed = static_cast<std::int64_t>(slow_.size());
    auto too_slow = rules_.max_p99 != unlimited && timed >= rules_.min_calls
                    && slow * 100 > timed;
    auto canary_numbers = of(true);
    if (!enough(canary_numbers.answers))
      return too_slow ? finding::worse : finding::good;
    auto live = of(false);
    auto known = enough(live.answers);
    auto baseline_numbers = known ? live : kept_.value_or(numbers{});
    auto failures = compare_failures(canary_numbers, baseline_numbers);
    auto times = compares && (state != "promoted" || known)
                   ? compare_times(canary_numbers, baseline_numbers)
                   : finding::good;
    return too_slow ? finding::worse : std::max(failures, times);
  }

  [[nodiscard]] finding compare_failures(const numbers& a,
                                         const numbers& b) const {
    if (a.rate() - b.rate() <= rules_.max_error_excess + 1e-9)
      return finding::good;
    if (b.answers == 0)
      return finding::worse;
    auto part = static_cast<double>(a.answers);
    auto bad = a.bad + b.bad;
    return weighed(static_cast<double>(a.bad) / static_cast<double>(bad), bad,
                   part / (part + static_cast<double>(b.answers)));
  }

  [[nodiscard]] finding compare_times(const numbers& a,
                                      const numbers& b) const {
    if (!a.slowest || !b.slowest)
      return finding::good;
    auto longest = std::max(
      duration_times(*b.slowest, rules_.max_latency_ratio),
      *b.slowest + rules_.min_latency_excess);
    if (*a.slowest <= longest)
      return finding::good;
    // Those of the bucket of a histogram are longer together, or not.
    auto longer = std::count_if(records_.begin(), records_.end(),
                                [&](const record& x) {
                                  return x.of_canary && x.took
                                         && histogram::bucket_end(*x.took)
                                              > histogram::bucket_end(longest);
                                });
    return weighed(static_cast<double>(longer)
                     / static_cast<double>(a.latencies),
                   std::min(a.latencies, b.latencies), 0.01);
  }

  // Chernoff's bound as a product of probabilities.
  [[nodiscard]] finding weighed(double x, std::size_t trials, double p) const {
    auto n = static_cast<double>(trials);
    auto bound = x <= p   ? 1
                 : x >= 1 ? std::pow(p, n)
                          : std::pow(p / x, n * x)
                              * std::pow((1 - p) / (1 - x), n - n * x);
    return std::min(bound, 1.0) > rules_.significance_level ? finding::undecided
                                                            : finding::worse;
  }

  [[nodiscard]] bool enough(std::size_t n) const {
    return static_cast<std::int64_t>(n) >= rules_.min_calls;
  }

  canary_config c_;
  canary_rules rules_;
  time_point clock_;
  std::map<call_id, with_canary> progress_;
  std::vector<std::pair<time_point, std::uint64_t>> ends_;
  // Whether each timed call took too long, and where the last span begins.
  std::vector<bool> slow_;
  std::size_t last_slow_ = 0;
  time_point since;
  time_point span_since;
  bool dwelt = false;
  std::vector<record> records_;
  std::size_t last_span_ = 0;
  std::optional<numbers> kept_;
  // When it was worse last, but perhaps by chance.
  std::optional<time_point> looked_worse_;
};

} // namespace caisson::test
