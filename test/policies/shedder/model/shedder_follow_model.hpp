// A callee's last word, and the calls that were kept from it since.
#pragma once

#include <caisson/base/random.hpp>
#include <caisson/base/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace caisson::test {

using namespace std::chrono_literals;

/// Keeps each call. It is no model for `check_against_model`: a run starts from
/// two hundred calls in flight, which are answered in a fixed order.
class shedder_follow_model {
public:
  struct fate {
    bool goes = true;
    int stands_for = 0;
  };

  void on_threshold(duration now, int threshold) {
    if (time == 0ns)
      return;
    ++count["thresholds_received"];
    announcement_ = {threshold, now + time};
  }

  // `user` is 0 if the call has none; then one is drawn where it matters.
  fate arrive(duration now, int rank, int user, random_source& draws,
              std::uint8_t& drawn) {
    drawn = static_cast<std::uint8_t>(user);
    if (!announcement_) {
      ++count["passed"];
      return {};
    }
    std::vector<bool> sides;
    for (int i = 0; i < 128; ++i)
      sides.push_back(rank * 128 + i >= announcement_->threshold);
    auto mixed = std::count(sides.begin(), sides.end(), true) % 128 != 0;
    if (user == 0 && mixed)
      drawn = static_cast<std::uint8_t>(1 + draws.below(128));
    if (sides[drawn == 0 ? 0 : drawn - 1u]) {
      ++count["passed"];
      return {};
    }
    shed_at_.push_back(now);
    if (now < announcement_->end && shed_at_.size() < 16) {
      ++count["shed_early"];
      return {.goes = false};
    }
    if (now >= announcement_->end)
      announcement_.reset();
    auto n = static_cast<int>(shed_at_.size());
    shed_at_.clear();
    ++count["passed"];
    ++count["asked"];
    return {.stands_for = n};
  }

  void change(duration now, duration to) {
    time = to;
    if (time == 0ns)
      forget();
    else if (announcement_)
      announcement_->end = std::min(announcement_->end, now + time);
  }

  void forget() {
    announcement_.reset();
    shed_at_.clear();
  }

  duration time = 0ns;
  std::map<std::string, std::int64_t> count;

private:
  struct word {
    int threshold;
    duration end;
  };
  std::optional<word> announcement_;
  std::vector<duration> shed_at_;
};

} // namespace caisson::test
