// A model of a shedder.
#pragma once

#include <caisson/base/random.hpp>
#include <caisson/base/sip_hash.hpp>
#include <caisson/policies/shedder/shedder_config.hpp>
#include <caisson/policy/load_source.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

using namespace std::chrono_literals;

/// What a shedder does, from lists of all calls.
class naive_shedder {
public:
  naive_shedder(shedder_config c, duration start)
    : now(start), c_(std::move(c)), credit_at_(start) {}

  duration now;
  load_reading load = {.cpu = 0.0, .memory = 0.0};
  duration mailbox = 0ns;
  std::map<std::string, std::int64_t> count;
  double threshold = 0;

  bool lets_pass(std::int32_t priority, const std::string& key) {
    if (!awake_)
      begin();
    else
      follow(true);
    auto rank = std::clamp(priority, -16, 15) + 16;
    auto passes = key.empty() ? admits_any(rank) : admits(rank, group_of(key));
    if (threshold > 0) {
      fill();
      auto promised = credit_ >= 1s;
      if (promised)
        credit_ -= 1s;
      else if (passes)
        credit_ = 0s;
      if (!passes && !promised) {
        ++count[cause_];
        return false;
      }
    }
    ++count[passes ? "passed" : "passed_by_minimum"];
    ++in_flight_;
    return true;
  }

  // It has succeeded, was cut off, or neither.
  void end(duration begun, bool ok, bool cut_off) {
    --in_flight_;
    ++count[cut_off ? "abandoned" : "finished"];
    auto least = ok ? std::nullopt : shortest();
    if (ok || (cut_off && !(least && to_seconds(now - begun) < *least)))
      timed_.push_back({now, now - begun});
    if (ok)
      successes_.push_back({now, now - begun});
  }

  // At each instant at which something is due.
  void advance_to(duration end) {
    while (awake_ && next() <= end) {
      now = std::max(now, next());
      follow(false);
    }
    now = end;
  }

  void reconfigure(const shedder_config& c) {
    fill();
    auto forgets = step(c.history) != step(c_.history)
                   || step(c.baseline) != step(c_.baseline);
    c_ = c;
    credit_ = std::min<duration>(credit_, c_.minimum * 1s);
    if (forgets)
      forget_times();
    if (!reads())
      load_ = unread;
    if (c_.max_mailbox_delay == 0ns)
      forget_mailbox();
    if (!awake_)
      return;
    window_end_ = window_begin_ + window();
    if (sample_at_ == duration::max())
      sample_at_ = now;
    sample_at_ = looks() ? std::min(sample_at_, now + c_.sample)
                         : duration::max();
  }

  void reset() {
    threshold = 0;
    count.clear();
    credit_ = c_.minimum * 1s;
    credit_at_ = now;
    forget_times();
    forget_mailbox();
  }

private:
  static constexpr load_reading unread = {.cpu = -1.0, .memory = -1.0};

  struct seen {
    int rank;
    int group; // -1: none
  };
  struct ended {
    duration at;
    duration took;
  };

  static duration step(duration x) { return (x + 19ns) / 20; }
  [[nodiscard]] bool reads() const {
    return c_.max_cpu > 0 || c_.max_memory > 0;
  }
  [[nodiscard]] bool looks() const {
    return reads() || c_.max_mailbox_delay > 0ns;
  }

  // -- calls ------------------------------------------------------------------

  // Of 128, the calls with a key and a hash.
  int group_of(const std::string& key) {
    if (!secret_)
      secret_ = same_.bits();
    auto hour = static_cast<std::uint64_t>(now / 1h);
    return static_cast<int>(detail::sip_hash({*secret_, hour}, key) % 128);
  }

  bool admits(int rank, int group) {
    window_.push_back({rank, group});
    auto level = rank * 128 + group;
    return parts_users_ ? above(level) : level >= threshold;
  }

  bool admits_any(int rank) {
    window_.push_back({rank, -1});
    if (rank * 128 >= threshold)
      return true;
    if (rank * 128 + 127 < threshold - 1)
      return false;
    return above(rank * 128 + static_cast<int>(same_.below(128)));
  }

  // The threshold is between two levels if the lower one passes in part.
  bool above(int level) {
    if (level >= threshold)
      return true;
    return level > threshold - 1 && same_.uniform() < level + 1 - threshold;
  }

  // How many calls each level had, the others spread evenly, with all above it.
  void sum_up() {
    std::vector<double> had(4097);
    for (const auto& x : window_)
      for (int g = 0; g < 128; ++g)
        if (x.group == g || x.group < 0)
          had[at(x.rank * 128 + g)] += x.group == g ? 1 : 1.0 / 128;
    above_.assign(4097, 0);
    for (int i = 4095; i >= 0; --i)
      above_[at(i)] = above_[at(i + 1)] + had[at(i)];
  }

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  // How many would pass; between two levels, a part of the lower one.
  [[nodiscard]] double passing(double t) const {
    auto up = static_cast<int>(std::ceil(t));
    auto sum = above_[at(up)];
    return up > 0 ? sum + (up - t) * (above_[at(up - 1)] - sum) : sum;
  }

  // Where `wanted` calls pass, at most: between levels if one is heavy.
  [[nodiscard]] double place(double wanted) const {
    int t = 0;
    while (above_[at(t)] > wanted + 1e-6)
      ++t;
    return t == 0 ? 0 : t - std::max(0.0, wanted - above_[at(t)]) / below(t);
  }

  // How many calls had the level below.
  [[nodiscard]] double below(int t) const {
    return above_[at(t - 1)] - above_[at(t)];
  }

  void move_to(double to) {
    threshold = to;
    auto t = static_cast<int>(std::ceil(to));
    parts_users_ = t > 0 && below(t) > 0.1 * wanted_;
  }

  // -- windows ----------------------------------------------------------------

  void begin() {
    awake_ = true;
    window_.clear();
    timed_.clear();
    window_begin_ = now;
    window_end_ = now + window();
    look();
    probed_ = c_.max_mailbox_delay > 0ns;
  }

  [[nodiscard]] duration next() const {
    auto full = window_.size() >= c_.window_calls ? window_begin_ + c_.sample
                                                  : duration::max();
    return std::min({full, window_end_, sample_at_});
  }

  void follow(bool called) {
    if (now >= sample_at_) {
      look();
      ask_mailbox(called || !window_.empty());
    }
    if (now >= window_end_
        || (window_.size() >= c_.window_calls
            && now >= window_begin_ + c_.sample))
      end_window();
  }

  // What comes was asked for a sample ago.
  void ask_mailbox(bool has_calls) {
    if (c_.max_mailbox_delay == 0ns)
      return;
    if (has_calls && probed_)
      waits_.push_back(mailbox);
    probed_ = has_calls;
  }

  void forget_mailbox() {
    waits_.clear();
    probed_ = false;
  }

  void look() {
    sample_at_ = looks() ? now + c_.sample : duration::max();
    load_ = reads() ? load : unread;
  }

  [[nodiscard]] std::string signal() {
    // Measured in any case, as a window without answers keeps it.
    auto took_longer = delay();
    if (c_.max_memory > 0 && *load_.memory >= c_.max_memory)
      return "shed_memory";
    duration sum{};
    for (auto x : waits_)
      sum += x;
    if (!waits_.empty()
        && sum / static_cast<std::int64_t>(waits_.size())
             > c_.max_mailbox_delay)
      return "shed_mailbox";
    if (c_.max_delay > 0ns && took_longer > c_.max_delay)
      return "shed_delay";
    return c_.max_cpu > 0 && *load_.cpu >= c_.max_cpu ? "shed_cpu" : "";
  }

  [[nodiscard]] duration window() const {
    return looks() ? std::max(c_.window, c_.sample) : c_.window;
  }

  void end_window() {
    auto length = std::min(now - window_begin_, window());
    auto least = c_.minimum * to_seconds(length);
    auto why = signal();
    if (!window_.empty())
      sum_up();
    auto passed = window_.empty() ? wanted_ : passing(threshold);
    auto shed = threshold > 0;
    if (!window_.empty() && !why.empty()) {
      cause_ = why;
      ++count["tightened"];
      wanted_ = std::max(passed * (1 - c_.decrease), least);
      if (auto to = place(wanted_); to > threshold)
        move_to(to);
    } else if (shed) {
      ++count["relaxed"];
      if (!window_.empty())
        passed = std::max(passed, std::min(wanted_, above_[0]));
      wanted_ = std::max(passed * (1 + c_.increase), least);
      relax();
    }
    awake_ = !window_.empty() || threshold > 0;
    window_.clear();
    timed_.clear();
    waits_.clear();
    window_begin_ = now;
    window_end_ = now + window();
  }

  void relax() {
    auto to = wanted_ + 1e-6 >= above_[0] ? 0 : place(wanted_);
    if (to < threshold)
      move_to(to);
  }

  // -- times ------------------------------------------------------------------

  struct average {
    std::int64_t calls = 0;
    double time = 0;
  };

  // The mean of the window against the least mean of a step within `baseline`.
  [[nodiscard]] duration delay() {
    if (!timed_.empty())
      mean_ = average_of(timed_).time;
    else if (in_flight_ == 0)
      mean_ = 0;
    auto least = shortest();
    return least && mean_ ? from_seconds(*mean_ - *least) : 0ns;
  }

  [[nodiscard]] std::optional<double> shortest() const {
    std::map<std::int64_t, std::vector<ended>> steps;
    auto s = step(c_.history);
    for (const auto& x : successes_)
      if (x.at / s < now / s)
        steps[x.at / s].push_back(x);
    // Of each step of the baseline the best of the history's, and of these.
    auto b = step(c_.baseline);
    std::map<std::int64_t, average> best;
    std::map<std::int64_t, std::vector<ended>> together;
    for (const auto& [number, all] : steps) {
      auto to = number * s / b;
      best[to] = better(best[to], average_of(all));
      together[to].insert(together[to].end(), all.begin(), all.end());
    }
    std::erase_if(
      best, [&](const auto& x) { return x.first <= now / s * s / b - 20; });
    std::int64_t most = 0;
    for (const auto& [number, x] : best)
      most = std::max(most, x.calls);
    std::vector<ended> quiet;
    std::optional<double> least;
    for (const auto& [number, x] : best)
      if (x.calls >= most / 10)
        least = std::min(least.value_or(1e9), x.time);
      else
        quiet.insert(quiet.end(), together[number].begin(),
                     together[number].end());
    if (auto x = average_of(quiet); x.calls > 0 && x.calls >= most / 10)
      least = std::min(least.value_or(1e9), x.time);
    return least;
  }

  static average average_of(const std::vector<ended>& all) {
    double sum = 0;
    for (const auto& x : all)
      sum += to_seconds(x.took);
    auto n = static_cast<std::int64_t>(all.size());
    return {n, n > 0 ? sum / static_cast<double>(n) : 0};
  }

  // The shorter one, unless it is one of fewer calls than a tenth.
  static average better(average before, average x) {
    if (before.calls == 0 || before.calls < x.calls / 10)
      return x;
    if (x.calls < before.calls / 10)
      return before;
    return x.time < before.time ? x : before;
  }

  void forget_times() {
    successes_.clear();
    timed_.clear();
    mean_.reset();
  }

  void fill() {
    credit_ = now - credit_at_ >= 1s
                ? c_.minimum * 1s
                : std::min<duration>(credit_ + (now - credit_at_) * c_.minimum,
                                     c_.minimum * 1s);
    credit_at_ = now;
  }

  shedder_config c_;
  random_source same_{7};
  std::optional<std::uint64_t> secret_;
  load_reading load_;
  std::string cause_;
  bool awake_ = false;
  duration window_begin_ = 0ns;
  duration window_end_ = 0ns;
  duration sample_at_ = 0ns;
  std::vector<seen> window_;
  std::vector<double> above_;
  double wanted_ = 0;
  bool parts_users_ = false;
  std::int64_t in_flight_ = 0;
  std::vector<duration> waits_;
  bool probed_ = false;
  std::vector<ended> timed_;
  std::vector<ended> successes_;
  std::optional<double> mean_;
  duration credit_ = c_.minimum * 1s;
  duration credit_at_;
};

} // namespace caisson::test
