// A model of a degradation layer: keeps all results for ever, and looks at each
// of them each time.
#pragma once

#include <caisson/policies/degradation/degradation.hpp>

#include <support/against_model.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

/// A call that came at that instant.
struct dated_call : modelled_call {
  time_point begun{};
};

class degradation_model : public policy_model<degradation, dated_call> {
public:
  using strings = std::vector<std::string>;

  // `other`: an operator holds levels on or off.
  static constexpr step_shares shares{.arrive = 2,
                                      .end = 3,
                                      .abandon = 0,
                                      .advance = 2,
                                      .reconfigure = 0,
                                      .other = 1};

  explicit degradation_model(degradation_config c)
    : c_(std::move(c)), on_(c_.levels.size(), true) {}

  // -- what is drawn ----------------------------------------------------------

  static degradation_config any_settings() {
    using namespace std::chrono_literals;
    degradation_config c;
    auto share = [] { return any_of({0.25, 0.5, 0.8, 0.95, 1.0}); };
    c.levels = {{.name = "a", .min_success = share()},
                {.name = "b", .parent = "a", .min_success = share()},
                {.name = "c", .parent = "a", .min_success = share()},
                {.name = "d", .parent = "c", .min_success = share()},
                {.name = "e", .min_success = share()}};
    // Latency has its own tests: percentiles are not exact.
    for (auto& x : c.levels)
      x.max_latency = unlimited;
    c.window = any_of<duration>({1s, 10s, 61s});
    c.min_calls = any_of({1u, 5u, 20u});
    c.check_every = any_of<duration>({10ms, 700ms, 1s});
    c.patience = any_of<duration>({0s, 3s});
    c.recover_after = any_of<duration>({0s, 1s, 30s});
    c.recover_after_max = c.recover_after * any_of({1, 3, 100});
    c.recover_failures = any_of({0.0, 0.5, 1.0});
    return c;
  }

  static ending<> how_it_ends(const operation& x) {
    return x.how % 3 != 0 ? ending<>{outcome::success()}
                          : ending<>{outcome::failure(errc::worker_down, true)};
  }

  static duration length(const operation& x) {
    return std::chrono::milliseconds(x.how % 5 == 0 ? x.which * 50
                                                    : x.which / 10);
  }

  // -- what happens -----------------------------------------------------------

  void arrive(call_id id, const call_info&) { calls[id].begun = now; }

  void finish(call_id id, const ending<>& how) {
    auto& x = calls[id];
    x.where = place::passed;
    if (x.begun < from_)
      return;
    seen_.push_back({now, how.result.ok});
    if (look_ == never)
      look_ = now + c_.check_every;
  }

  static void abandon(call_id, errc) {}
  static void reconfigure(const degradation_config&) {}

  void advance_to(time_point end) {
    while (look_ <= end) {
      now = look_;
      look();
    }
  }

  void other(const operation& x, rig& real) {
    c_.held_off = pick(std::vector<strings>{{}, {}, {}, {"a"}, {"c", "e"}},
                       x.which);
    c_.held_on = x.how % 3 == 0 ? strings{"b"} : strings{};
    real.reconfigure(c_);
    for (std::size_t i = 0; i < on_.size(); ++i)
      on_[i] = on_[i] || held_off(i) || held_on(i);
  }

  // -- what is compared -------------------------------------------------------

  static bool knows(std::string_view) { return false; }

  void check(const rig& real) const {
    strings off;
    for (std::size_t i = 0; i < on_.size(); ++i)
      if (!is_on(i))
        off.push_back(c_.levels[i].name);
    std::sort(off.begin(), off.end());
    RC_ASSERT(real.policy.features_off() == off);
  }

private:
  struct entry {
    time_point at;
    bool ok;
  };

  [[nodiscard]] bool is_on(std::size_t i) const {
    auto above = parent(i);
    return !held_off(i) && (held_on(i) || on_[i])
           && (above < 0 || is_on(static_cast<std::size_t>(above)));
  }

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
  [[nodiscard]] std::int64_t bucket(time_point t) const {
    return t.time_since_epoch() / ((c_.window + duration{11}) / 12);
  }

  void look() {
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
      patient_until_ = now + (on ? duration::zero() : c_.patience);
      if (on) {
        back_ = now;
        return;
      }
      if (back_ != time_point::min())
        wait_ = now < back_ + wait_ ? std::min(2 * wait_, c_.recover_after_max)
                                    : c_.recover_after;
      back_ = time_point::min();
      wait_ = std::max(wait_, c_.recover_after);
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
    look_ = goes_on ? now + c_.check_every : never;
  }

  degradation_config c_;
  std::vector<bool> on_;
  std::vector<entry> seen_;
  time_point from_ = time_point::min();
  time_point patient_until_ = time_point::min();
  time_point well_since_ = now;
  time_point look_ = never;
  duration wait_ = duration::zero();
  time_point back_ = time_point::min();
};

} // namespace caisson::test
