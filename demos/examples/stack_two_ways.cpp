// Builds a stack in code and from a TOML file, and finds them to be the same.
#include "story.hpp"

#include <caisson/config/stack_toml.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/gate.hpp>
#include <caisson/settings/toml.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

using namespace std::chrono_literals;
using caisson::schedule;

namespace {

caisson::stack from_code() {
  return caisson::stack{"payments"}
    .default_deadline(30s)
    .deadline({.name = "overall", .timeout = 5s})
    .retrier({.max_attempts = 3,
              .backoff = schedule::exponential(100ms).limit(1s).jittered(
                caisson::jitter::full),
              .idempotent = true})
    .breaker({.threshold = 5, .open = schedule::constant(10s)})
    .semaphore({.permits = 4, .max_waiters = 16, .max_wait = 500ms});
}

/// All settings of all layers, one per line.
std::string settings_of(const caisson::stack& s) {
  std::string out;
  for (auto& layer : s.build())
    for (auto& row : layer->config_rows())
      out += fmt::format("{}.{} = {}\n", layer->name(), row.key, row.value);
  return out;
}

/// Fails the first two attempts.
caf::behavior payments(std::shared_ptr<int> attempts) {
  return {
    [attempts](std::int32_t amount) -> caf::result<std::int32_t> {
      if (++*attempts <= 2)
        return caf::sec::runtime_error;
      return amount;
    },
  };
}

/// Makes a payment through a gate with the stack; says when it was made.
std::string pay(caisson::stack s) {
  caisson::virtual_time world;
  auto worker = world.system().spawn(payments, std::make_shared<int>(0));
  // The same seed: the same jitter.
  auto gate = caisson::spawn_gate(world, worker, s.seed(1));
  auto start = world.now();
  auto answer = world.request(gate, std::int32_t{100});
  world.advance(5s);
  return fmt::format("{} paid at the third attempt, after {:.3f} s",
                     demo::text_of(answer),
                     caisson::to_seconds(answer.at() - start));
}

} // namespace

int main() {
  demo::story story;
  auto file = std::filesystem::path{CAISSON_DEMOS_DIR} / "stacks.toml";
  auto one = from_code();
  auto two = caisson::load_stacks(file).stacks.at("payments").policies;

  for (auto& layer : one.build())
    story.print("{:<10} {} settings", layer->name(),
                layer->config_rows().size());
  story.check(settings_of(one) == settings_of(two),
              "all settings of all layers are the same");

  auto first = pay(one);
  auto second = pay(two);
  story.print("from code: {}", first);
  story.print("from TOML: {}", second);
  story.check(first == second, "and so is what the gates do");

  // With mistakes in it, nothing is built and all of them are reported.
  std::ifstream in{file};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  auto replace = [&](const std::string& x, const std::string& y) {
    text.replace(text.find(x), x.size(), y);
  };
  replace("max_attempts = 3", "max_attempt = 3");
  replace("permits = 4", "permits = 0");
  replace("10s", "10 parsecs");
  caisson::problems found;
  auto none = caisson::read_stacks(
    caisson::parse_toml(text, "stacks.toml", found), found);
  story.print("with three mistakes in it:");
  for (auto& x : found)
    story.print("  {}", to_text(x));
  story.check(found.size() == 3 && none.stacks.empty(),
              "all mistakes are reported, and nothing is built");
  return story.end();
}

/* It prints:

overall    8 settings
retrier    28 settings
breaker    31 settings
semaphore  16 settings
from code: 100 paid at the third attempt, after 0.232 s
from TOML: 100 paid at the third attempt, after 0.232 s
with three mistakes in it:
  stacks.toml:21:15: stack.payments.layer[1].max_attempt: unknown key, did you mean "max_attempts"? known keys: kind, per_key, verify, name, mode, max_attempts, backoff, retry_after_cap, retry_after_margin, overload_factor, idempotent, idempotency_keys, heed_breakers, retry_on, fail_on, budget, budget_ratio, budget_reserve, budget_ttl, budget_cost, budget_timeout_cost, budget_overload_cost, budget_rejection_cost, budget_name, unsafe, verify_timeout, verify_attempts, verify_pause, alarm_first_try, alarm_window, alarm_minimum_calls
  stacks.toml:28:8: stack.payments.layer[2].open: "10 parsecs" is not a schedule, allowed: a duration such as "250ms", "none", a table or a list of durations or tables
  stacks.toml:32:11: stack.payments.layer[3].permits: 0 is out of range, allowed: 1 to 1000000
*/
