// A call under several limits.
#include <caisson/guard.hpp>
#include <caisson/policies.hpp>

#include <support/jumping_clock.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A tenant whose call another limit refuses has paid nothing, and the other
// way round.
TEST(several_limits, are_taken_all_or_none) {
  // [limits]
  auto limits = stack{"shop"}
                  .add<keyed<limiter>>(
                    {{.name = "tenant", .rate = 1, .per = 1h, .burst = 2}})
                  .limiter({.name = "all", .rate = 1, .per = 1h, .burst = 3})
                  .semaphore({.permits = 1, .max_waiters = 0});
  // [/limits]
  jumping_clock clock;
  guard calls{limits, clock};
  auto refused_by = [&](const char* tenant, bool busy = false) {
    std::string limit;
    auto call = [&] { return calls.run([] {}, {.key = tenant}); };
    auto note = [&](const auto& r) { limit = r ? "none" : r.text(); };
    if (busy)
      (void)calls.run([&] { note(call()); }, {.key = "operator"});
    else
      note(call());
    return limit;
  };
  // The operator's own calls take two of the three tokens of all.
  EXPECT_THAT(refused_by("ann", true), HasSubstr("semaphore"));
  EXPECT_THAT(refused_by("ann", true), HasSubstr("semaphore"));
  EXPECT_EQ(refused_by("ann"), "none");
  EXPECT_THAT(refused_by("ann"), HasSubstr("by all"));
  EXPECT_THAT(refused_by("ann"), HasSubstr("by all"));
  auto left = [&](const char* layer) {
    return calls.get_status().metric(layer, "returned");
  };
  EXPECT_EQ(left("tenant"), 4);
  EXPECT_EQ(left("all"), 2);
}

} // namespace
} // namespace caisson::test
