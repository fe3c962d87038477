// A rate for each tenant: a loud one cannot use up what the others have.
#include "story.hpp"

#include <caisson/gate.hpp>
#include <caisson/policies.hpp>
#include <caisson/testing/scripted_worker.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using caisson::wrap;

namespace {

/// Answers at once.
caisson::scripted_worker::reply serve(std::int32_t x) {
  return caisson::scripted_worker::reply::value(x);
}

// [stack]
caisson::stack tenants() {
  return caisson::stack{"api"}.add<caisson::keyed<caisson::limiter>>(
    {{.rate = 2, .burst = 2},
     {.max_keys = 1000, .overrides = {{"gold", {{"burst", "5"}}}}}});
}
// [/stack]

class clients {
public:
  clients(caisson::virtual_time& world, demo::story& story,
          caisson::control_handle gate)
    : world_(world), story_(story), gate_(std::move(gate)) {}

  /// So many calls at once; returns how many were answered.
  int call(const std::string& tenant, int n) {
    auto good = 0;
    std::string last;
    for (std::int32_t i = 0; i < n; ++i) {
      auto answer = world_.request(gate_, wrap(i).key(tenant));
      if (answer.ok())
        ++good;
      else
        last = "; then " + demo::text_of(answer);
    }
    story_.print("{}: {} of {} calls answered{}", tenant, good, n, last);
    return good;
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
  caisson::scripted_worker api{
    world, caisson::scripted_worker::on<std::int32_t>(serve)};
  auto gate = caisson::spawn_gate(world, api.handle(), tenants());
  clients all{world, story, gate};

  story.check(all.call("loud", 9) == 2, "a loud tenant gets its own burst");
  story.check(all.call("quiet", 1) == 1, "and takes nothing from a quiet one");
  story.check(all.call("gold", 9) == 5, "a tenant can have its own settings");

  auto changed = world.request(
    gate,
    caisson::reconfigure{"limiter", {{"per_key.overrides.loud.rate", "1"}}});
  story.print("a rate of 1 for loud? {}", demo::text_of(changed));
  world.advance(1s);
  story.check(all.call("loud", 9) == 1, "or get them while the gate runs");

  auto look = [&] {
    auto answer = world.request(gate, caisson::get_status{});
    return answer.value<caisson::status>().layer("limiter");
  };
  auto layer = look();
  for (const auto& x : layer.keys)
    story.print("{}: {} admitted, {} refused", x.key, x.admitted,
                x.metrics.at("rate_limited"));
  story.check(layer.metrics.at("keys") == 3, "the status distinguishes them");

  world.advance(10min);
  auto keys = look().metrics.at("keys");
  story.print("ten minutes later: {} keys", keys);
  story.check(keys == 0, "unused keys are forgotten");
  return story.end();
}

/* It prints:

  0.000 s  loud: 2 of 9 calls answered; then rate_limited by limiter, retry after 500 ms
  0.000 s  quiet: 1 of 1 calls answered
  0.000 s  gold: 5 of 9 calls answered; then rate_limited by limiter, retry after 500 ms
  0.000 s  a rate of 1 for loud? done
  1.000 s  loud: 1 of 9 calls answered; then rate_limited by limiter, retry after 1 s
  1.000 s  gold: 5 admitted, 4 refused
  1.000 s  loud: 3 admitted, 15 refused
  1.000 s  quiet: 1 admitted, 0 refused
601.000 s  ten minutes later: 0 keys
*/
