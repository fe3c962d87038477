// Puts a policy of one's own into a stack, in code and in TOML, and operates
// it.
#include "key_ceiling.hpp"
#include "story.hpp"

#include <caisson/config/stack_toml.hpp>
#include <caisson/gate.hpp>
#include <caisson/settings/settings_table.hpp>
#include <caisson/settings/toml.hpp>
#include <caisson/stack/policy_kinds.hpp>
#include <caisson/testing/scripted_worker.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using caisson::wrap;
using demo::key_ceiling;

namespace {

// [text]
constexpr auto text = R"(
[[stack.shop.layer]]
kind = "key_ceiling"
per_key = 2

[[stack.shop.layer]]
kind = "semaphore"
permits = 4
)";
// [/text]

// [code]
caisson::stack from_code() {
  return caisson::stack{"shop"}
    .add<key_ceiling>({.per_key = 2})
    .semaphore({.permits = 4});
}
// [/code]

/// Takes a second for each order.
caisson::scripted_worker::reply fill(std::int32_t order) {
  return caisson::scripted_worker::reply::value(order).after(1s);
}

caisson::stack from_toml() {
  caisson::problems found;
  auto file = caisson::read_stacks(
    caisson::parse_toml(text, "shop.toml", found), found);
  if (!found.empty())
    throw caisson::config_error{std::move(found)};
  return file.stacks.at("shop").policies;
}

/// What tenants ask of the shop, and its answers.
class market {
public:
  market(caisson::virtual_time& world, demo::story& story,
         caisson::control_handle gate)
    : world_(world), story_(story), gate_(std::move(gate)) {}

  /// So many orders at once; a second later returns how many were filled.
  int order(const std::string& tenant, int n) {
    std::vector<caisson::pending_answer> answers;
    for (std::int32_t i = 0; i < n; ++i)
      answers.push_back(world_.request(gate_, wrap(i).key(tenant)));
    world_.advance(1s);
    auto filled = 0;
    std::string last;
    for (auto& x : answers)
      if (x.ok())
        ++filled;
      else
        last = "; the others: " + demo::text_of(x);
    story_.print("{} orders {} at once: {} filled{}", tenant, n, filled, last);
    return filled;
  }

  std::int64_t metric(const std::string& name) {
    auto status = world_.request(gate_, caisson::get_status{});
    return status.value<caisson::status>().metric("key_ceiling", name);
  }

private:
  caisson::virtual_time& world_;
  demo::story& story_;
  caisson::control_handle gate_;
};

} // namespace

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  // [register]
  caisson::add_policy_kind<key_ceiling>();
  // [/register]
  auto table = caisson::find_policy_kind("key_ceiling")->rows();
  fmt::print("{}\n", caisson::markdown_table(table));

  auto one = from_code().build();
  auto two = from_toml().build();
  story.check(one.at(0)->config_rows().at(2).value == "2"
                && two.at(0)->config_rows().at(2).value == "2",
              "a stack from code has the same settings as one from TOML");

  caisson::scripted_worker shop{
    world, caisson::scripted_worker::on<std::int32_t>(fill)};
  auto gate = caisson::spawn_gate(world, shop.handle(), from_toml());
  market tenants{world, story, gate};
  story.check(tenants.order("acme", 4) == 2, "acme gets its two places");
  story.check(tenants.order("bolt", 1) == 1, "bolt is not in its way");

  auto refused = world.request(
    gate, caisson::reconfigure{"key_ceiling", {{"per_key", "none"}}});
  story.print("per_key = none? {}", demo::text_of(refused));
  auto changed = world.request(
    gate, caisson::reconfigure{"key_ceiling", {{"per_key", "3"}}});
  story.print("per_key = 3? {}", demo::text_of(changed));
  story.check(changed.ok() && tenants.order("acme", 4) == 3,
              "the ceiling can be raised while it runs");
  story.print("passed {}, refused {}, in use {}", tenants.metric("passed"),
              tenants.metric("refused"), tenants.metric("in_use"));
  story.check(tenants.metric("in_use") == 0, "nothing is left over");
  return story.end();
}

/* It prints:

| setting | type | allowed | default | meaning |
| --- | --- | --- | --- | --- |
| `name` | string | any text | `""` | what the layer is called in errors, events and status; default: its kind |
| `mode` | choice | enforce, observe, off | `enforce` | enforce: decide and act; observe: decide, count and send events, but let every call pass; off: skip the layer |
| `per_key` | integer | 1 to 1000000 | `10` | how many calls with the same key may be in flight |
| `count_unnamed` | boolean | true, false | `false` | whether calls without a key count as those of one more key; otherwise they pass |

  1.000 s  acme orders 4 at once: 2 filled; the others: queue_full by key_ceiling
  2.000 s  bolt orders 1 at once: 1 filled
  2.000 s  per_key = none? invalid_config by shop: key_ceiling.per_key: "none" is not an integer, allowed: 1 to 1000000
  2.000 s  per_key = 3? done
  3.000 s  acme orders 4 at once: 3 filled; the others: queue_full by key_ceiling
  3.000 s  passed 6, refused 3, in use 0
*/
