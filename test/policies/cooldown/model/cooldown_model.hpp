// A model of a cool-down: a list of the answers that have asked for one.
#pragma once

#include <caisson/policies/cooldown.hpp>

#include <support/against_model.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

class cooldown_model : public policy_model<cooldown> {
public:
  /// What an answer asks for; below zero: nothing.
  using asked_time = duration;

  static constexpr step_shares shares{.arrive = 6,
                                      .end = 5,
                                      .abandon = 1,
                                      .advance = 4,
                                      .reconfigure = 1,
                                      .command = 1};
  static constexpr bool wakes_around_changes = true;

  explicit cooldown_model(cooldown_config c) : c_(std::move(c)) {}

  // -- what is drawn ----------------------------------------------------------

  static cooldown_config any_settings() {
    using namespace std::chrono_literals;
    cooldown_config c;
    c.max_time = any_of<duration>({1ms, 1s, 1min, 24h});
    c.default_time = std::min(c.max_time, any_of<duration>({0s, 1ms, 1s, 1h}));
    return c;
  }

  static unsigned arrivals(const operation& x) { return 1 + x.how % 3; }

  static ending<asked_time> how_it_ends(const operation& x) {
    using namespace std::chrono_literals;
    return one_of<ending<asked_time>>(
      {{outcome::success(), -1ns},
       {outcome::failure(errc::worker_down, true), -1ns},
       // Of a gate on the way.
       {outcome::failure(errc::rate_limited, false, 1s), -1ns},
       {of_worker(answer_class::fail, 0s), -1ns},
       {of_worker(answer_class::ok, 1s), -1ns},
       {passed_on(errc::breaker_open, 1s), -1ns},
       {passed_on(errc::rate_limited, 2s), 2s},
       {passed_on(errc::queue_full, 0s), 0s},
       {of_worker(answer_class::retry_after, do_not_retry), -1ns},
       {of_worker(answer_class::shed, 0s), 0s},
       {of_worker(answer_class::shed, do_not_retry), 0s},
       {of_worker(answer_class::shed, 700ms), 700ms},
       {of_worker(answer_class::retry_after, 5s), 5s},
       {of_worker(answer_class::retry_after, unlimited), unlimited}},
      x.how);
  }

  static errc why_it_leaves(const operation& x) {
    return one_of({errc::deadline_exceeded, errc::cancelled}, x.how);
  }

  static duration length(const operation& x) {
    using namespace std::chrono_literals;
    return one_of<duration>({0ns, 1ns, 1ms - 1ns, 1ms, 300ms, 1s, 5s, 1min},
                            x.how);
  }

  // -- what happens -----------------------------------------------------------

  void arrive(call_id id, const call_info&) {
    auto& x = calls[id];
    if (end() <= now) {
      ++count["passed"];
      return;
    }
    ++count["rejected"];
    x.reject(errc::rate_limited, end() - now);
  }

  void finish(call_id id, const ending<asked_time>& how) {
    calls[id].where = place::passed;
    auto d = how.meaning == duration::zero() ? c_.default_time : how.meaning;
    if (d <= duration::zero())
      return;
    auto earlier = end();
    asked_.push_back({now, d});
    if (end() > earlier)
      ++count[earlier > now ? "extended" : "started"];
  }

  void abandon(call_id, errc) { ++count["abandoned"]; }

  void advance_to(time_point t) {
    now = t;
    // What is over does not begin again if `max_time` grows.
    std::erase_if(asked_, [&](const auto& x) { return end_of(x) <= now; });
  }

  void reconfigure(const cooldown_config& c) {
    // Of those in progress only the one that ends last is remembered, with the
    // end that it has.
    auto last = std::max_element(
      asked_.begin(), asked_.end(),
      [&](const auto& a, const auto& b) { return end_of(a) < end_of(b); });
    if (last != asked_.end())
      asked_ = {{last->at, std::min(last->length, c_.max_time)}};
    c_ = c;
  }

  void command(const policy_command&) {
    count.clear();
    asked_.clear();
  }

  [[nodiscard]] std::string_view state() const {
    return end() > now ? "cooling" : "passing";
  }

  [[nodiscard]] time_point wakeup() const {
    return end() > now ? end() : never;
  }

private:
  static outcome of_worker(answer_class kind, duration retry_after) {
    auto o = outcome::failure(errc::worker_down, true, retry_after);
    o.own_error = false;
    o.from_worker = true;
    o.kind = kind;
    return o;
  }

  // The worker has it from a gate elsewhere.
  static outcome passed_on(errc code, duration retry_after) {
    auto o = outcome::failure(code, true, retry_after);
    o.from_worker = true;
    return o;
  }

  struct request {
    time_point at;
    duration length;
  };

  [[nodiscard]] time_point end_of(const request& x) const {
    return time_after(x.at, std::min(x.length, c_.max_time));
  }

  // Of the one that ends last.
  [[nodiscard]] time_point end() const {
    auto last = time_point::min();
    for (const auto& x : asked_)
      last = std::max(last, end_of(x));
    return last;
  }

  cooldown_config c_;
  std::vector<request> asked_;
};

} // namespace caisson::test
