// A model of a fallback.
#pragma once

#include <caisson/policies/fallback.hpp>

#include <support/against_model.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// A call with the alternatives that were asked, in order.
struct redirected_call : modelled_call {
  time_point deadline{};
  std::vector<std::uint64_t> tried = {};
  bool executed = false;
};

/// The chain cannot change while calls run.
struct fallback_settings {
  fallback_config config;
  std::vector<alternative_kind> chain;
};

class fallback_model : public policy_model<fallback, redirected_call> {
public:
  using settings = fallback_settings;
  // What the fallback makes of an outcome: answered, to be answered by another,
  // or nothing that another could do better.
  enum class means { good, bad, final };

  static constexpr step_shares shares{.arrive = 3,
                                      .end = 4,
                                      .abandon = 1,
                                      .advance = 1,
                                      .step_back = 1,
                                      .reconfigure = 1};

  explicit fallback_model(const settings& s)
    : limit_(s.config.max_concurrent), chain_(s.chain) {}

  static const fallback_config& config_of(const settings& s) {
    return s.config;
  }
  static rig rig_of(const settings& s) { return rig(s.config, s.chain); }

  // -- what is drawn ----------------------------------------------------------

  static settings any_settings() {
    settings s;
    s.config.max_concurrent = any_of<std::uint32_t>({0, 1, 2, 1'000'000});
    for (auto n = any_of({1, 2, 5}); n > 0; --n)
      s.chain.push_back(
        any_of({alternative_kind::value, alternative_kind::actor,
                alternative_kind::actor}));
    return s;
  }

  call_info arrival(const operation& x, unsigned) const {
    using namespace std::chrono_literals;
    call_info call;
    call.deadline = time_after(
      now, one_of<duration>({unlimited, unlimited, 0ns, 5ms, 1s}, x.how));
    return call;
  }

  static ending<means> how_it_ends(const operation& x) {
    using std::chrono::seconds;
    return one_of<ending<means>>(
      {{outcome::success(), means::good},
       {outcome::failure(errc::worker_down, true), means::bad},
       {outcome::failure(errc::worker_down, false), means::bad},
       {outcome::failure(errc::breaker_open, false, seconds(1)), means::bad},
       {outcome::failure(errc::shed, false), means::bad},
       {outcome::failure(errc::deadline_exceeded, true), means::bad},
       {outcome::failure(errc::cancelled, true), means::final},
       {outcome::failure(errc::draining, false), means::final}},
      x.how);
  }

  static duration length(const operation& x) {
    using namespace std::chrono_literals;
    return one_of<duration>({0ns, 1ns, 5ms, 1s}, x.how);
  }

  // -- what happens -----------------------------------------------------------

  void arrive(call_id id, const call_info& call) {
    calls[id].deadline = call.deadline;
    ++count["calls"];
  }

  void finish(call_id id, const ending<means>& how) {
    auto& x = calls[id];
    auto first = x.tried.empty();
    auto from = first ? 0 : x.tried.back() + 1;
    auto next = next_for(x, from);
    x.executed = x.executed || how.result.may_have_executed;
    x.may_have_executed = x.executed;
    std::string what;
    if (how.meaning == means::good)
      what = first ? "primary_answered" : "answered_by_alternative";
    else if (how.meaning == means::final)
      what = "passed_up";
    else if (from == chain_.size())
      what = "all_failed";
    else if (x.deadline <= now)
      what = "out_of_time";
    else if (next == chain_.size())
      what = "fallback_full";
    else
      what = first ? "fell_back" : "tried_next";
    ++count[what];
    x.where = place::passed;
    if (what == "fell_back" || what == "tried_next") {
      x.where = place::redirected;
      x.index = next;
      x.tried.push_back(next);
      count["passed_over"] += next != from;
    }
  }

  void abandon(call_id id, errc) {
    ++count[calls[id].tried.empty() ? "abandoned" : "abandoned_in_fallback"];
  }

  void reconfigure(const settings& s) { limit_ = s.config.max_concurrent; }

  // -- what is compared -------------------------------------------------------

  void measure() { count["running"] = running(); }

  // Every call ends exactly once.
  void check(const rig& real) const {
    auto n = [&](auto... names) { return (real.count(names) + ...); };
    RC_ASSERT(n("calls")
              == n("primary_answered", "answered_by_alternative", "passed_up",
                   "all_failed", "out_of_time", "fallback_full", "abandoned",
                   "abandoned_in_fallback")
                   + calls_at(place::below) + calls_at(place::redirected));
  }

private:
  [[nodiscard]] bool with_actor(const redirected_call& x) const {
    return x.where == place::redirected
           && chain_[x.tried.back()] == alternative_kind::actor;
  }

  // How many calls are with actors.
  [[nodiscard]] std::int64_t running() const {
    return std::count_if(calls.begin(), calls.end(),
                         [&](const auto& x) { return with_actor(x.second); });
  }

  [[nodiscard]] std::size_t next_for(const redirected_call& x,
                                     std::size_t i) const {
    while (i < chain_.size() && chain_[i] == alternative_kind::actor
           && !with_actor(x) && limit_ != 0 && running() >= limit_)
      ++i;
    return i;
  }

  std::uint32_t limit_;
  std::vector<alternative_kind> chain_;
};

} // namespace caisson::test
