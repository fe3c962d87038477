// A shedder against a model that keeps each call in a list.
#include <policies/shedder/model/naive_shedder.hpp>
#include <policies/shedder/model/shedding.hpp>
#include <support/operations.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
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
namespace {

using namespace std::chrono_literals;

shedder_config some_shedder() {
  shedder_config c;
  c.max_cpu = *rc::gen::element(0.0, 0.5, 0.9, 1.0);
  c.max_memory = *rc::gen::element(0.0, 0.0, 1.0);
  // No difference that can come about: means are rounded.
  c.max_delay = *rc::gen::element<duration>(0ns, 77'777ns, 9'512'345ns);
  c.max_mailbox_delay = *rc::gen::element<duration>(0ns, 0ns, 5ms, 100ms);
  c.in_flight_factor = 0;
  c.sample = *rc::gen::element<duration>(10ms, 250ms, 5s);
  c.window = *rc::gen::element<duration>(10ms, 1s, 1min);
  c.window_calls = *rc::gen::element(1u, 10u, 1'000'000u);
  c.decrease = *rc::gen::element(0.001, 0.05, 0.5, 0.9);
  c.increase = *rc::gen::element(0.001, 0.01, 0.3, 1.0);
  c.minimum = *rc::gen::element(1u, 5u, 1'000'000u);
  c.history = *rc::gen::element<duration>(1s, 10s);
  c.baseline = *rc::gen::element<duration>(10s, 1min);
  return c;
}

class shedder_run {
public:
  explicit shedder_run(std::vector<shedder_config> all)
    : all_(std::move(all)), real_(all_.front()),
      model_(all_.front(), shedder_rig::start().time_since_epoch()) {
    real_.e.mailbox = model_.mailbox;
  }

  void step(const operation& x) {
    switch (x.kind) {
      case 0:
      case 1:
      case 2:
        for (auto i = 0u; i <= x.how % 20; ++i)
          arrive(x, i);
        break;
      case 3:
      case 4:
        for (auto i = 0u; i < 5; ++i)
          leave(x);
        break;
      case 5:
      case 6:
        advance(pick(lengths, x.how));
        break;
      case 7:
        real_.load->value = {pick(shares, x.how), pick(shares, x.which)};
        model_.load = real_.load->value;
        break;
      case 9:
        model_.mailbox = pick(waits, x.how);
        real_.e.mailbox = model_.mailbox;
        break;
      case 8:
        if (x.which % 3 == 0)
          change(x);
        break;
    }
    compare();
  }

private:
  static constexpr std::array<duration, 9> lengths{
    0ns, 1ns, 1ms, 9ms, 10ms, 250ms, 1s - 1ns, 1s, 3s};
  static constexpr std::array<duration, 6> waits{0ns, 4ms,   5ms,
                                                 6ms, 100ms, 101ms};
  static constexpr std::array<double, 6> shares{0, 0.3, 0.5, 0.9, 1, 1};

  void arrive(const operation& x, unsigned i) {
    auto priority = static_cast<std::int32_t>((x.which + i) % 3) * 20 - 20;
    auto key = x.which % 2 == 0 ? "" : "k" + std::to_string((x.how + i) % 7);
    auto passes = model_.lets_pass(priority, key);
    auto id = real_.arrive(important(priority, key));
    RC_ASSERT((real_.where(id) == place::below) == passes);
    if (passes)
      below_.emplace_back(id, model_.now);
    else
      RC_ASSERT(real_.calls.at(id).code == errc::shed);
  }

  void leave(const operation& x) {
    if (below_.empty())
      return;
    auto i = below_.begin()
             + static_cast<std::ptrdiff_t>(x.which % below_.size());
    auto [id, begun] = *i;
    below_.erase(i);
    if (x.how % 4 == 0) {
      real_.abandon(id);
      model_.end(begun, false, true);
    } else if (x.how % 4 == 1) {
      real_.fail(id, errc::worker_down);
      model_.end(begun, false, false);
    } else {
      real_.finish(id);
      model_.end(begun, true, false);
    }
  }

  void advance(duration d) {
    real_.advance(d);
    model_.advance_to(model_.now + d);
  }

  void change(const operation& x) {
    if (x.how % 4 == 0) {
      real_.policy.command(operator_command::reset, real_.e);
      model_.reset();
    } else {
      const auto& c = pick(all_, x.how);
      real_.policy.reconfigure(c, real_.e);
      model_.reconfigure(c);
    }
    // What is due now is done before the next call.
    advance(0ns);
  }

  void compare() {
    for (auto name : enum_names<shedder_counter>::value)
      if (name != "unread")
        RC_ASSERT(real_.count(name) == model_.count[std::string{name}]);
    RC_ASSERT(real_.count("threshold")
              == static_cast<std::int64_t>(std::ceil(model_.threshold)));
    RC_ASSERT(real_.count("in_flight")
              == static_cast<std::int64_t>(below_.size()));
  }

  std::vector<shedder_config> all_;
  shedder_rig real_;
  naive_shedder model_;
  std::vector<std::pair<call_id, duration>> below_;
};

RC_GTEST_PROP(shedder_property, does_what_a_naive_model_does, ()) {
  auto all = *rc::gen::container<std::vector<shedder_config>>(
    3, rc::gen::exec(some_shedder));
  shedder_run r{all};
  for (const auto& op : *operations(10))
    r.step(op);
}

} // namespace
} // namespace caisson::test
