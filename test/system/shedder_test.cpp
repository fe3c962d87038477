// A shedder reports its threshold to a gate on another node, which follows it.
#include <caisson/caf/caf_io.hpp>
#include <caisson/gate.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/shedder_layer.hpp>

#include <policies/shedder/model/shedder_rig.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

struct follower_node : network_config {
  follower_node() { portable::set_threads(*this, 2); }
};

class remote_follower_test : public testing::Test {
protected:
  remote_follower_test() : server(server_config), client(client_config) {}

  // The error's context; nothing was rejected if it has no policy.
  static rejection offer(caf::scoped_actor& self, const caf::actor& g,
                         std::int32_t priority) {
    rejection out;
    portable::ask_blocking(self, g, 20s, wrap(1).priority(priority))
      .receive([](int) {},
               [&](caf::error& e) {
                 EXPECT_EQ(e, errc::shed);
                 if (auto* context = context_of(e))
                   out = *context;
               });
    return out;
  }

  static status look(caf::scoped_actor& self, const caf::actor& g) {
    status out;
    portable::ask_blocking(self, g, 20s, get_status{})
      .receive([&](status& s) { out = std::move(s); },
               [](caf::error& e) { ADD_FAILURE() << to_text(e); });
    return out;
  }

  follower_node server_config;
  follower_node client_config;
  caf::actor_system server;
  caf::actor_system client;
};

TEST_F(remote_follower_test, rejects_what_the_other_node_would) {
  auto load = std::make_shared<set_load>();
  load->value.cpu = 1;
  auto c = by_cpu();
  c.sample = 10ms;
  c.window = 10ms;
  c.decrease = 0.9;
  c.minimum = 1;
  c.retry_after = 7s;
  auto echo = server.spawn([](caf::event_based_actor*) -> caf::behavior {
    return {[](int x) { return x; }};
  });
  auto far = spawn_gate(
    server, worker{echo},
    stack{"far"}.add<shedder>(c, std::shared_ptr<load_source>{load}));
  auto port = portable::publish(server, call_handle{far});
  ASSERT_TRUE(static_cast<bool>(port));
  auto remote = portable::connect(client, "127.0.0.1", *port);
  ASSERT_TRUE(static_cast<bool>(remote));
  auto f = followed();
  f.follow_for = 1min;
  auto near = spawn_gate(client, worker{*remote}.is_gate(),
                         stack{"near"}.add<shedder>(f));
  caf::scoped_actor self{client};
  auto has_threshold = [&] {
    return look(self, near).layers.at(0).metrics.at("thresholds_received") > 0;
  };
  for (auto end = std::chrono::steady_clock::now() + 30s;
       !has_threshold() && std::chrono::steady_clock::now() < end;)
    for (int i = 0; i < 100; ++i)
      offer(self, near, 0);
  ASSERT_TRUE(has_threshold());
  auto before = look(self, far).metrics.at("calls");
  for (int i = 0; i < 32; ++i) {
    auto r = offer(self, near, -16);
    EXPECT_FALSE(r.may_have_executed);
    EXPECT_EQ(r.threshold, 0);
    if (!r.policy.empty()) {
      EXPECT_EQ(r.retry_after, duration{7s});
    }
  }
  EXPECT_LE(look(self, far).metrics.at("calls") - before, 3);
  EXPECT_GE(look(self, near).layers.at(0).metrics.at("shed_early"), 29);
  stop_gate(near);
  stop_gate(far);
  caf::anon_send_exit(echo, caf::exit_reason::user_shutdown);
}

} // namespace
} // namespace caisson::test
