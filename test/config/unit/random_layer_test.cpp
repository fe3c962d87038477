// The table of values that random layers have, against the kinds.
#include <caisson/base/random.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include <support/random_layer.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace caisson::test {
namespace {

// Others have no effect.
TEST(random_layers, choose_values_of_settings_that_there_are) {
  auto kinds = policy_kinds();
  auto is_setting = [&](const std::string& name) {
    return std::any_of(kinds.begin(), kinds.end(), [&](auto& kind) {
      auto rows = kind.rows();
      return std::any_of(rows.begin(), rows.end(), [&](auto& row) {
        return name == row.key || name == kind.name + "." + row.key;
      });
    });
  };
  for (const auto& [name, values] :
       random_layer<random_source>::chosen_values()) {
    EXPECT_TRUE(is_setting(name)) << name;
    EXPECT_FALSE(values.empty()) << name;
  }
}

} // namespace
} // namespace caisson::test
