// A model of a throttle: a list of all calls that have ended.
#pragma once

#include <caisson/policies/throttle.hpp>

#include <support/against_model.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

class throttle_model : public policy_model<throttle> {
public:
  enum class means { accepted, refused, nothing };

  static constexpr step_shares shares{.arrive = 6,
                                      .end = 6,
                                      .abandon = 2,
                                      .advance = 4,
                                      .reconfigure = 1,
                                      .command = 1};

  explicit throttle_model(throttle_config c) : c_(std::move(c)) {}

  // -- what is drawn ----------------------------------------------------------

  static throttle_config any_settings() {
    using namespace std::chrono_literals;
    throttle_config c;
    c.window = any_of<duration>({1s, 24s, 2min, 24h});
    c.multiplier = any_of({1.0, 1.5, 2.0, 100.0});
    c.max_rejection = any_of({0.0, 0.5, 0.8, 0.99});
    c.min_rate = any_of({0u, 1u, 3u, 1'000'000u});
    c.pass_after = any_of<duration>({1ms, 1s, unlimited});
    return c;
  }

  static unsigned arrivals(const operation& x) { return 1 + x.how % 4; }

  static ending<means> how_it_ends(const operation& x) {
    return one_of<ending<means>>(
      {{outcome::success(), means::accepted},
       {outcome::failure(errc::shed, false), means::refused},
       {outcome::failure(errc::shed, false), means::refused},
       {outcome::failure(errc::draining, false), means::nothing}},
      x.how);
  }

  static errc why_it_leaves(const operation& x) {
    return one_of({errc::deadline_exceeded, errc::cancelled}, x.how);
  }

  static duration length(const operation& x) {
    using namespace std::chrono_literals;
    return one_of<duration>(
      {0ns, 1ns, 1ms, 41'666'667ns, 333ms, 1s - 1ns, 1s, 5s, 1min}, x.how);
  }

  // -- what happens -----------------------------------------------------------

  void arrive(call_id id, const call_info&) {
    auto& x = calls[id];
    auto p = rejection();
    if (p == 0)
      return passes("passed");
    auto lucky = same_.uniform() >= p;
    auto promised = c_.min_rate > 0 && credit_ >= 1'000'000'000;
    if (lucky || promised) {
      credit_ = std::max<std::int64_t>(0, credit_ - 1'000'000'000);
      return passes(lucky ? "passed" : "passed_by_rate");
    }
    if (c_.pass_after != unlimited && now - last_pass_ >= c_.pass_after)
      return passes("forced");
    ++count["rejected"];
    ended_.push_back({now, false});
    last_rejection_ = now;
    throttling_ = true;
    x.reject(errc::throttled);
  }

  void finish(call_id id, const ending<means>& how) {
    calls[id].where = place::passed;
    if (how.meaning == means::nothing)
      ++count["ignored"];
    else
      end(how.meaning == means::accepted);
  }

  // Cut off by its deadline, or called off.
  void abandon(call_id, errc why) {
    ++count["abandoned"];
    if (why == errc::deadline_exceeded)
      end(false);
    else
      ++count["ignored"];
  }

  void advance_to(time_point t) {
    credit_ = with_rate(credit_, t - now);
    now = t;
    if (throttling_ && now - last_rejection_ >= step())
      throttling_ = false;
  }

  void reconfigure(const throttle_config& c) {
    auto before = step();
    auto old_now = number(now);
    auto then = [&](time_point t) { return t.time_since_epoch() / before; };
    c_ = c;
    credit_ = std::min(credit_, full());
    if (step() == before)
      return;
    // What a step holds counts from its beginning now.
    std::vector<event> kept;
    for (auto x : ended_)
      if (old_now - then(x.at) < 24)
        kept.push_back({time_point{then(x.at) * before}, x.accepted});
    ended_ = kept;
  }

  void command(const policy_command&) {
    ended_.clear();
    count.clear();
    throttling_ = false;
    credit_ = full();
  }

  [[nodiscard]] std::string_view state() const {
    return throttling_ ? "throttling" : "passing";
  }

private:
  struct event {
    time_point at;
    bool accepted;
  };

  // How long a step is, rounded up.
  [[nodiscard]] duration step() const {
    return (c_.window + duration{23}) / 24;
  }

  [[nodiscard]] std::int64_t number(time_point t) const {
    return t.time_since_epoch() / step();
  }

  [[nodiscard]] double rejection() const {
    double requests = 0;
    double accepts = 0;
    for (const auto& x : ended_)
      if (number(now) - number(x.at) < 24) {
        ++requests;
        accepts += x.accepted ? 1 : 0;
      }
    auto p = (requests - c_.multiplier * accepts) / (requests + 1);
    return std::min(std::max(0.0, p), c_.max_rejection);
  }

  void passes(const std::string& why) {
    ++count[why];
    last_pass_ = now;
  }

  void end(bool accepted) {
    ++count[accepted ? "accepted" : "not_accepted"];
    ended_.push_back({now, accepted});
  }

  // A token is worth a billion.
  [[nodiscard]] std::int64_t full() const {
    return std::max(c_.min_rate, 1u) * std::int64_t{1'000'000'000};
  }

  [[nodiscard]] std::int64_t with_rate(std::int64_t credit, duration d) const {
    auto rate = std::int64_t{std::max(c_.min_rate, 1u)};
    if (credit >= full() || d >= std::chrono::seconds(1))
      return std::max(full(), credit);
    auto next = credit + d.count() * rate;
    return next < full() + rate ? next : full();
  }

  throttle_config c_;
  random_source same_{7};
  std::vector<event> ended_;
  bool throttling_ = false;
  std::int64_t credit_ = full();
  time_point last_pass_{};
  time_point last_rejection_{};
};

} // namespace caisson::test
