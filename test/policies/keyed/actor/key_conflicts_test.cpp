// Layers that take keys for different things stay apart, also at run time.
#include <caisson/policies.hpp>
#include <caisson/policies/semaphore.hpp>
#include <caisson/stack/layers/cache_layer.hpp>
#include <caisson/stack/layers/canary_layer.hpp>

#include <support/both_hosts.hpp>

#include <gmock/gmock.h>

namespace caisson::test {
namespace {

class key_conflicts_test : public both_hosts {
protected:
  std::string change(const caf::actor& g, std::string layer,
                     std::map<std::string, std::string> set) {
    auto x = world.request(g, reconfigure{std::move(layer), std::move(set)});
    auto err = x.error();
    auto* why = context_of(err);
    return why ? why->text : x.ok() ? "done" : "failed";
  }

  scripted_worker first = make_worker(doubles());
  scripted_worker second = make_worker(doubles());
};

CAISSON_BOTH_HOSTS(key_conflicts_test, 2);

TEST_P(key_conflicts_test, a_word_that_is_needed_cannot_be_taken_back) {
  auto g = host(
    first.handle(),
    stack{}.cache({.unsafe = true}).add<keyed<semaphore>>({{.permits = 2}}));
  EXPECT_THAT(change(g, "cache", {{"unsafe", "false"}}),
              testing::StartsWith("cache.unsafe: must be true, or else"));
  EXPECT_EQ(change(g, "cache", {{"ttl", "1s"}}), "done");
  EXPECT_EQ(change(g, "semaphore", {{"permits", "3"}}), "done");
}

TEST_P(key_conflicts_test, a_canary_does_not_become_sticky_beside_a_cache) {
  auto g = host(first.handle(), stack{}.cache().add<canary>({.stages = {0.5}},
                                                            second.handle()));
  EXPECT_THAT(change(g, "canary", {{"sticky", "true"}}),
              testing::StartsWith("cache.unsafe: must be true, or else"));
  EXPECT_EQ(change(g, "canary", {{"dwell", "1s"}}), "done");
  EXPECT_EQ(change(g, "cache", {{"unsafe", "true"}}), "done");
  EXPECT_EQ(change(g, "canary", {{"sticky", "true"}}), "done");
}

} // namespace
} // namespace caisson::test
