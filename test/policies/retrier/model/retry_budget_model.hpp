// A second, simple retry budget for property tests.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/retry_budget.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace caisson::test {

/// Keeps every booking and adds up those that still count, each time anew.
/// `ttl` must be a whole number of milliseconds, `ratio` of millionths.
class retry_budget_model {
public:
  explicit retry_budget_model(retry_budget::limits l) : limits_(l) {}

  void deposit(time_point now) {
    book_.push_back({slice_at(now), millionths(limits_.ratio)});
  }

  bool try_withdraw(time_point now, std::uint32_t cost = 1) {
    if (balance(now) < cost)
      return false;
    book_.push_back({slice_at(now), cost * std::int64_t{-1'000'000}});
    return true;
  }

  void charge(time_point now, std::uint32_t cost) {
    auto slice = slice_at(now);
    auto left = std::max<std::int64_t>(millionths_in(slice), 0);
    book_.push_back({slice, -std::min(cost * std::int64_t{1'000'000}, left)});
  }

  std::int64_t balance(time_point now) { return left_in(slice_at(now)); }

  std::int64_t balance() const { return left_in(slice_of(latest_)); }

  void clear() { *this = retry_budget_model{limits_}; }

private:
  struct booking {
    std::int64_t slice;
    std::int64_t millionths;
  };

  static std::int64_t millionths(double ratio) {
    return static_cast<std::int64_t>(ratio * 1e6 + 0.5);
  }

  std::int64_t left_in(std::int64_t slice) const {
    return std::max<std::int64_t>(millionths_in(slice), 0) / 1'000'000;
  }

  std::int64_t millionths_in(std::int64_t slice) const {
    std::int64_t sum = limits_.reserve * (limits_.ttl.count() / 1'000'000)
                       * 1'000;
    for (auto& x : book_)
      if (x.slice > slice - 10)
        sum += x.millionths;
    return sum;
  }

  std::int64_t slice_at(time_point now) {
    if (!started_)
      first_ = latest_ = now;
    started_ = true;
    latest_ = std::max(latest_, now);
    return slice_of(latest_);
  }

  // Slices are counted from the first call on.
  std::int64_t slice_of(time_point t) const {
    return (t - first_) / (limits_.ttl / 10);
  }

  retry_budget::limits limits_;
  std::vector<booking> book_;
  bool started_ = false;
  time_point first_;
  time_point latest_;
};

} // namespace caisson::test
