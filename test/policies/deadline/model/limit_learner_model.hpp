// A learned limit that keeps every call.
#pragma once

#include <caisson/base/histogram.hpp>
#include <caisson/policies/deadline/limit_learner.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace caisson::test {

using namespace std::chrono_literals;

/// Goes through all calls for each question.
class limit_learner_model {
public:
  explicit limit_learner_model(const learned_limit& c) : config_(c) {}

  void add(duration took, bool done, time_point now) {
    newest_ = std::max(newest_, number_of(now));
    // All in a bucket of the histogram count as its end.
    calls_.push_back({newest_, histogram::bucket_end(took), took, done});
  }

  // Nothing if too few are known.
  std::optional<duration> limit(time_point now, duration otherwise) {
    auto in_force = std::exchange(last_, std::nullopt).value_or(otherwise);
    newest_ = std::max(newest_, number_of(now));
    std::erase_if(calls_, [&](const call& x) { return x.step + 5 <= newest_; });
    if (calls_.size() < config_.minimum_samples)
      return std::nullopt;
    auto quantile = -1.0;
    auto mean = 0.0;
    auto squares = 0.0;
    auto left = 1.0;
    auto add = [&](double share, double ns) {
      mean += share * ns;
      squares += share * ns * ns;
    };
    auto longest = 0.0;
    auto from = 0.0;
    for (auto& x : calls_)
      longest = std::max(longest, static_cast<double>(x.took.count()));
    for (auto end : ends()) {
      auto here = [&](const call& x) { return x.end == end; };
      auto ended = count([&](auto& x) { return x.done && here(x); });
      auto lasted = count([&](auto& x) { return x.end >= end; });
      auto share = left * ended / lasted;
      left -= share;
      // The last bucket has no end.
      auto ns = end < unlimited ? static_cast<double>(end.count()) : longest;
      add(share, ns + 1);
      if (quantile < 0 && left <= 1 - config_.quantile + 1e-9) {
        quantile = ns + 1;
        from = lasted;
      }
    }
    add(left, longest);
    auto is_chance = quantile < 0
                       ? 2 * longest < static_cast<double>(in_force.count())
                       : from < config_.minimum_samples * (1 - config_.quantile)
                                  - 1e-9;
    if (is_chance)
      return last_ = std::clamp(in_force, config_.least, config_.most);
    if (quantile < 0)
      quantile = 2 * longest;
    auto deviation = std::sqrt(std::max(squares - mean * mean, 0.0));
    return last_ = bounded(config_.factor * quantile
                           + config_.deviations * deviation);
  }

private:
  struct call {
    std::int64_t step;
    duration end;
    duration took;
    bool done;
  };

  std::int64_t number_of(time_point t) const {
    auto length = config_.window.count() / 5;
    return t.time_since_epoch().count() / length;
  }

  template <class F>
  double count(F f) const {
    return static_cast<double>(std::count_if(calls_.begin(), calls_.end(), f));
  }

  // When calls that succeeded have ended.
  std::vector<duration> ends() const {
    std::vector<duration> out;
    for (auto& x : calls_)
      if (x.done)
        out.push_back(x.end);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  duration bounded(double ns) const {
    auto d = duration{static_cast<std::int64_t>(
      std::min(ns, static_cast<double>(config_.most.count())))};
    auto unit = d < 100ms ? duration{1us} : duration{1ms};
    d = (d + unit - 1ns) / unit * unit;
    return std::min(std::max(d, config_.least), config_.most);
  }

  learned_limit config_;
  std::vector<call> calls_;
  std::optional<duration> last_;
  std::int64_t newest_ = 0;
};

} // namespace caisson::test
