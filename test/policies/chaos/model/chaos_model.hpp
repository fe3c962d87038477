// A model of a chaos layer.
#pragma once

#include <caisson/policies/chaos.hpp>

#include <support/against_model.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// A call with what awaits it.
struct troubled_call : modelled_call {
  bool loses_answer = false;
  bool fails_when_over = false;
};

/// The latency as a number.
struct chaos_settings {
  chaos_config config;
  duration latency = duration::zero();
};

class chaos_model : public policy_model<chaos, troubled_call> {
public:
  using settings = chaos_settings;

  static constexpr step_shares shares{.arrive = 3,
                                      .end = 2,
                                      .abandon = 1,
                                      .advance = 2,
                                      .reconfigure = 1,
                                      .command = 1};

  explicit chaos_model(settings s) : s_(std::move(s)) {}

  static const chaos_config& config_of(const settings& s) { return s.config; }

  // -- what is drawn ----------------------------------------------------------

  static settings any_settings() {
    using namespace std::chrono_literals;
    settings s;
    auto& c = s.config;
    auto r = any_of<std::vector<double>>({{0, 0, 0, 0},
                                          {1, 0, 0, 0},
                                          {0, 1, 0, 0},
                                          {0, 0, 1, 0},
                                          {0, 0, 0, 1},
                                          {0.25, 0.25, 0.25, 0.25},
                                          {0.1, 0.2, 0.3, 0.4},
                                          {0.5, 0, 0.5, 0},
                                          {0.01, 0.4, 0.1, 0.3}});
    c.enabled = any_of({true, true, true, false});
    c.error_rate = r[0];
    c.latency_rate = r[1];
    c.outcome_rate = r[2];
    c.silence_rate = r[3];
    s.latency = any_of<duration>({0ns, 1ns, 10ms, 1s, unlimited});
    c.latency = schedule::constant(s.latency);
    c.silence = any_of<duration>({1ms, 10ms, 30s, 24h * 365});
    return s;
  }

  static duration length(const operation& x) {
    using namespace std::chrono_literals;
    return one_of<duration>({0ns, 1ns, 1ms, 10ms, 1s, 30s}, x.how);
  }

  // -- what happens -----------------------------------------------------------

  void arrive(call_id id, const call_info&) {
    auto& x = calls[id];
    auto fault = s_.config.enabled ? fault_at(same_.uniform()) : "";
    if (fault == "error") {
      ++count["errors_injected"];
      x.reject(errc::injected, duration::zero());
    } else if (fault == "latency") {
      ++count["latencies_injected"];
      if (s_.latency > duration::zero())
        x.hold(now
               + std::min<duration>(s_.latency, std::chrono::hours(24 * 365)));
    } else if (fault == "outcome") {
      x.loses_answer = true;
      return;
    } else if (fault == "silence") {
      ++count["silences_injected"];
      x.fails_when_over = true;
      x.hold(now + s_.config.silence);
    } else {
      ++count["spared"];
      return;
    }
    faults_.push_back(fault);
  }

  void finish(call_id id, const ending<>&) {
    auto& x = calls[id];
    x.where = place::passed;
    if (!x.loses_answer)
      return;
    ++count[s_.config.enabled ? "outcomes_injected" : "spared"];
    if (!s_.config.enabled)
      return;
    x.reject(errc::injected, duration::zero());
    faults_.emplace_back("outcome");
  }

  void abandon(call_id, errc) { ++count["abandoned"]; }

  void advance_to(time_point t) {
    for (auto& [id, x] : calls) {
      if (x.where != place::held || *x.until > t)
        continue;
      count["silences_ended"] += x.fails_when_over;
      x.where = place::below;
      if (x.fails_when_over)
        x.reject(errc::injected, duration::zero());
    }
  }

  void reconfigure(const settings& s) { s_ = s; }

  // -- what is compared -------------------------------------------------------

  void measure() { count["waiting"] = calls_at(place::held); }

  // There is one event for each fault.
  void check(const rig& real) const {
    RC_ASSERT(real.e.details == faults_);
    RC_ASSERT(
      std::count(real.e.reports.begin(), real.e.reports.end(), "injected:>")
      == std::ssize(faults_));
  }

private:
  // The line from 0 to 1 is cut into a piece for each fault.
  [[nodiscard]] std::string fault_at(double x) const {
    const auto& c = s_.config;
    auto error = c.error_rate;
    auto latency = error + c.latency_rate;
    auto outcome = latency + c.outcome_rate;
    auto silence = outcome + c.silence_rate;
    return x < error     ? "error"
           : x < latency ? "latency"
           : x < outcome ? "outcome"
           : x < silence ? "silence"
                         : "";
  }

  settings s_;
  // Gives the numbers that the host's source gives.
  random_source same_{7};
  std::vector<std::string> faults_;
};

} // namespace caisson::test
