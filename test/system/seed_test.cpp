// Random numbers of gates in several systems, although their seed is the same.
#include <caisson/gate.hpp>
#include <caisson/local_gate.hpp>
#include <caisson/policies.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <string>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

constexpr int calls_of_each = 50;

stack seeded_stack() {
  return stack{gate_config{.name = "payments", .seed = 3}}.retrier(
    {.idempotency_keys = true});
}

stack seeded_stack_per_key() {
  return stack{gate_config{.name = "tenants", .seed = 3}}.add<keyed<retrier>>(
    {{.idempotency_keys = true}, {}});
}

// Answers a call with its idempotency key.
caf::behavior key_echo(caf::event_based_actor*) {
  return {[](const call& x) { return x.options.idempotency_key; }};
}

// Asks through a local gate and reports the keys.
caf::behavior local_asker(caf::event_based_actor* self, const caf::actor& to,
                          std::promise<std::set<std::string>>* done) {
  auto gate = std::make_shared<local_gate<>>(self, worker{to}.takes_calls(),
                                             seeded_stack());
  auto found = std::make_shared<std::set<std::string>>();
  auto left = std::make_shared<int>(calls_of_each);
  return {[=](int x) {
    gate->request(x).then(
      [=](const std::string& key) {
        found->insert(key);
        if (--*left == 0)
          done->set_value(*found);
      },
      [](caf::error&) {});
  }};
}

// What the gates of a new system draw for their first calls.
void collect_keys(std::multiset<std::string>& out) {
  system_config cfg;
  caf::actor_system sys{cfg};
  auto echo = caf::actor_cast<caf::actor>(sys.spawn(key_echo));
  caf::scoped_actor self{sys};
  for (const auto& s : {seeded_stack(), seeded_stack_per_key()}) {
    auto gate = spawn_gate(sys, worker{echo}.takes_calls(), s);
    for (int i = 0; i < calls_of_each; ++i)
      portable::ask_blocking(self, gate, 10s, i)
        .receive([&](const std::string& key) { out.insert(key); },
                 [](caf::error& err) { FAIL() << to_string(err); });
    caf::anon_send_exit(gate, caf::exit_reason::user_shutdown);
  }
  std::promise<std::set<std::string>> done;
  auto local = sys.spawn(local_asker, echo, &done);
  for (int i = 0; i < calls_of_each; ++i)
    portable::send_anon(local, i);
  for (const auto& key : done.get_future().get())
    out.insert(key);
  caf::anon_send_exit(local, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(echo, caf::exit_reason::user_shutdown);
}

TEST(equal_seeds, draw_no_idempotency_key_twice_outside_virtual_time) {
  std::multiset<std::string> all;
  collect_keys(all);
  collect_keys(all);
  EXPECT_EQ(all.size(), 6u * calls_of_each);
  for (const auto& key : all) {
    EXPECT_EQ(key.size(), 32u);
    EXPECT_EQ(all.count(key), 1u) << key;
  }
}

} // namespace
} // namespace caisson::test
