#include <caisson/policies/chaos.hpp>

#include <support/operations.hpp>
#include <support/solo.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

/// Settings, with the latency as the model knows it.
struct setup {
  chaos_config c;
  duration latency = duration::zero();
};

setup some_setup() {
  static const std::vector<std::array<double, 4>> rates{
    {0, 0, 0, 0},         {1, 0, 0, 0},     {0, 1, 0, 0},
    {0, 0, 1, 0},         {0, 0, 0, 1},     {0.25, 0.25, 0.25, 0.25},
    {0.1, 0.2, 0.3, 0.4}, {0.5, 0, 0.5, 0}, {0.01, 0.4, 0.1, 0.3}};
  setup s;
  auto r = *rc::gen::elementOf(rates);
  s.c.enabled = *rc::gen::element(true, true, true, false);
  s.c.error_rate = r[0];
  s.c.latency_rate = r[1];
  s.c.outcome_rate = r[2];
  s.c.silence_rate = r[3];
  s.latency = *rc::gen::element<duration>(0ns, 1ns, 10ms, 1s, unlimited);
  s.c.latency = schedule::constant(s.latency);
  s.c.silence = *rc::gen::element<duration>(1ms, 10ms, 30s, 24h * 365);
  return s;
}

class chaos_run {
public:
  explicit chaos_run(std::vector<setup> all)
    : all_(std::move(all)), present_(all_.front()), real_(present_.c) {}

  void step(const operation& op) {
    switch (op.kind) {
      case 0:
      case 1:
      case 2:
        arrive();
        break;
      case 3:
      case 4:
        if (auto id = some_call(op.which, place::below))
          finish(id, op.how % 2 == 0);
        break;
      case 5:
        if (auto id = some_call(op.which,
                                op.how % 2 == 0 ? place::held : place::below))
          abandon(id);
        break;
      case 6:
      case 7:
        advance(pick(steps, op.how));
        break;
      case 8:
        present_ = pick(all_, op.which);
        real_.policy.reconfigure(present_.c, real_.e);
        break;
      case 9:
        real_.policy.command(operator_command::reset, real_.e);
        count_.clear();
        break;
    }
    compare();
  }

private:
  static constexpr std::array<duration, 6> steps{0ns, 1ns, 1ms, 10ms, 1s, 30s};

  struct call {
    place where = place::below;
    bool loses_answer = false;
    bool fails_when_over = false;
    duration until = unlimited;
  };

  void arrive() {
    call x;
    auto reports = real_.e.details.size();
    std::string fault;
    if (present_.c.enabled)
      fault = fault_at(same_.uniform());
    if (fault == "error") {
      ++count_["errors_injected"];
      x.where = place::rejected;
    } else if (fault == "latency") {
      ++count_["latencies_injected"];
      if (present_.latency > 0ns)
        hold(x, std::min<duration>(present_.latency, 24h * 365));
    } else if (fault == "outcome") {
      x.loses_answer = true;
      fault.clear();
    } else if (fault == "silence") {
      ++count_["silences_injected"];
      x.fails_when_over = true;
      hold(x, present_.c.silence);
    } else {
      ++count_["spared"];
    }
    calls_[real_.arrive()] = x;
    emit(reports, fault);
  }

  // The line from 0 to 1 is cut into a piece for each fault.
  std::string fault_at(double x) const {
    const auto& c = present_.c;
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

  void hold(call& x, duration d) {
    x.where = place::held;
    x.until = real_.now() + d;
  }

  void finish(call_id id, bool ok) {
    auto& x = calls_[id];
    auto reports = real_.e.details.size();
    real_.finish(id, ok ? outcome::success()
                        : outcome::failure(errc::shed, true, 1s));
    auto lost = x.loses_answer && present_.c.enabled;
    if (lost)
      ++count_["outcomes_injected"];
    else if (x.loses_answer)
      ++count_["spared"];
    x.where = lost ? place::rejected : place::passed;
    if (!lost) {
      RC_ASSERT(real_.calls.at(id).result.ok == ok);
      RC_ASSERT(real_.calls.at(id).result.retry_after == (ok ? 0s : 1s));
    }
    emit(reports, lost ? "outcome" : "");
  }

  void abandon(call_id id) {
    real_.abandon(id);
    calls_[id].where = place::abandoned;
    ++count_["abandoned"];
  }

  void advance(duration d) {
    auto reports = real_.e.details.size();
    real_.advance(d);
    for (auto& [id, x] : calls_) {
      if (x.where != place::held || x.until > real_.now())
        continue;
      count_["silences_ended"] += x.fails_when_over;
      x.where = x.fails_when_over ? place::rejected : place::below;
    }
    emit(reports, "");
  }

  // Since the `n`-th there is one more event, about this fault; or none.
  void emit(std::size_t n, const std::string& fault) {
    auto& all = real_.e.details;
    RC_ASSERT(all.size() == n + !fault.empty());
    if (!fault.empty()) {
      RC_ASSERT(all.back() == fault);
      RC_ASSERT(real_.e.reports.back() == "injected:>");
    }
  }

  void compare() {
    std::int64_t waiting = 0;
    for (auto& [id, x] : calls_) {
      const auto& y = real_.calls.at(id);
      RC_ASSERT(y.where == x.where);
      if (x.where == place::rejected)
        RC_ASSERT(y.code == errc::injected && y.retry_after == 0ns);
      waiting += x.where == place::held;
    }
    RC_ASSERT(real_.count("waiting") == waiting);
    for (auto name : enum_names<chaos_counter>::value)
      RC_ASSERT(real_.count(name) == count_[std::string{name}]);
  }

  call_id some_call(unsigned which, place where) const {
    std::vector<call_id> all;
    for (auto& [id, x] : calls_)
      if (x.where == where)
        all.push_back(id);
    return all.empty() ? 0 : pick(all, which);
  }

  std::vector<setup> all_;
  setup present_;
  solo<chaos> real_;
  // Gives the numbers that the host's source gives.
  random_source same_{7};
  std::map<call_id, call> calls_;
  std::map<std::string, std::int64_t> count_;
};

RC_GTEST_PROP(chaos_property, does_what_a_naive_model_does, ()) {
  auto all = *rc::gen::container<std::vector<setup>>(3,
                                                     rc::gen::exec(some_setup));
  chaos_run r{all};
  for (auto& op : *operations(10))
    r.step(op);
}

} // namespace
} // namespace caisson::test
