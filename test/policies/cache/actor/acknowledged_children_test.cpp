// Children of a call whose writes a cache acknowledges, and which end before
// the acknowledgement reaches them.
#include <caisson/policies/semaphore.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/cache_layer.hpp>

#include <support/both_hosts.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

/// Sends each call as two children, and answers it as the first one that ends.
class splitter final
  : public policy_base<splitter, semaphore_config, semaphore_counter> {
public:
  static constexpr std::string_view kind_name = "splitter";
  explicit splitter(semaphore_config c) : policy_base(std::move(c)) {}

  decision admit(call_info& call, slot&, env& e) override {
    for (auto i = 0; i < 2; ++i)
      e.start_child({.parents = {call.id}});
    return decision::hold();
  }
  decision complete(call_info&, slot&, outcome&, env&) override {
    return decision::pass();
  }
  void abandon(call_info&, slot&, const outcome&, bool, env&) override {}
  decision child_done(call_id, outcome&, env&) override {
    return decision::pass();
  }

protected:
  void list_gauges(std::vector<metric>&) const override {}
};

class acknowledged_children_test : public both_hosts {
protected:
  static cache_forms write_forms() {
    cache_forms forms;
    forms.write = [](const caf::message& x) -> std::optional<cached_write> {
      return cached_write{"k", x, caf::make_message(true)};
    };
    return forms;
  }
};
CAISSON_BOTH_HOSTS(acknowledged_children_test, 4);

// The semaphore refuses the second one while the first is being answered.
TEST_P(acknowledged_children_test, the_call_may_have_executed) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(), stack{}
                              .add<splitter>({.name = "splitter"})
                              .semaphore({.permits = 1, .max_waiters = 0})
                              .cache({.flush_after = 1s}, write_forms()));
  auto answer = world.request(g, std::int32_t{1});
  EXPECT_TRUE(answer.is(errc::queue_full));
  auto why = answer.error();
  ASSERT_TRUE(context_of(why));
  EXPECT_TRUE(context_of(why)->may_have_executed);
  world.advance(1s);
  EXPECT_EQ(w.count(), 1u);
}

} // namespace
} // namespace caisson::test
