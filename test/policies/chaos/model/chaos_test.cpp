#include <policies/chaos/model/chaos_model.hpp>

namespace caisson::test {

RC_GTEST_PROP(chaos_property, does_as_its_model_does, ()) {
  check_against_model<chaos_model>();
}

} // namespace caisson::test
