#include <policies/degradation/model/degradation_model.hpp>

namespace caisson::test {

RC_GTEST_PROP(degradation_property, does_as_its_model_does, ()) {
  check_against_model<degradation_model>();
}

} // namespace caisson::test
