#include <policies/fallback/model/fallback_model.hpp>

namespace caisson::test {

RC_GTEST_PROP(fallback_property, does_as_its_model_does, ()) {
  check_against_model<fallback_model>();
}

} // namespace caisson::test
