#include <caisson/policies/degradation/degradation.hpp>

#include <support/operations.hpp>
#include <support/solo.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// Keeps all results for ever, and looks at each of them each time.
class degradation_model {
public:
  explicit degradation_model(degradation_config c) : c_(std::move(c)) {
    for (std::size_t i = 0; i < c_.levels.size(); ++i)
      on_.push_back(true);
  }

  void result(duration begun, bool ok, duration now) {
    if (begun < from_)
      return;
    seen_.push_back({now, ok});
    if (look_ == duration::max())
      look_ = now + c_.check_every;
  }

  void advance_to(duration end) {
    while (look_ <= end)
      look(look_);
  }

  [[nodiscard]] bool is_on(std::size_t i) const {
    auto above = parent(i);
    return !held_off(i) && (held_on(i) || on_[i])
           && (above < 0 || is_on(static_cast<std::size_t>(above)));
  }

  [[nodiscard]] strings off() const {
    strings out;
    for (std::size_t i = 0; i < on_.size(); ++i)
      if (!is_on(i))
        out.push_back(c_.levels[i].name);
    std::sort(out.begin(), out.end());
    return out;
  }

  void hold(strings off, strings on) {
    c_.held_off = std::move(off);
    c_.held_on = std::move(on);
    for (std::size_t i = 0; i < on_.size(); ++i)
      on_[i] = on_[i] || held_off(i) || held_on(i);
  }

private:
  struct entry {
    duration at;
    bool ok;
  };

  static bool has(const strings& xs, const std::string& x) {
    return std::find(xs.begin(), xs.end(), x) != xs.end();
  }
  [[nodiscard]] bool held_off(std::size_t i) const {
    return has(c_.held_off, c_.levels[i].name);
  }
  [[nodiscard]] bool held_on(std::size_t i) const {
    return has(c_.held_on, c_.levels[i].name);
  }

  [[nodiscard]] int parent(std::size_t i) const {
    for (std::size_t k = 0; k < c_.levels.size(); ++k)
      if (c_.levels[k].name == c_.levels[i].parent)
        return static_cast<int>(k);
    return -1;
  }

  [[nodiscard]] int depth(std::size_t i) const {
    auto above = parent(i);
    return above < 0 ? 0 : 1 + depth(static_cast<std::size_t>(above));
  }

  // Twelve buckets, which begin at multiples of their length on the host's
  // clock.
  [[nodiscard]] std::int64_t bucket(duration t) const {
    auto width = (c_.window.count() + 11) / 12;
    return (t + solo<degradation>::start().time_since_epoch()).count() / width;
  }

  void look(duration now) {
    std::int64_t good = 0;
    std::int64_t all = 0;
    for (const auto& x : seen_)
      if (bucket(now) - bucket(x.at) < 12) {
        ++all;
        good += x.ok ? 1 : 0;
      }
    auto known = all >= c_.min_calls;
    auto share = [&](std::int64_t n) {
      return static_cast<double>(n) / static_cast<double>(all);
    };
    auto down = -1;
    auto up = -1;
    for (auto i = 0; i < static_cast<int>(on_.size()); ++i) {
      auto k = static_cast<std::size_t>(i);
      const auto& x = c_.levels[k];
      if (known && share(good) < x.min_success && is_on(k) && !held_on(k)
          && (down < 0 || depth(k) >= depth(static_cast<std::size_t>(down))))
        down = i;
      if (!on_[k] && (up < 0 || depth(k) < depth(static_cast<std::size_t>(up))))
        up = i;
    }
    auto well = up >= 0
                && (!known
                    || share(all - good)
                         <= (1
                             - c_.levels[static_cast<std::size_t>(up)]
                                 .min_success)
                              * c_.recover_failures);
    if (!well)
      well_since_ = now;
    auto flip = [&](int i, bool on) {
      on_[static_cast<std::size_t>(i)] = on;
      seen_.clear();
      all = 0;
      from_ = well_since_ = now;
      patient_until_ = now + (on ? 0s : c_.patience);
      if (!on)
        wait_ = back_ != duration::min() && now < back_ + wait_
                  ? std::min(2 * wait_, c_.recover_after_max)
                  : c_.recover_after;
      else
        back_ = now;
    };
    if (down >= 0) {
      if (now >= patient_until_)
        flip(down, false);
    } else if (up >= 0 && now >= well_since_ + wait_) {
      flip(up, true);
    }
    auto goes_on = all > 0;
    for (auto x : on_)
      goes_on = goes_on || !x;
    look_ = goes_on ? now + c_.check_every : duration::max();
  }

  degradation_config c_;
  std::vector<bool> on_;
  std::vector<entry> seen_;
  duration from_ = duration::min();
  duration patient_until_ = duration::min();
  duration well_since_ = duration::zero();
  duration look_ = duration::max();
  duration wait_ = duration::zero();
  duration back_ = duration::min();
};

degradation_config some_degradation() {
  degradation_config c;
  auto share = [] { return *rc::gen::element(0.25, 0.5, 0.8, 0.95, 1.0); };
  c.levels = {{.name = "a", .min_success = share()},
              {.name = "b", .parent = "a", .min_success = share()},
              {.name = "c", .parent = "a", .min_success = share()},
              {.name = "d", .parent = "c", .min_success = share()},
              {.name = "e", .min_success = share()}};
  // Latency has its own tests: percentiles are not exact.
  for (auto& x : c.levels)
    x.max_latency = unlimited;
  c.window = *rc::gen::element<duration>(1s, 10s, 61s);
  c.min_calls = *rc::gen::element(1u, 5u, 20u);
  c.check_every = *rc::gen::element<duration>(10ms, 700ms, 1s);
  c.patience = *rc::gen::element<duration>(0s, 3s);
  c.recover_after = *rc::gen::element<duration>(0s, 1s, 30s);
  c.recover_after_max = c.recover_after * *rc::gen::element(1, 3, 100);
  c.recover_failures = *rc::gen::element(0.0, 0.5, 1.0);
  return c;
}

RC_GTEST_PROP(degradation_property, switches_as_the_model_does, ()) {
  auto c = some_degradation();
  degradation_model expected{c};
  solo<degradation> real{c};
  std::vector<std::pair<call_id, duration>> below;
  for (const auto& op : *operations(8)) {
    switch (op.kind) {
      case 0:
      case 1:
        below.emplace_back(real.arrive(), real.now());
        break;
      case 2:
      case 3:
      case 4:
        if (!below.empty()) {
          auto [id, begun] = pick(below, op.which);
          std::erase_if(below, [id = id](auto& x) { return x.first == id; });
          auto ok = op.how % 3 != 0;
          expected.result(begun, ok, real.now());
          ok ? real.finish(id) : real.fail(id);
        }
        break;
      case 5:
      case 6: {
        auto t = real.now()
                 + std::chrono::milliseconds(op.how % 5 == 0 ? op.which * 50
                                                             : op.which / 10);
        real.advance_to(t);
        expected.advance_to(t);
        break;
      }
      default: {
        static const std::vector<strings> hands{{}, {}, {}, {"a"}, {"c", "e"}};
        auto next = c;
        next.held_off = pick(hands, op.which);
        next.held_on = op.how % 3 == 0 ? strings{"b"} : strings{};
        real.policy.reconfigure(next, real.e);
        expected.hold(next.held_off, next.held_on);
      }
    }
    RC_ASSERT(real.policy.features_off() == expected.off());
  }
}

} // namespace
} // namespace caisson::test
