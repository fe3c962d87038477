#include <caisson/policies/deadline/limit_learner.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

namespace caisson::detail {

namespace {

// The window moves on by a fifth of its length.
constexpr std::size_t steps = 5;

// What is known of how long calls take, in nanoseconds.
struct estimate {
  // Nothing if too many were cut off: it is beyond all that was seen.
  std::optional<double> quantile;
  // How many calls it is drawn from: those still in flight just before it.
  double lasted = 0;
  double deviation = 0;
  double longest = 0;
};

constexpr double quantile_rounding = 1e-9;

// Kaplan and Meier's estimate: bucket by bucket, the share of the calls still
// in flight that end in it. What is cut off in a bucket outlasts it.
class survival {
public:
  survival(const histogram& done, const histogram& cut)
    : done_(done), cut_(cut), longest_(std::max(done.max(), cut.max())) {}

  estimate run(double q) {
    estimate out;
    auto in_flight = done_.count() + cut_.count();
    for (std::size_t i = 0; i < done_.counts().size() && in_flight > 0; ++i) {
      std::uint64_t ended = done_.counts()[i];
      if (ended > 0) {
        auto share = left_ * static_cast<double>(ended)
                     / static_cast<double>(in_flight);
        left_ -= share;
        add(share, end_of(i));
        if (!out.quantile && 1 - left_ >= q - quantile_rounding) {
          out.quantile = end_of(i);
          out.lasted = static_cast<double>(in_flight);
        }
      }
      in_flight -= ended + cut_.counts()[i];
    }
    out.longest = static_cast<double>(longest_.count());
    add(left_, out.longest);
    out.deviation = deviation();
    return out;
  }

private:
  // Every call of bucket `i` takes less. The last one has no end.
  [[nodiscard]] double end_of(std::size_t i) const {
    auto last = histogram::end_of(i);
    return static_cast<double>((last < unlimited ? last : longest_).count())
           + 1;
  }

  void add(double share, double ns) {
    mean_ += share * ns;
    squares_ += share * ns * ns;
  }

  [[nodiscard]] double deviation() const {
    return std::sqrt(std::max(squares_ - mean_ * mean_, 0.0));
  }

  const histogram& done_;
  const histogram& cut_;
  duration longest_;
  double left_ = 1;
  double mean_ = 0;
  double squares_ = 0;
};

// So that it reads well: 240ms rather than 239876543ns.
duration rounded_up(duration d) {
  using namespace std::chrono;
  if (d < milliseconds(100))
    return ceil<microseconds>(d);
  return ceil<milliseconds>(d);
}

} // namespace

limit_learner::limit_learner(const learned_limit& c)
  : config_(c), done_(c.window, steps) {}

void limit_learner::reconfigure(const learned_limit& c) {
  if (c.window != config_.window) {
    *this = limit_learner{c};
    return;
  }
  config_ = c;
  computed_ = time_point::min();
}

void limit_learner::succeeded(duration d, time_point now) {
  done_.record(d, now);
}

void limit_learner::cut_off(duration d, time_point now) {
  if (!cut_)
    cut_.emplace(config_.window, steps);
  cut_->record(d, now);
}

std::optional<duration> limit_learner::limit(time_point now,
                                             duration otherwise) {
  if (now < time_after(computed_, period()) && now >= computed_)
    return last_;
  computed_ = now;
  done_.roll(now);
  if (cut_)
    cut_->roll(now);
  if (samples() < config_.minimum_samples)
    last_.reset();
  else
    last_ = compute(last_.value_or(otherwise));
  CAISSON_ENSURE(!last_ || (*last_ >= config_.least && *last_ <= config_.most),
                 "a limit of {}, from {} to {}", *last_, config_.least,
                 config_.most);
  return last_;
}

duration limit_learner::compute(duration in_force) const {
  auto x = survival{done_.merged(), cut_ ? cut_->merged() : histogram{}}.run(
    config_.quantile);
  auto beyond = 2 * x.longest;
  // So many are left there if nobody is cut off before.
  auto enough = config_.minimum_samples * (1 - config_.quantile)
                - quantile_rounding;
  // Calls with less time than the limit gives say nothing about it, and what
  // those say that are left is chance if they are few.
  if (in_force > duration::zero()
      && (x.quantile ? x.lasted < enough
                     : beyond < static_cast<double>(in_force.count())))
    return std::clamp(in_force, config_.least, config_.most);
  auto ns = config_.factor * x.quantile.value_or(beyond)
            + config_.deviations * x.deviation;
  // Beyond a year it is `most` anyway.
  auto most = static_cast<double>(config_.most.count());
  auto d = duration{static_cast<duration::rep>(std::min(ns, most))};
  return std::clamp(rounded_up(d), config_.least, config_.most);
}

void limit_learner::clear() {
  done_.clear();
  cut_.reset();
  last_.reset();
  computed_ = time_point::min();
}

} // namespace caisson::detail
