#include <policies/semaphore/model/semaphore_model.hpp>

#include <utility>

namespace caisson::test {
namespace {

RC_GTEST_PROP(semaphore_property, does_as_its_model_does, ()) {
  check_against_model<semaphore_model>();
}

// Without other settings in between.
RC_GTEST_PROP(semaphore_property, never_lends_more_than_it_has, ()) {
  auto config = semaphore_model::any_settings();
  model_run<semaphore_model> run{{config}};
  for (const auto& x : *operations(run.kinds(), run.model.longest)) {
    run.step(x);
    RC_ASSERT(run.real.count("in_use") >= 0);
    RC_ASSERT(run.real.count("in_use") <= config.permits);
    RC_ASSERT(run.real.count("waiting") <= config.max_waiters);
  }
  for (const auto& [id, x] : std::map{run.real.calls})
    run.real.abandon(id);
  RC_ASSERT(run.real.count("in_use") == 0);
  RC_ASSERT(run.real.count("waiting") == 0);
}

} // namespace
} // namespace caisson::test
