#include <policies/feature/model/feature_model.hpp>

namespace caisson::test {

RC_GTEST_PROP(feature_property, does_as_its_model_does, ()) {
  check_against_model<feature_model>();
}

} // namespace caisson::test
