// Settings of a canary, and its host, for tests of it.
#pragma once

#include <caisson/policies/canary/canary.hpp>

#include <support/rig.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test::canaries {

/// Few calls and short stages. Keys decide who goes where.
inline canary_config quick_canary() {
  using namespace std::chrono_literals;
  canary_config c;
  c.name = "canary";
  c.stages = {0.1, 0.5, 1.0};
  c.dwell = 10s;
  c.min_calls = 10;
  c.max_failures_in_a_row = 0;
  c.significance_level = 1;
  c.sticky = true;
  return c;
}

inline call_info marked(idempotence mark) {
  call_info c;
  c.idempotent = mark;
  return c;
}

/// A key whose calls go to the canary from that share on, at the latest, and
/// one whose calls do so at a larger share only.
struct key_pair {
  std::string canary;
  std::string baseline;
};

/// Those for all stages, but for a share of 1; without another stage there is
/// none for the baseline.
inline key_pair keys_for(const canary_config& c) {
  auto goes = [&](double share, const std::string& key) {
    canary_config one;
    one.name = c.name;
    one.sticky = true;
    one.stages = {share};
    rig<canary> scout{one};
    return scout.where(scout.arrive(of_key(key))) == place::redirected;
  };
  auto last = 0.0;
  for (const auto& x : c.stages)
    last = x.share < 1 ? x.share : last;
  auto found = [&](double share, bool to_canary) {
    for (int i = 0; i < 10'000; ++i)
      if (auto key = "k" + std::to_string(i); goes(share, key) == to_canary)
        return key;
    throw std::logic_error{"there is no such key"};
  };
  return {found(c.stages.front().share, true),
          last == 0 ? std::string{} : found(last, false)};
}

/// Hosts a canary. Contents are pointers to integers.
class canary_rig : public rig<canary> {
public:
  explicit canary_rig(canary_config c = quick_canary(), canary_host more = {})
    : rig(c, std::move(more)), keys(keys_for(c)) {}

  call_id to_canary(call_info call = {}) {
    call.key = keys.canary;
    auto id = arrive(std::move(call));
    EXPECT_EQ(where(id), place::redirected);
    return id;
  }

  call_id to_baseline(call_info call = {}) {
    call.key = keys.baseline;
    auto id = arrive(std::move(call));
    EXPECT_EQ(where(id), place::below);
    return id;
  }

  /// The next `n` calls take so long, and end like this.
  void canary_answers(int n, outcome o = outcome::success(),
                      duration took = duration::zero()) {
    finish_all(arrive_together(n, of_key(keys.canary)), o, took);
  }

  void baseline_answers(int n, outcome o = outcome::success(),
                        duration took = duration::zero()) {
    finish_all(arrive_together(n, of_key(keys.baseline)), o, took);
  }

  /// What was reported of states, as `from>to: why`.
  [[nodiscard]] std::vector<std::string> changes() const {
    std::vector<std::string> out;
    const std::string prefix = "state_changed:";
    for (std::size_t i = 0; i < e.reports.size(); ++i)
      if (e.reports[i].starts_with(prefix))
        out.push_back(e.reports[i].substr(prefix.size()) + ": " + e.details[i]);
    return out;
  }

  key_pair keys;

private:
  void finish_all(const std::vector<call_id>& ids, const outcome& o,
                  duration took) {
    advance(took);
    for (auto id : ids)
      finish(id, o);
  }
};

/// A failure that a worker may have had after it did its work.
inline outcome failed() {
  return outcome::failure(errc::worker_down, true);
}

} // namespace caisson::test::canaries
