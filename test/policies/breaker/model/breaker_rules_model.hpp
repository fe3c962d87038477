// The trip rules of a breaker, for comparison: every result is kept and counted
// anew for each question.
#pragma once

#include <policies/breaker/model/breaker_steps.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace caisson::test {

class breaker_rules_model {
public:
  using settings = breaker_model_settings;

  struct mark {
    time_point came;
    bool bad;
  };
  using marks = std::vector<mark>;

  explicit breaker_rules_model(settings s) : c(std::move(s)) {}

  void add(bool failed, time_point now) {
    run = failed ? run + 1 : 0;
    if (failed)
      failures.push_back(now);
    results.push_back({now, failed});
    recent.push_back({now, failed});
  }

  void add_pace(bool slow, time_point now) { paces.push_back({now, slow}); }

  void clear() {
    run = 0;
    failures.clear();
    results.clear();
    recent.clear();
    paces.clear();
  }

  bool trips(time_point now) const {
    std::vector<bool> holds;
    auto threshold = static_cast<std::int64_t>(c.base.threshold);
    auto at_least = [](const marks& m, std::int64_t minimum,
                       std::int64_t permille) {
      auto total = static_cast<std::int64_t>(m.size());
      return total >= minimum && bad(m) * 1000 >= permille * total;
    };
    if (c.has(breaker_trip::consecutive))
      holds.push_back(run >= threshold);
    if (c.has(breaker_trip::without_gap))
      holds.push_back(failures_without_gap(now) >= threshold);
    if (c.has(breaker_trip::rate_by_count))
      holds.push_back(at_least(last(results), minimum(true), c.permille));
    if (c.has(breaker_trip::rate_by_time))
      holds.push_back(at_least(young(recent, now), minimum(false), c.permille));
    if (c.timed())
      holds.push_back(at_least(pace(now), slow_minimum(), c.slow_permille));
    auto n = std::count(holds.begin(), holds.end(), true);
    return c.base.trip_if == breaker_join::any
             ? n > 0
             : n == static_cast<std::ptrdiff_t>(holds.size());
  }

  /// A share that is not rounded.
  struct fraction {
    std::int64_t part = 0;
    std::int64_t of = 1;

    bool operator<(const fraction& x) const {
      return part * x.of < x.part * of;
    }
  };

  /// How much there is of a rate that opens, 0 if none is known: the largest
  /// share if any opens, otherwise the least.
  fraction nearness(time_point now) const {
    std::vector<fraction> found;
    auto note = [&](const marks& m, std::int64_t least, std::int64_t permille) {
      auto total = static_cast<std::int64_t>(m.size());
      auto known = total > 0 && total >= least;
      found.push_back(known ? fraction{bad(m) * 1000, total * permille}
                            : fraction{});
    };
    if (c.has(breaker_trip::rate_by_count))
      note(last(results), minimum(true), c.permille);
    if (c.has(breaker_trip::rate_by_time))
      note(young(recent, now), minimum(false), c.permille);
    if (c.timed())
      note(pace(now), slow_minimum(), c.slow_permille);
    if (found.empty())
      return {};
    auto any = c.base.trip_if == breaker_join::any;
    return any ? *std::max_element(found.begin(), found.end())
               : *std::min_element(found.begin(), found.end());
  }

  /// What goes on to count under the settings `s`.
  void reconfigure(const settings& s, time_point now) {
    if (!c.has(breaker_trip::consecutive))
      run = 0;
    // The gaps so far have been judged under the old settings.
    auto k = c.has(breaker_trip::without_gap) ? failures_without_gap(now) : 0;
    failures.assign(static_cast<std::size_t>(k),
                    failures.empty() ? time_point{} : failures.back());
    auto by_count = [&](marks m) {
      m = last(m);
      if (m.size() > s.base.window_calls)
        m.erase(m.begin(),
                m.end() - static_cast<std::ptrdiff_t>(s.base.window_calls));
      return m;
    };
    results = c.has(breaker_trip::rate_by_count) ? by_count(results) : marks{};
    recent = c.has(breaker_trip::rate_by_time) ? moved(recent, s, now)
                                               : marks{};
    paces = c.slow_by_count() && s.slow_by_count() ? by_count(paces)
            : c.slow_by_time() && s.slow_by_time() ? moved(paces, s, now)
                                                   : marks{};
    c = s;
    if (!c.has(breaker_trip::without_gap))
      failures.clear();
    if (!c.has(breaker_trip::rate_by_count))
      results.clear();
    if (!c.has(breaker_trip::rate_by_time))
      recent.clear();
  }

  void gauges(std::map<std::string, std::int64_t>& out, time_point now) const {
    auto permille = [](const marks& m, std::int64_t minimum) {
      auto total = static_cast<std::int64_t>(m.size());
      return total >= minimum ? bad(m) * 1000 / total : -1;
    };
    auto timed = c.has(breaker_trip::rate_by_time);
    auto counted = c.has(breaker_trip::rate_by_count) && !timed;
    auto shown = timed ? young(recent, now) : counted ? last(results) : marks{};
    out["failure_streak"] = std::max<std::int64_t>(
      c.has(breaker_trip::consecutive) ? run : 0,
      c.has(breaker_trip::without_gap) ? failures_without_gap(now) : 0);
    out["window_total"] = static_cast<std::int64_t>(shown.size());
    out["failure_rate_permille"] = permille(shown, minimum(counted));
    out["slow_rate_permille"] = c.timed() ? permille(pace(now), slow_minimum())
                                          : -1;
    out["score_permille"] = -1;
  }

  settings c;

private:
  std::int64_t minimum(bool by_count) const {
    return by_count ? std::min(c.base.minimum_calls, c.base.window_calls)
                    : c.base.minimum_calls;
  }

  std::int64_t slow_minimum() const {
    if (c.base.slow_minimum_calls == 0)
      return minimum(c.slow_by_count());
    return c.slow_by_count()
             ? std::min(c.base.slow_minimum_calls, c.base.window_calls)
             : c.base.slow_minimum_calls;
  }

  static std::int64_t bad(const marks& m) {
    return std::count_if(m.begin(), m.end(), [](auto& x) { return x.bad; });
  }

  std::int64_t failures_without_gap(time_point now) const {
    std::int64_t k = 0;
    for (auto f = failures.rbegin(); f != failures.rend(); now = *f++, ++k)
      if (now >= time_after(*f, c.base.quiet_period))
        break;
    return k;
  }

  static std::int64_t width(const settings& s) {
    std::int64_t buckets = s.base.window_buckets;
    return (s.base.window_time.count() + buckets - 1) / buckets;
  }

  static std::int64_t bucket(const settings& s, time_point t) {
    return t.time_since_epoch().count() / width(s);
  }

  static bool expired(const settings& s, time_point came, time_point now) {
    return bucket(s, now) - bucket(s, came) >= s.base.window_buckets;
  }

  marks last(const marks& m) const {
    auto k = std::min<std::size_t>(m.size(), c.base.window_calls);
    return {m.end() - static_cast<std::ptrdiff_t>(k), m.end()};
  }

  marks young(const marks& m, time_point now) const {
    marks out;
    for (auto& x : m)
      if (!expired(c, x.came, now))
        out.push_back(x);
    return out;
  }

  marks pace(time_point now) const {
    return c.slow_by_count() ? last(paces) : young(paces, now);
  }

  // To the buckets of other settings.
  marks moved(const marks& m, const settings& s, time_point now) const {
    auto same = width(s) == width(c)
                && s.base.window_buckets == c.base.window_buckets;
    marks out;
    for (auto x : young(m, now)) {
      if (!same)
        x.came = time_point{duration{bucket(c, x.came) * width(c)}};
      if (same || !expired(s, x.came, now))
        out.push_back(x);
    }
    return out;
  }

  std::int64_t run = 0;
  std::vector<time_point> failures;
  marks results; // for the window of calls
  marks recent;  // for the window of time
  marks paces;
};

} // namespace caisson::test
