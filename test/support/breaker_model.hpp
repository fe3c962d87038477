// A second breaker, for comparison: slow, naive, and written from the rules in
// docs/breaker.md. It keeps every result and every probe of the present state
// and counts them anew for each question.
#pragma once

#include <caisson/breaker.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace caisson::test {

class breaker_model {
public:
  using count_map = std::map<std::string, std::int64_t>;

  /// The settings, with the schedule as a list of delays and the rate in
  /// thousandths, so that nothing is rounded.
  struct settings {
    breaker_config base;
    std::vector<duration> delays;
    std::int64_t permille = 500;
  };

  struct answer {
    bool passes;
    duration retry_after;
  };

  explicit breaker_model(settings s) : c_(std::move(s)) {}

  std::string state() const { return forced_.empty() ? auto_ : forced_; }

  /// Lets time pass, with all that falls due on the way.
  void advance_to(time_point t) {
    for (auto due = next_due(); due != never && due <= t; due = next_due())
      tick(due);
  }

  void wake(time_point now) { tick(now); }

  answer arrive(call_id id, time_point now) {
    tick(now);
    if (forced_ == "forced_open")
      return reject("rejected_forced", duration::zero());
    if (auto_ == "open" && clock_ >= until_) {
      ++n["half_opened"];
      enter("half_open");
    }
    if (auto_ == "closed") {
      ++n["admitted"];
      calls_[id] = {era_, "counted"};
      return {true, {}};
    }
    if (auto_ == "half_open"
        && flying() + judged(true) + judged(false) < c_.base.probes) {
      ++n["probes"];
      calls_[id] = {era_, "probe"};
      probes_.push_back({id, clock_, "flying"});
      if (!probed_) {
        probed_ = true;
        first_probe_ = clock_;
      }
      return {true, {}};
    }
    if (forced_ == "forced_closed") {
      ++n["forced_through"];
      calls_[id] = {era_, "bystander"};
      return {true, {}};
    }
    if (auto_ == "open")
      return reject("rejected_open", time_until(until_, now));
    auto soon = c_.base.half_open_retry_after;
    return reject("rejected_half_open",
                  std::min(soon, time_until(next_due(), now)));
  }

  void result(call_id id, verdict v, time_point now) {
    tick(now);
    auto call = calls_.at(id);
    calls_.erase(id);
    auto name = v == verdict::success   ? "successes"
                : v == verdict::neutral ? "neutral"
                : v == verdict::refused ? "refused"
                                        : "failures";
    auto counts = v != verdict::neutral && v != verdict::refused;
    if (call.as == "bystander") {
      ++n["unjudged_results"];
    } else if (call.era != era_) {
      ++n["late_results"];
    } else if (call.as == "counted") {
      ++n[name];
      if (counts)
        results_.push_back({clock_, v != verdict::success});
      if (counts && too_much(v != verdict::success)) {
        ++n["opened"];
        at_ = 0;
        row_ = 0;
        enter_open();
      }
    } else {
      auto p = std::find_if(probes_.begin(), probes_.end(), [&](auto& x) {
        return x.id == id && x.what == "flying";
      });
      if (p == probes_.end()) {
        ++n["late_results"];
        return;
      }
      ++n[name];
      p->what = v == verdict::success ? "good" : counts ? "bad" : "returned";
      if (!counts)
        ++n["probes_returned"];
      decide();
    }
  }

  void force(std::string what, time_point now) {
    tick(now);
    forced_ = std::move(what);
  }

  void reset(time_point now) {
    tick(now);
    n.clear();
    enter("closed");
  }

  void reconfigure(settings s, time_point now) {
    tick(now);
    results_ = survivors(s);
    if (s.delays != c_.delays)
      at_ = 0;
    c_ = std::move(s);
    if (auto_ == "half_open")
      decide();
    tick(now);
  }

  /// The gauges at `now`.
  count_map gauges(time_point now) const {
    auto copy = *this;
    copy.clock_ = std::max(clock_, now);
    return copy.gauges();
  }

  /// Counters by name; one that is missing is zero.
  count_map n;

private:
  count_map gauges() const {
    count_map out;
    auto closed = auto_ == "closed";
    auto number = [](const std::string& s) {
      const std::vector<std::string> all = {"closed", "open", "half_open",
                                            "forced_open", "forced_closed"};
      return std::find(all.begin(), all.end(), s) - all.begin();
    };
    auto rate = by_rate();
    out["state"] = number(state());
    out["automatic_state"] = number(auto_);
    out["failure_streak"] = closed && !rate ? streak() : 0;
    out["window_total"] = closed && rate ? total() : 0;
    auto known = closed && rate && total() >= c_.base.minimum_calls;
    out["failure_rate_permille"] = known ? failed() * 1000 / total() : -1;
    out["probes_in_flight"] = auto_ == "half_open" ? flying() : 0;
    out["openings_in_a_row"] = closed ? 0 : row_;
    return out;
  }

  struct call_note {
    int era;
    std::string as;
  };

  struct result_note {
    time_point came;
    bool failed;
  };

  struct probe_note {
    call_id id;
    time_point granted;
    std::string what;
  };

  bool by_rate() const {
    return c_.base.trip == breaker_trip::rate_by_count
           || c_.base.trip == breaker_trip::rate_by_time;
  }

  // -- time -------------------------------------------------------------------

  time_point limit() const {
    return probed_ ? time_after(first_probe_, c_.base.half_open_max) : never;
  }

  time_point next_lease() const {
    auto t = never;
    for (auto& p : probes_)
      if (p.what == "flying")
        t = std::min(t, time_after(p.granted, c_.base.probe_timeout));
    return t;
  }

  time_point next_due() const {
    if (auto_ == "open" && c_.base.eager_half_open)
      return until_;
    return auto_ == "half_open" ? std::min(next_lease(), limit()) : never;
  }

  void tick(time_point now) {
    clock_ = std::max(clock_, now);
    while (next_due() <= clock_) {
      if (auto_ == "open") {
        ++n["half_opened"];
        enter("half_open");
      } else if (next_lease() <= limit()) {
        auto p = std::find_if(probes_.begin(), probes_.end(),
                              [](auto& x) { return x.what == "flying"; });
        ++n["leases_expired"];
        p->what = "bad";
        decide();
      } else {
        ++n["half_open_timeouts"];
        if (judged(false) > 0
            && c_.base.after_half_open_max == breaker_verdict::open)
          enter_open();
        else
          enter("closed");
      }
    }
  }

  // -- half-open --------------------------------------------------------------

  std::int64_t flying() const { return count("flying"); }
  std::int64_t judged(bool good) const { return count(good ? "good" : "bad"); }

  std::int64_t count(const std::string& what) const {
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
      ++n["reopened"];
      enter_open();
    } else if (judged(true) >= needed) {
      ++n["closed"];
      enter("closed");
    }
  }

  // -- closed -----------------------------------------------------------------

  std::int64_t width() const {
    std::int64_t buckets = c_.base.window_buckets;
    return (c_.base.window_time.count() + buckets - 1) / buckets;
  }

  std::int64_t bucket(time_point t) const {
    return t.time_since_epoch().count() / width();
  }

  bool expired(time_point came) const {
    return c_.base.trip == breaker_trip::rate_by_time
           && bucket(clock_) - bucket(came) >= c_.base.window_buckets;
  }

  std::vector<result_note> in_window() const {
    std::vector<result_note> out;
    if (c_.base.trip == breaker_trip::rate_by_count) {
      auto k = std::min<std::size_t>(results_.size(), c_.base.window_calls);
      out.assign(results_.end() - static_cast<std::ptrdiff_t>(k),
                 results_.end());
    } else {
      for (auto& r : results_)
        if (!expired(r.came))
          out.push_back(r);
    }
    return out;
  }

  std::int64_t total() const {
    return static_cast<std::int64_t>(in_window().size());
  }

  std::int64_t failed() const {
    auto w = in_window();
    return std::count_if(w.begin(), w.end(), [](auto& r) { return r.failed; });
  }

  std::int64_t streak() const {
    std::int64_t k = 0;
    auto later = clock_;
    for (auto r = results_.rbegin(); r != results_.rend(); ++r) {
      if (c_.base.trip == breaker_trip::consecutive) {
        if (!r->failed)
          break;
        ++k;
      } else if (r->failed) {
        if (later >= time_after(r->came, c_.base.quiet_period))
          break;
        ++k;
        later = r->came;
      }
    }
    return k;
  }

  bool too_much(bool last_failed) const {
    if (by_rate())
      return total() >= c_.base.minimum_calls
             && failed() * 1000 >= c_.permille * total();
    return last_failed && streak() >= c_.base.threshold;
  }

  // What of the results goes on to count under the settings `s`.
  std::vector<result_note> survivors(const settings& s) const {
    if (s.base.trip != c_.base.trip)
      return {};
    auto out = by_rate() ? in_window() : results_;
    if (c_.base.trip == breaker_trip::rate_by_count) {
      if (out.size() > s.base.window_calls)
        out.erase(out.begin(),
                  out.end() - static_cast<std::ptrdiff_t>(s.base.window_calls));
    } else if (c_.base.trip == breaker_trip::without_gap) {
      // The gaps so far have been judged under the old settings.
      auto k = static_cast<std::size_t>(streak());
      auto came = time_point{};
      for (auto& r : results_)
        if (r.failed)
          came = r.came;
      out.assign(k, {came, true});
    } else if (c_.base.trip == breaker_trip::rate_by_time) {
      breaker_model next{s};
      next.clock_ = clock_;
      if (next.width() == width()
          && s.base.window_buckets == c_.base.window_buckets)
        return out;
      std::vector<result_note> kept;
      for (auto r : out) {
        r.came = time_point{duration{bucket(r.came) * width()}};
        if (!next.expired(r.came))
          kept.push_back(r);
      }
      return kept;
    }
    return out;
  }

  // -- transitions ------------------------------------------------------------

  void enter(std::string next) {
    auto_ = std::move(next);
    ++era_;
    results_.clear();
    probes_.clear();
    probed_ = false;
  }

  void enter_open() {
    ++row_;
    enter("open");
    until_ = time_after(clock_,
                        c_.delays[std::min(at_++, c_.delays.size() - 1)]);
  }

  answer reject(const char* counter, duration retry_after) {
    ++n[counter];
    return {false, retry_after};
  }

  settings c_;
  std::string auto_ = "closed";
  std::string forced_;
  int era_ = 0;
  time_point clock_ = time_point::min();
  std::map<call_id, call_note> calls_;
  std::vector<result_note> results_;
  std::vector<probe_note> probes_;
  bool probed_ = false;
  time_point first_probe_;
  time_point until_;
  std::size_t at_ = 0;
  std::int64_t row_ = 0;
};

} // namespace caisson::test
