#include <policies/breaker/model/breaker_model.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// A breaker without anything that an operator does.
struct breaker_alone : breaker_model {
  using breaker_model::breaker_model;
  static constexpr step_shares shares{
    .arrive = 1, .end = 1, .abandon = 1, .advance = 1, .reconfigure = 0};
};

RC_GTEST_PROP(breaker_property, does_as_its_model_does, ()) {
  check_against_model<breaker_model>();
}

// However calls and workers behaved before: a worker that is back is found.
RC_GTEST_PROP(breaker_property, is_never_stuck, ()) {
  auto s = breaker_model::any_settings();
  model_run<breaker_alone> run{{s}};
  for (const auto& x : *operations(run.kinds(), 100))
    run.step(x);
  // Those still in flight never report. All leases and intervals end.
  run.advance(2h);
  run.advance(2h);
  std::uint32_t calls = 0;
  while (run.real.policy.state() != "closed") {
    RC_ASSERT(++calls <= 2 * s.base.probes + 2);
    auto id = run.arrive();
    if (run.real.where(id) == place::below)
      run.finish(id, ending<verdict>{outcome::success(), verdict::success});
    else
      run.advance(2h);
    run.compare();
  }
}

// In one half-open epoch no more probes are judged or in flight than allowed.
RC_GTEST_PROP(breaker_property, never_admits_more_probes_than_allowed, ()) {
  auto s = breaker_model::any_settings();
  s.base.trip = breaker_trip::consecutive;
  s.base.limit_at = 1;
  s.limit_permille = 1000;
  s.base.limit_floor = 1;
  s.base.threshold = 1;
  s.base.probes = any_of<std::uint32_t>({1, 2, 5});
  s.base.successes_to_close = std::min(s.base.successes_to_close,
                                       s.base.probes);
  model_run<breaker_alone> run{{s}};
  auto n = [&](const char* name) { return run.real.count(name); };
  std::int64_t probes_before = 0, returned_before = 0, epochs = 0;
  for (const auto& x : *operations(run.kinds(), 100)) {
    run.step(x);
    if (n("half_opened") != epochs) {
      epochs = n("half_opened");
      // The call that ended the interval may be the new epoch's first probe.
      probes_before = n("probes") - n("probes_in_flight");
      returned_before = n("probes_returned");
    }
    if (run.real.policy.state() == "half_open")
      RC_ASSERT(n("probes") - probes_before
                  - (n("probes_returned") - returned_before)
                <= static_cast<std::int64_t>(s.base.probes));
  }
}

} // namespace
} // namespace caisson::test
