// Layers of the kind semaphore in the tests of stacks.
#include "support/layer_traits.hpp"

#include <caisson/policies/semaphore.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

texts semaphore_settings(random_settings& r) {
  texts out{{"permits", r.word({"1", "2", "50"})},
            {"max_waiters", r.prompt() ? "0" : r.word({"0", "1", "20"})},
            {"max_wait", r.time({0ms, 20ms, 1'000ms, unlimited})}};
  r.order_of_queue(out);
  return out;
}

layer_traits semaphore_traits() {
  auto x = traits_for<semaphore>();
  x.settings = semaphore_settings;
  x.can_wait = true;
  x.situations = {{.name = "parked at a semaphore",
                   .policies =
                     [](two_workers&) {
                       return stack{}.semaphore(
                         {.permits = 1, .max_waiters = 9});
                     },
                   .before = 1},
                  {.name = "waiting for a permit of its key",
                   .policies =
                     [](two_workers&) {
                       return stack{}.add<keyed<semaphore>>(
                         {{.permits = 1, .max_waiters = 9}});
                     },
                   .before = 1,
                   .content = situations::with_key}};
  return x;
}

const registered_layer registered_semaphore{semaphore_traits()};

} // namespace
} // namespace caisson::test
