#include <caisson/policies/feature.hpp>

#include <policies/feature/model/feature_model.hpp>
#include <support/rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using strings = std::vector<std::string>;

class feature_test : public testing::Test {
protected:
  feature_test() : hold{flags}, h{feature_config{.feature = "x"}} {
    h.policy.watch(flags);
  }

  std::shared_ptr<feature_flags> flags = std::make_shared<feature_flags>();
  feature_hold hold;
  rig<feature> h;
};

TEST_F(feature_test, passes_calls_while_it_is_on) {
  auto id = h.arrive();
  EXPECT_EQ(h.where(id), place::below);
  EXPECT_EQ(h.policy.state(), "on");
  EXPECT_EQ(h.count("on"), 1);
  EXPECT_EQ(h.count("admitted"), 1);
  // One in progress is not affected.
  hold.set({"x"});
  h.fail(id, errc::worker_down);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_TRUE(h.calls.at(id).result.is(errc::worker_down));
}

TEST_F(feature_test, rejects_calls_while_it_is_off) {
  hold.set({"x"});
  auto id = h.arrive();
  EXPECT_EQ(h.where(id), place::rejected);
  EXPECT_EQ(h.calls.at(id).code, errc::feature_off);
  EXPECT_EQ(h.calls.at(id).retry_after, duration::zero());
  EXPECT_EQ(h.e.reports, strings{"rejected:>feature_off"});
  EXPECT_EQ(h.e.details, strings{"x"});
  EXPECT_EQ(h.policy.state(), "off");
  EXPECT_EQ(h.count("on"), 0);
  EXPECT_EQ(h.count("rejected"), 1);
  hold.set({"y"});
  EXPECT_EQ(h.where(h.arrive()), place::below);
}

TEST_F(feature_test, can_change_to_another_feature) {
  hold.set({"y"});
  h.reconfigure({.feature = "y"});
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
}

TEST_F(feature_test, is_on_without_flags) {
  hold.set({"x"});
  rig<feature> other{feature_config{.feature = "x"}};
  EXPECT_EQ(other.where(other.arrive()), place::below);
  h.policy.watch(nullptr);
  EXPECT_EQ(h.where(h.arrive()), place::below);
}

TEST_F(feature_test, reports_when_to_come_back_if_that_is_known) {
  h.reconfigure({.feature = "x", .retry_after = std::chrono::minutes(1)});
  hold.set({"x"});
  EXPECT_EQ(h.calls.at(h.arrive()).retry_after, std::chrono::minutes(1));
}

TEST_F(feature_test, needs_a_name) {
  EXPECT_THROW(feature{feature_config{.feature = ""}}, config_error);
}

RC_GTEST_PROP(feature_property, does_as_its_model_does, ()) {
  check_against_model<feature_model>();
}

} // namespace
} // namespace caisson::test
