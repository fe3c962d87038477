#include <caisson/policies/deadline/limit_learner.hpp>

#include <support/operations.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using detail::limit_learner;

// Keeps every call, and goes through all of them for each question.
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

RC_GTEST_PROP(limit_learner, agrees_with_its_model, ()) {
  learned_limit c;
  c.on = true;
  c.quantile = *rc::gen::element(0.5, 0.9, 0.95, 0.999);
  c.factor = *rc::gen::element(1.0, 1.5, 100.0);
  c.deviations = *rc::gen::element(0.0, 2.0, 100.0);
  c.least = *rc::gen::element<duration>(1us, 1ms);
  c.most = *rc::gen::element<duration>(1ms, 1s, 24h * 365);
  c.window = *rc::gen::element<duration>(100ms, 10s, 24h);
  c.minimum_samples = *rc::gen::element(1u, 3u, 20u);
  constexpr std::array<duration, 8> lengths{0ns,  130ns, 1us, 900us,
                                            10ms, 11ms,  1s,  1h};
  auto otherwise = *rc::gen::element<duration>(1ms, 1s, unlimited);
  limit_learner real{c};
  limit_learner_model model{c};
  auto now = time_point{} + 1000h;
  for (auto& op : *operations(5)) {
    auto took = pick(lengths, op.how) * static_cast<int>(1 + op.which % 3);
    switch (op.kind) {
      case 0:
      case 1:
        real.succeeded(took, now);
        model.add(took, true, now);
        break;
      case 2:
        real.cut_off(took, now);
        model.add(took, false, now);
        break;
      case 3:
        now += c.window / static_cast<int>(1 + op.how % 60);
        break;
      case 4:
        now += real.period();
        RC_ASSERT(real.limit(now, otherwise) == model.limit(now, otherwise));
        break;
    }
  }
}

} // namespace
} // namespace caisson::test
