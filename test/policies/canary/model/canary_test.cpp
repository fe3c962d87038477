#include <policies/canary/model/canary_model.hpp>

namespace caisson::test {

RC_GTEST_PROP(canary, does_as_its_model_does, ()) {
  check_against_model<canary_model>();
}

} // namespace caisson::test
