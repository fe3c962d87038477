#include <caisson/histogram.hpp>

#include <support/canary_rig.hpp>
#include <support/operations.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace canaries;

struct canary_sample {
  outcome result;
  canary_verdict meaning;
};

// Mostly well, or no canary would get far.
const std::vector<canary_sample> canary_samples{
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::success(), canary_verdict::good},
  {outcome::failure(errc::worker_down, true), canary_verdict::bad},
  {outcome::failure(errc::worker_down, false), canary_verdict::bad},
  {outcome::failure(errc::deadline_exceeded, true), canary_verdict::bad},
  {outcome::failure(errc::cancelled, true), canary_verdict::neutral},
};

canary_config canary_settings(int which) {
  auto c = quick_canary();
  c.stages = {0.2, 0.6, 1.0};
  c.dwell = 2s;
  c.min_calls = 3;
  c.window = 4s;
  c.max_error_excess = 0.4;
  c.max_failures_in_a_row = 3;
  c.retry_after = 20s;
  if (which == 1)
    c.stages = {0.3, 1.0};
  if (which == 2) {
    c.dwell = 7s;
    c.max_failures_in_a_row = 0;
    c.on_failure = on_canary_failure::pass;
  }
  if (which == 3)
    c.enabled = false;
  return c;
}

// Keeps every answer, and counts them all again each time.
class canary_model {
public:
  explicit canary_model(canary_config c) : c_(std::move(c)) {}

  [[nodiscard]] double share() const {
    if (state == "promoted")
      return c_.stages.back();
    return in_stage() ? c_.stages[stage] : 0;
  }

  [[nodiscard]] bool judged() const {
    return in_stage() || state == "promoted";
  }

  void arrive(time_point now) {
    if (state == "waiting" && c_.enabled)
      start(now);
  }

  void answer(bool of_canary, const canary_sample& s, std::uint64_t run_of_call,
              time_point sent, time_point now) {
    constexpr const char* names[] = {"_succeeded", "_failed", "_neutral"};
    ++count[(of_canary ? "canary" : "baseline")
            + std::string{names[static_cast<int>(s.meaning)]}];
    if (s.meaning == canary_verdict::neutral)
      return;
    if (run_of_call != run || !judged()) {
      count["late_results"] += of_canary;
      return;
    }
    roll(now);
    auto bad = s.meaning == canary_verdict::bad;
    records_.push_back({of_canary, bad,
                        bad && !s.result.is(errc::deadline_exceeded)
                          ? std::nullopt
                          : std::optional{now - sent}});
    if (!of_canary)
      return;
    ++answers;
    in_a_row = bad ? in_a_row + 1 : 0;
    if ((c_.max_failures_in_a_row > 0 && in_a_row >= c_.max_failures_in_a_row)
        || is_worse())
      return go_back(now);
    go_on(now);
  }

  void advance(time_point now) {
    for (;;) {
      auto due = in_stage() && !dwelt     ? since + c_.dwell
                 : state == "rolled_back" ? since + c_.retry_after
                                          : never;
      if (due > now)
        return;
      if (state == "rolled_back") {
        start(due);
        continue;
      }
      dwelt = true;
      go_on(due);
    }
  }

  void command(operator_command what, time_point now) {
    if (what == operator_command::reset)
      count.clear();
    if (what == operator_command::reset || state == "rolled_back") {
      ++run;
      enter("waiting", 0, now);
    }
    if (what == operator_command::reset)
      kept_.reset();
  }

  void reconfigure(canary_config next, time_point now) {
    auto old = share();
    auto changed = next.stages != c_.stages;
    c_ = std::move(next);
    if (!c_.enabled) {
      if (state != "waiting") {
        ++run;
        enter("waiting", 0, now);
      }
      return;
    }
    if (judged() && changed
        && !(state == "promoted" && c_.stages.back() == old)) {
      std::size_t at = 0;
      for (std::size_t i = 0; i < c_.stages.size(); ++i)
        if (c_.stages[i] <= old)
          at = i;
      enter("stage", at, now);
    }
    dwelt = in_stage() && now >= since + c_.dwell;
    go_on(now);
  }

  std::string state = "waiting";
  std::size_t stage = 0;
  std::uint64_t run = 0;
  std::uint32_t answers = 0;
  std::uint32_t in_a_row = 0;
  std::map<std::string, std::int64_t> count;

private:
  struct record {
    bool of_canary;
    bool bad;
    std::optional<duration> took;
  };

  struct numbers {
    std::size_t answers = 0;
    double rate = 0;
    std::optional<duration> slowest;
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
    last_span_ = 0;
  }

  void go_on(time_point now) {
    if (!in_stage() || !dwelt || answers < c_.min_calls)
      return;
    if (is_worse())
      return go_back(now);
    auto last = stage + 1 == c_.stages.size();
    ++count[last ? "promotions" : "went_on"];
    enter(last ? "promoted" : "stage", last ? stage : stage + 1, now);
  }

  void go_back(time_point now) {
    ++count["rollbacks"];
    ++run;
    enter("rolled_back", 0, now);
  }

  [[nodiscard]] numbers of(bool canary, std::size_t from = 0) const {
    numbers out;
    histogram times;
    for (auto i = from; i < records_.size(); ++i)
      if (records_[i].of_canary == canary) {
        ++out.answers;
        out.rate += records_[i].bad;
        if (records_[i].took)
          times.record(*records_[i].took);
      }
    if (out.answers > 0)
      out.rate /= static_cast<double>(out.answers);
    if (times.count() >= c_.min_calls)
      out.slowest = times.quantile(0.99);
    return out;
  }

  // The baseline's, if they are enough.
  void keep() {
    if (auto x = of(false); x.answers >= c_.min_calls)
      kept_ = x;
  }

  void roll(time_point now) {
    if (now < span_since + c_.window / 2
        || of(true, last_span_).answers < c_.min_calls)
      return;
    keep();
    records_.erase(records_.begin(),
                   records_.begin() + static_cast<std::ptrdiff_t>(last_span_));
    last_span_ = records_.size();
    span_since = now;
  }

  [[nodiscard]] bool is_worse() const {
    auto mine = of(true);
    if (mine.answers < c_.min_calls)
      return false;
    auto live = of(false);
    auto known = live.answers >= c_.min_calls;
    auto theirs = known ? live : kept_.value_or(numbers{});
    if (mine.rate - theirs.rate > c_.max_error_excess + 1e-9)
      return true;
    if (state == "promoted" && !known)
      return false;
    return mine.slowest && theirs.slowest
           && *mine.slowest
                > duration_times(*theirs.slowest, c_.max_latency_ratio)
           && *mine.slowest > *theirs.slowest + c_.min_latency_excess;
  }

  canary_config c_;
  time_point since;
  time_point span_since;
  bool dwelt = false;
  std::vector<record> records_;
  std::size_t last_span_ = 0;
  std::optional<numbers> kept_;
};

class canary_run {
public:
  canary_run() : real_(canary_settings(0)), model_(canary_settings(0)) {}

  void step(const operation& op) {
    switch (op.kind) {
      case 0:
      case 1:
        arrive(true, op);
        break;
      case 2:
        arrive(false, op);
        break;
      case 3:
      case 4:
      case 5:
      case 6:
        if (auto id = some_call(op.which))
          finish(id, pick(canary_samples, op.how));
        break;
      case 7:
        if (auto id = some_call(op.which); id != 0 && op.how % 4 == 0)
          abandon(id, op.how % 8 == 0);
        break;
      case 8:
      case 9:
        real_.advance(pick(steps, op.how));
        model_.advance(real_.e.now);
        break;
      case 10:
        // Rare, as it begins all over.
        if (op.how % 16 == 0) {
          auto what = op.which % 2 ? operator_command::reset
                                   : operator_command::enable;
          real_.policy.command(what, real_.e);
          model_.command(what, real_.e.now);
        }
        break;
      case 11:
        if (op.how % 10 == 0) {
          auto next = canary_settings(static_cast<int>(op.which % 4));
          on_failure_ = next.on_failure;
          real_.policy.reconfigure(next, real_.e);
          model_.reconfigure(next, real_.e.now);
        }
        break;
    }
    compare();
  }

private:
  static constexpr std::array<duration, 5> steps{0ns, 1ns, 5ms, 500ms, 3s};

  struct call {
    place where = place::below;
    bool of_canary = false;
    bool second = false;
    bool idempotent = false;
    bool reached = false;
    std::uint64_t run = 0;
    time_point sent;
  };

  void arrive(bool canary_key, const operation& op) {
    call_info f;
    f.key = canary_key ? real_.keys.canary : real_.keys.baseline;
    f.idempotent = op.how % 2 ? idempotence::yes : idempotence::unmarked;
    auto id = real_.arrive(f);
    model_.arrive(real_.e.now);
    auto& x = calls_[id];
    x.of_canary = model_.share() >= 1 || (canary_key && model_.share() > 0);
    x.where = x.of_canary ? place::redirected : place::below;
    x.idempotent = op.how % 2;
    x.run = model_.run;
    x.sent = real_.e.now;
    ++model_.count[x.of_canary ? "to_canary" : "to_baseline"];
  }

  void finish(call_id id, const canary_sample& s) {
    auto& x = calls_[id];
    real_.finish(id, s.result);
    x.reached = x.reached || s.result.reached;
    x.where = place::passed;
    if (!x.second)
      model_.answer(x.of_canary, s, x.run, x.sent, real_.e.now);
    if (x.of_canary && !x.second && s.meaning == canary_verdict::bad
        && on_failure_ == on_canary_failure::baseline
        && (!x.reached || x.idempotent)) {
      x.second = true;
      x.where = place::below;
      ++model_.count["given_to_baseline"];
    }
    if (x.where == place::passed)
      RC_ASSERT(real_.calls.at(id).result.reached == x.reached);
  }

  void abandon(call_id id, bool late) {
    auto& x = calls_[id];
    auto why = late ? errc::deadline_exceeded : errc::cancelled;
    real_.abandon(id, why);
    x.where = place::abandoned;
    if (!x.second)
      model_.answer(x.of_canary,
                    {outcome::failure(why, true),
                     late ? canary_verdict::bad : canary_verdict::neutral},
                    x.run, x.sent, real_.e.now);
  }

  call_id some_call(unsigned which) {
    std::vector<call_id> ids;
    for (auto& [id, x] : calls_)
      if (x.where == place::below || x.where == place::redirected)
        ids.push_back(id);
    return ids.empty() ? 0 : pick(ids, which);
  }

  void compare() {
    auto state = model_.state;
    if (state == "stage")
      state = name_of_stage(model_.stage);
    RC_ASSERT(real_.state() == state);
    RC_ASSERT(real_.policy.share() == model_.share());
    std::int64_t with_canary = 0;
    for (auto& [id, x] : calls_) {
      RC_ASSERT(real_.where(id) == x.where);
      with_canary += x.where == place::redirected;
    }
    RC_ASSERT(real_.count("with_canary") == with_canary);
    RC_ASSERT(real_.count("stage_answers") == model_.answers);
    RC_ASSERT(real_.count("failures_in_a_row") == model_.in_a_row);
    std::vector<metric> ms;
    real_.policy.list_metrics(ms);
    for (auto& m : ms)
      if (!m.gauge)
        RC_ASSERT(m.value == model_.count[std::string{m.name}]);
  }

  canary_rig real_;
  canary_model model_;
  on_canary_failure on_failure_ = on_canary_failure::baseline;
  std::map<call_id, call> calls_;
};

RC_GTEST_PROP(canary, agrees_with_the_naive_one, ()) {
  canary_run r;
  for (auto& op : *operations(12))
    r.step(op);
}

} // namespace
} // namespace caisson::test
