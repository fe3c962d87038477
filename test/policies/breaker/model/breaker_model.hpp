// A second breaker, for comparison: slow, naive, and written from the rules in
// docs/breaker.md. It keeps every result and every probe of the present state
// and counts them anew for each question.
#pragma once

#include <caisson/base/random.hpp>
#include <caisson/policies/breaker/breaker.hpp>

#include <policies/breaker/model/breaker_rules_model.hpp>
#include <policies/breaker/model/breaker_steps.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

class breaker_model : public breaker_steps {
public:
  using count_map = std::map<std::string, std::int64_t>;

  explicit breaker_model(settings s)
    : c_(s), rules_(std::move(s)), auto_(initial()) {}

  // -- what happens -----------------------------------------------------------

  void advance_to(time_point t) {
    for (auto due = next_due(); due != never && due <= t; due = next_due())
      tick(due);
  }

  void arrive(call_id id, const call_info&) {
    calls[id];
    tick(now);
    if (forced_ == "forced_open")
      return reject(id, "rejected_forced",
                    forced_until_ == never ? duration::zero()
                                           : time_until(forced_until_, now));
    if (auto_ == "open" && clock_ >= until_) {
      ++count["half_opened"];
      enter("half_open");
    }
    auto limited = false;
    if (auto_ == "closed" && (!ramps_ || random_.uniform() < share())) {
      limited = !has_room();
      if (!limited) {
        ++count["admitted"];
        calls_[id] = {epoch_,     "counted", clock_,
                      c_.timed(), false,     c_.base.limit_at < 1};
        note_burst();
        return;
      }
    }
    if (auto_ == "half_open"
        && flying() + judged(true) + judged(false) < c_.base.probes) {
      ++count["probes"];
      calls_[id] = {epoch_, "probe", clock_, false, false, false};
      probes_.push_back({id, clock_, "flying"});
      if (!probed_) {
        probed_ = true;
        first_probe_ = clock_;
      }
      return;
    }
    if (forced_ == "forced_closed") {
      ++count["forced_through"];
      calls_[id] = {epoch_, "bystander", clock_, false, false, false};
      return;
    }
    if (auto_ == "open")
      return reject(id, "rejected_open", time_until(until_, now));
    auto soon = c_.base.half_open_retry_after;
    if (auto_ == "closed")
      return reject(id, limited ? "rejected_limit" : "rejected_ramp",
                    ramps_ ? std::min(soon, time_until(end_of_ramp(), now))
                           : soon);
    return reject(id, "rejected_half_open",
                  std::min(soon, time_until(next_due(), now)));
  }

  void finish(call_id id, const ending<verdict>& how) {
    calls[id].where = place::passed;
    result(id, how.meaning);
  }

  void abandon(call_id id, errc why) {
    result(id, why == errc::deadline_exceeded ? verdict::transient
                                              : verdict::neutral);
  }

  void other(const operation&, rig& real) {
    tick(now);
    real.policy.attempt_timed_out({}, real.e);
    if (auto_ != "closed" || !c_.base.count_attempt_timeouts)
      return;
    ++count["attempt_timeouts"];
    rules_.add(true, clock_);
    weigh();
  }

  void command(const policy_command& x) {
    tick(now);
    switch (x.what) {
      case operator_command::force_open:
        return force("forced_open", x.time);
      case operator_command::force_closed:
        return force("forced_closed", x.time);
      case operator_command::enable:
        return force("", unlimited);
      default:
        count.clear();
        enter(initial());
        row_ = 0;
        at_ = 0;
        started_ = calls_at(place::below);
    }
  }

  void reconfigure(const settings& s) {
    tick(now);
    rules_.reconfigure(s, clock_);
    if (s.delays != c_.delays)
      at_ = 0;
    c_ = s;
    if (auto_ == "half_open")
      decide();
    tick(now);
  }

  // -- what is compared -------------------------------------------------------

  std::string state() const { return forced_.empty() ? auto_ : forced_; }

  // A wake-up that nobody asked for changes nothing but what gauges say.
  void prepare(rig& real) {
    real.policy.wake(real.e);
    tick(now);
  }

  void measure() {
    auto copy = *this;
    copy.clock_ = std::max(clock_, now);
    for (const auto& [name, value] : copy.gauges())
      count[name] = value;
  }

  void check(const rig& real) {
    RC_ASSERT(real.policy.circuit({}) == says());
    // Each call that passed ends in exactly one counter, or is still below.
    auto n = [&](auto... names) { return (real.count(names) + ...); };
    RC_ASSERT(n("admitted", "probes", "forced_through") + started_
              == n("successes", "failures", "neutral", "refused",
                   "late_results", "unjudged_results")
                   + calls_at(place::below));
    check_changes(real, last_state_);
  }

private:
  circuit says() const {
    auto s = state();
    return s == "open" || s == "forced_open" ? circuit::open
           : s == "half_open"                ? circuit::half_open
                                             : circuit::closed;
  }

  void force(std::string what, duration time) {
    forced_ = std::move(what);
    forced_until_ = time == unlimited ? never : time_after(clock_, time);
  }

  void result(call_id id, verdict v) {
    tick(now);
    auto call = calls_.at(id);
    calls_.erase(id);
    auto name = v == verdict::success   ? "successes"
                : v == verdict::neutral ? "neutral"
                : v == verdict::refused ? "refused"
                                        : "failures";
    auto counts = v != verdict::neutral && v != verdict::refused;
    if (call.as == "bystander") {
      ++count["unjudged_results"];
    } else if (call.epoch != epoch_) {
      ++count["late_results"];
    } else if (call.as == "counted") {
      ++count[name];
      if (!counts)
        return;
      if (c_.timed() && !call.slow) {
        auto slow = clock_ - call.admitted >= c_.base.slow_call;
        count["slow_calls"] += slow ? 1 : 0;
        rules_.add_pace(slow, clock_);
      }
      rules_.add(v != verdict::success, clock_);
      weigh();
    } else {
      auto p = std::find_if(probes_.begin(), probes_.end(), [&](auto& x) {
        return x.id == id && x.what == "flying";
      });
      if (p == probes_.end()) {
        ++count["late_results"];
        return;
      }
      ++count[name];
      p->what = v == verdict::success ? "good" : counts ? "bad" : "returned";
      if (!counts)
        ++count["probes_returned"];
      decide();
    }
  }

  count_map gauges() const {
    count_map out;
    auto closed = auto_ == "closed";
    auto number = [](const std::string& s) {
      const std::vector<std::string> all = {"closed", "open", "half_open",
                                            "forced_open", "forced_closed"};
      return std::find(all.begin(), all.end(), s) - all.begin();
    };
    out["state"] = number(state());
    out["automatic_state"] = number(auto_);
    rules_.gauges(out, clock_);
    auto part = ramps_ ? share() : 1;
    out["ramp_permille"] = closed ? static_cast<std::int64_t>(part * 1000) : 0;
    out["in_flight_limit"] = closed ? most_in_flight() : 0;
    out["in_flight"] = closed ? in_flight() : 0;
    out["probes_in_flight"] = auto_ == "half_open" ? flying() : 0;
    out["openings_in_a_row"] = closed ? 0 : row_;
    return out;
  }

  struct call_note {
    int epoch;
    std::string as;
    time_point admitted;
    bool watched;
    bool slow;
    bool in_burst;
  };

  struct probe_note {
    call_id id;
    time_point granted;
    std::string what;
  };

  std::string initial() const {
    return c_.base.initial == breaker_start::closed ? "closed" : "half_open";
  }

  // -- time -------------------------------------------------------------------

  time_point limit() const {
    return probed_ ? time_after(first_probe_, c_.base.half_open_max) : never;
  }

  time_point next_lease() const {
    auto t = never;
    for (auto& p : probes_)
      if (p.what == "flying")
        t = std::min(t, time_after(p.granted, lease()));
    return t;
  }

  duration lease() const {
    return std::min(c_.base.probe_timeout, c_.base.slow_call);
  }

  bool may_become_slow(const call_note& x) const {
    return x.epoch == epoch_ && x.as == "counted" && x.watched && !x.slow;
  }

  time_point next_slow() const {
    auto t = never;
    for (auto& [id, x] : calls_)
      if (c_.timed() && may_become_slow(x))
        t = std::min(t, time_after(x.admitted, c_.base.slow_call));
    return t;
  }

  time_point end_of_ramp() const { return time_after(ramp_, c_.base.ramp); }

  double share() const {
    if (clock_ >= end_of_ramp())
      return 1;
    return c_.base.ramp_from
           + (1 - c_.base.ramp_from)
               * (to_seconds(clock_ - ramp_) / to_seconds(c_.base.ramp));
  }

  time_point next_due() const {
    if (auto_ == "open" && c_.base.eager_half_open)
      return until_;
    if (auto_ == "closed")
      return next_slow();
    return auto_ == "half_open" ? std::min(next_lease(), limit()) : never;
  }

  void tick(time_point t) {
    clock_ = std::max(clock_, t);
    while (next_due() <= clock_) {
      if (auto_ == "closed") {
        auto due = next_slow();
        auto x = std::find_if(calls_.begin(), calls_.end(), [&](auto& y) {
          return may_become_slow(y.second)
                 && time_after(y.second.admitted, c_.base.slow_call) == due;
        });
        x->second.slow = true;
        ++count["slow_calls"];
        rules_.add_pace(true, clock_);
        weigh();
      } else if (auto_ == "open") {
        ++count["half_opened"];
        enter("half_open");
      } else if (next_lease() <= limit()) {
        auto p = std::find_if(probes_.begin(), probes_.end(),
                              [](auto& x) { return x.what == "flying"; });
        ++count[lease() == c_.base.slow_call ? "slow_calls" : "leases_expired"];
        p->what = "bad";
        decide();
      } else {
        ++count["half_open_timeouts"];
        if (judged(false) > 0
            && c_.base.after_half_open_max == breaker_verdict::open)
          enter_open();
        else
          close();
      }
    }
    if (forced_until_ <= clock_) {
      forced_ = "";
      forced_until_ = never;
    }
    ramps_ = ramps_ && clock_ < end_of_ramp();
  }

  // -- calls in flight --------------------------------------------------------

  std::int64_t in_flight() const {
    return std::count_if(calls_.begin(), calls_.end(), [&](auto& x) {
      return x.second.epoch == epoch_ && x.second.in_burst;
    });
  }

  // 0: any number.
  std::int64_t most_in_flight() const {
    auto near = rules_.nearness(clock_);
    auto from = c_.limit_permille;
    if (from == 1000 || near.part * 1000 < from * near.of)
      return 0;
    auto most = std::max(burst_, burst_before_);
    std::int64_t least = c_.base.limit_floor;
    if (near.part >= near.of || most <= least)
      return least;
    return least
           + (most - least) * (near.of - near.part) * 1000
               / (near.of * (1000 - from));
  }

  // Asked once for each call that might go.
  bool has_room() {
    if (c_.base.limit_at >= 1)
      return true;
    if (!burst_limited_)
      begin_due_period();
    auto most = most_in_flight();
    auto was_limited = std::exchange(burst_limited_, most > 0);
    if (burst_limited_) {
      burst_since_ = clock_;
      return in_flight() < most;
    }
    if (was_limited)
      begin_due_period();
    return true;
  }

  void begin_due_period() {
    auto d = c_.base.window_time;
    if (clock_ < time_after(burst_since_, d))
      return;
    auto recent = clock_ < time_after(time_after(burst_since_, d), d);
    burst_before_ = recent ? burst_ : in_flight();
    burst_ = in_flight();
    burst_since_ = clock_;
  }

  void note_burst() {
    if (c_.base.limit_at < 1 && most_in_flight() == 0)
      burst_ = std::max(burst_, in_flight());
  }

  // -- half-open --------------------------------------------------------------

  std::int64_t flying() const { return probes_that_are("flying"); }
  std::int64_t judged(bool good) const {
    return probes_that_are(good ? "good" : "bad");
  }

  std::int64_t probes_that_are(const std::string& what) const {
    return std::count_if(probes_.begin(), probes_.end(),
                         [&](auto& p) { return p.what == what; });
  }

  void decide() {
    std::int64_t probes = c_.base.probes;
    std::int64_t needed = c_.base.successes_to_close;
    if (needed == 0)
      needed = probes;
    auto best_case = probes - judged(false);
    if (best_case < needed) {
      ++count["reopened"];
      enter_open();
    } else if (judged(true) >= needed) {
      ++count["closed"];
      close();
    }
  }

  void weigh() {
    if (!rules_.trips(clock_))
      return;
    ++count["opened"];
    at_ = 0;
    row_ = 0;
    enter_open();
  }

  // -- transitions ------------------------------------------------------------

  void enter(std::string next) {
    auto_ = std::move(next);
    ++epoch_;
    rules_.clear();
    probes_.clear();
    probed_ = false;
    ramps_ = false;
    burst_ = burst_before_ = 0;
    burst_limited_ = false;
    burst_since_ = time_point::min();
  }

  void close() {
    enter("closed");
    ramps_ = c_.base.ramp > duration::zero();
    ramp_ = clock_;
  }

  void enter_open() {
    ++row_;
    enter("open");
    until_ = time_after(clock_,
                        c_.delays[std::min(at_++, c_.delays.size() - 1)]);
  }

  void reject(call_id id, const char* counter, duration retry_after) {
    ++count[counter];
    calls[id].reject(errc::breaker_open, retry_after);
  }

  settings c_;
  breaker_rules_model rules_;
  std::string auto_;
  std::string forced_;
  time_point forced_until_ = never;
  int epoch_ = 0;
  time_point clock_ = time_point::min();
  std::map<call_id, call_note> calls_;
  std::vector<probe_note> probes_;
  bool probed_ = false;
  time_point first_probe_;
  time_point until_;
  bool ramps_ = false;
  time_point ramp_;
  // The most calls in flight since then, and in the period before.
  std::int64_t burst_ = 0;
  std::int64_t burst_before_ = 0;
  bool burst_limited_ = false;
  time_point burst_since_ = time_point::min();
  // As that of the host.
  random_source random_{7};
  std::size_t at_ = 0;
  std::int64_t row_ = 0;
  // The state after the changes that were looked at.
  std::string last_state_ = auto_;
  // How many calls were below at the last reset of the counters.
  std::int64_t started_ = 0;
};

} // namespace caisson::test
