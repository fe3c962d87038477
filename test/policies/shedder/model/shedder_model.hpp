// A model of a shedder: lists of all calls.
#pragma once

#include <caisson/base/random.hpp>
#include <caisson/base/sip_hash.hpp>

#include <policies/shedder/model/ended_calls.hpp>
#include <policies/shedder/model/shedder_rig.hpp>
#include <support/against_model.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

using namespace std::chrono_literals;

/// A call that came at that instant.
struct shed_call : modelled_call {
  duration begun{};
};

/// Counts time since the clock's zero.
class shedder_model : public policy_model<shedder, shed_call> {
public:
  using rig = shedder_rig;

  // `other`: the load and the mailbox change.
  static constexpr step_shares shares{.arrive = 9,
                                      .end = 4,
                                      .abandon = 2,
                                      .advance = 6,
                                      .command = 1,
                                      .other = 6};
  static constexpr int longest = 200; // Many calls come in each step.
  static constexpr bool wakes_around_changes = true;

  explicit shedder_model(shedder_config c) : c_(std::move(c)) {}

  // -- what is drawn ----------------------------------------------------------

  static shedder_config any_settings() {
    shedder_config c;
    c.max_cpu = any_of({0.0, 0.5, 0.9, 1.0});
    c.max_memory = any_of({0.0, 0.0, 1.0});
    // No difference that can come about: means are rounded.
    c.max_delay = any_of<duration>({0ns, 77'777ns, 9'512'345ns});
    c.max_mailbox_delay = any_of<duration>({0ns, 0ns, 5ms, 100ms});
    c.in_flight_factor = 0;
    c.sample = any_of<duration>({10ms, 250ms, 5s});
    c.window = any_of<duration>({10ms, 1s, 1min});
    c.window_calls = any_of({1u, 10u, 1'000'000u});
    c.decrease = any_of({0.001, 0.05, 0.5, 0.9});
    c.increase = any_of({0.001, 0.01, 0.3, 1.0});
    c.minimum = any_of({1u, 5u, 1'000'000u});
    c.history = any_of<duration>({1s, 10s});
    c.baseline = any_of<duration>({10s, 1min});
    return c;
  }

  static unsigned arrivals(const operation& x) { return 1 + x.how % 20; }

  static call_info arrival(const operation& x, unsigned i) {
    return important(static_cast<std::int32_t>((x.which + i) % 3) * 20 - 20,
                     x.which % 2 == 0 ? ""
                                      : "k" + std::to_string((x.how + i) % 7));
  }

  static unsigned ends(const operation&) { return 5; }

  static ending<> how_it_ends(const operation& x) {
    return x.how % 3 == 0 ? ending<>{outcome::failure(errc::worker_down, true)}
                          : ending<>{outcome::success()};
  }

  static duration length(const operation& x) {
    return one_of<duration>({0ns, 1ns, 1ms, 9ms, 10ms, 250ms, 1s - 1ns, 1s, 3s},
                            x.how);
  }

  // -- what happens -----------------------------------------------------------

  void arrive(call_id id, const call_info& call) {
    auto& x = calls[id];
    x.begun = clock_;
    if (!awake_)
      begin();
    else
      follow(true);
    auto rank = std::clamp(call.priority, -16, 15) + 16;
    auto passes = call.key.empty() ? admits_any(rank)
                                   : admits(rank, group_of(call.key));
    if (threshold_ > 0) {
      fill();
      auto promised = credit_ >= 1s;
      if (promised)
        credit_ -= 1s;
      else if (passes)
        credit_ = 0s;
      if (!passes && !promised) {
        ++count[cause_];
        return x.reject(errc::shed);
      }
    }
    ++count[passes ? "passed" : "passed_by_minimum"];
    ++in_flight_;
  }

  void finish(call_id id, const ending<>& how) {
    calls[id].where = place::passed;
    end(id, how.result.ok, false);
  }

  void abandon(call_id id, errc) { end(id, false, true); }

  // At each instant at which something is due.
  void advance_to(time_point end) {
    while (awake_ && next() <= since_zero(end)) {
      clock_ = std::max(clock_, next());
      follow(false);
    }
    clock_ = since_zero(end);
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
      sample_at_ = clock_;
    sample_at_ = looks() ? std::min(sample_at_, clock_ + c_.sample)
                         : duration::max();
  }

  void command(const policy_command&) {
    threshold_ = 0;
    count.clear();
    credit_ = c_.minimum * 1s;
    credit_at_ = clock_;
    forget_times();
    forget_mailbox();
  }

  void other(const operation& x, shedder_rig& real) {
    if (x.which % 3 == 0) {
      mailbox_ = one_of<duration>({0ns, 4ms, 5ms, 6ms, 100ms, 101ms}, x.how);
      real.e.mailbox = mailbox_;
      return;
    }
    auto share = [](unsigned n) {
      return one_of<double>({0, 0.3, 0.5, 0.9, 1, 1}, n);
    };
    present_load_ = {share(x.how), share(x.which / 3)};
    real.load->value = present_load_;
  }

  static void prepare(shedder_rig& real) {
    real.e.mailbox = real.e.mailbox.value_or(0ns);
  }

  static bool knows(std::string_view name) { return name != "unread"; }

  void measure() {
    count["threshold"] = static_cast<std::int64_t>(std::ceil(threshold_));
    count["in_flight"] = calls_at(place::below);
  }

private:
  static duration since_zero(time_point t) { return t.time_since_epoch(); }

  // It has succeeded, was cut off, or neither.
  void end(call_id id, bool ok, bool cut_off) {
    auto took = clock_ - calls[id].begun;
    --in_flight_;
    ++count[cut_off ? "abandoned" : "finished"];
    auto least = ok ? std::nullopt : shortest();
    if (ok || (cut_off && !(least && to_seconds(took) < *least)))
      timed_.push_back({clock_, took});
    if (ok)
      successes_.push_back({clock_, took});
  }

  static constexpr load_reading unread = {.cpu = -1.0, .memory = -1.0};

  struct seen {
    int rank;
    int group; // -1: none
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
    auto hour = static_cast<std::uint64_t>(clock_ / 1h);
    return static_cast<int>(detail::sip_hash({*secret_, hour}, key) % 128);
  }

  bool admits(int rank, int group) {
    window_.push_back({rank, group});
    auto level = rank * 128 + group;
    return parts_users_ ? above(level) : level >= threshold_;
  }

  bool admits_any(int rank) {
    window_.push_back({rank, -1});
    if (rank * 128 >= threshold_)
      return true;
    if (rank * 128 + 127 < threshold_ - 1)
      return false;
    return above(rank * 128 + static_cast<int>(same_.below(128)));
  }

  // The threshold_ is between two levels if the lower one passes in part.
  bool above(int level) {
    if (level >= threshold_)
      return true;
    return level > threshold_ - 1 && same_.uniform() < level + 1 - threshold_;
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
  [[nodiscard]] double place(double target) const {
    int t = 0;
    while (above_[at(t)] > target + 1e-6)
      ++t;
    return t == 0 ? 0 : t - std::max(0.0, target - above_[at(t)]) / below(t);
  }

  // How many calls had the level below.
  [[nodiscard]] double below(int t) const {
    return above_[at(t - 1)] - above_[at(t)];
  }

  void move_to(double to) {
    threshold_ = to;
    auto t = static_cast<int>(std::ceil(to));
    parts_users_ = t > 0 && below(t) > 0.1 * target_;
  }

  // -- windows ----------------------------------------------------------------

  void begin() {
    awake_ = true;
    window_.clear();
    timed_.clear();
    window_begin_ = clock_;
    window_end_ = clock_ + window();
    look();
    probed_ = c_.max_mailbox_delay > 0ns;
  }

  [[nodiscard]] duration next() const {
    auto full = window_.size() >= c_.window_calls ? window_begin_ + c_.sample
                                                  : duration::max();
    return std::min({full, window_end_, sample_at_});
  }

  void follow(bool called) {
    if (clock_ >= sample_at_) {
      look();
      ask_mailbox(called || !window_.empty());
    }
    if (clock_ >= window_end_
        || (window_.size() >= c_.window_calls
            && clock_ >= window_begin_ + c_.sample))
      end_window();
  }

  // What comes was asked for a sample ago.
  void ask_mailbox(bool has_calls) {
    if (c_.max_mailbox_delay == 0ns)
      return;
    if (has_calls && probed_)
      waits_.push_back(mailbox_);
    probed_ = has_calls;
  }

  void forget_mailbox() {
    waits_.clear();
    probed_ = false;
  }

  void look() {
    sample_at_ = looks() ? clock_ + c_.sample : duration::max();
    load_ = reads() ? present_load_ : unread;
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
    auto length = std::min(clock_ - window_begin_, window());
    auto least = c_.minimum * to_seconds(length);
    auto why = signal();
    if (!window_.empty())
      sum_up();
    auto passed = window_.empty() ? target_ : passing(threshold_);
    auto shed = threshold_ > 0;
    if (!window_.empty() && !why.empty()) {
      cause_ = why;
      ++count["tightened"];
      target_ = std::max(passed * (1 - c_.decrease), least);
      if (auto to = place(target_); to > threshold_)
        move_to(to);
    } else if (shed) {
      ++count["relaxed"];
      if (!window_.empty())
        passed = std::max(passed, std::min(target_, above_[0]));
      target_ = std::max(passed * (1 + c_.increase), least);
      relax();
    }
    awake_ = !window_.empty() || threshold_ > 0;
    window_.clear();
    timed_.clear();
    waits_.clear();
    window_begin_ = clock_;
    window_end_ = clock_ + window();
  }

  void relax() {
    auto to = target_ + 1e-6 >= above_[0] ? 0 : place(target_);
    if (to < threshold_)
      move_to(to);
  }

  // -- times ------------------------------------------------------------------

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
      if (x.at / s < clock_ / s)
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
      best, [&](const auto& x) { return x.first <= clock_ / s * s / b - 20; });
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

  void forget_times() {
    successes_.clear();
    timed_.clear();
    mean_.reset();
  }

  void fill() {
    credit_ = clock_ - credit_at_ >= 1s
                ? c_.minimum * 1s
                : std::min<duration>(credit_
                                       + (clock_ - credit_at_) * c_.minimum,
                                     c_.minimum * 1s);
    credit_at_ = clock_;
  }

  shedder_config c_;
  duration clock_ = since_zero(now);
  load_reading present_load_ = {.cpu = 0.0, .memory = 0.0};
  duration mailbox_ = 0ns;
  double threshold_ = 0;
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
  double target_ = 0;
  bool parts_users_ = false;
  std::int64_t in_flight_ = 0;
  std::vector<duration> waits_;
  bool probed_ = false;
  std::vector<ended> timed_;
  std::vector<ended> successes_;
  std::optional<double> mean_;
  duration credit_ = c_.minimum * 1s;
  duration credit_at_ = clock_;
};

} // namespace caisson::test
