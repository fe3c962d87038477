#include <policies/shedder/model/shedder_model.hpp>

namespace caisson::test {

RC_GTEST_PROP(shedder_property, does_as_its_model_does, ()) {
  check_against_model<shedder_model>();
}

} // namespace caisson::test
