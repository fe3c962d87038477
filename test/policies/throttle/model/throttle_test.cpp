#include <policies/throttle/model/throttle_model.hpp>

namespace caisson::test {

RC_GTEST_PROP(throttle_property, does_as_its_model_does, ()) {
  check_against_model<throttle_model>();
}

} // namespace caisson::test
