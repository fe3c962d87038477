// Answers for a worker that fails: an old price from a cache, or else a fixed
// text.
#include "story.hpp"

#include <caisson/gate.hpp>

#include <memory>
#include <string>

using namespace std::chrono_literals;

namespace {

/// Knows prices for as long as there is `*power`.
caf::behavior prices(std::shared_ptr<bool> power) {
  return {
    [power](const std::string& article) -> caf::result<std::string> {
      if (!*power)
        return caf::sec::runtime_error;
      return article + " costs 12.50";
    },
  };
}

/// Knows what the teapot cost yesterday.
caf::behavior yesterdays_prices() {
  return {
    [](const std::string& article) -> caf::result<std::string> {
      if (article != "teapot")
        return caf::sec::runtime_error;
      return article + " cost 12.00 yesterday";
    },
  };
}

} // namespace

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  auto power = std::make_shared<bool>(true);
  using caisson::alternative;
  auto gate = caisson::spawn_gate(
    world, world.system().spawn(prices, power),
    caisson::stack{}
      .fallback({alternative::ask(world.system().spawn(yesterdays_prices)),
                 alternative::answer(std::string{"please ask at the counter"})})
      // Further in: it sees the worker's failures, not the answers instead.
      .breaker({.threshold = 3, .open = caisson::schedule::constant(10s)}));
  auto ask = [&](const std::string& article) {
    auto answer = world.request(gate, article);
    auto breaker = world.request(gate, caisson::get_status{})
                     .value<caisson::status>()
                     .layers.at(1)
                     .state;
    story.print("{}? {} (breaker {})", article, demo::text_of(answer), breaker);
    return demo::text_of(answer);
  };

  ask("teapot");
  world.advance(1s);
  story.print("-- the worker fails");
  *power = false;
  auto from_cache = ask("teapot");
  auto last_word = ask("kettle");
  ask("teapot");
  world.advance(1s);
  auto cached_answer = ask("teapot");

  world.advance(9s);
  story.print("-- the worker works again");
  *power = true;
  auto itself = ask("teapot");

  story.check(from_cache == "teapot cost 12.00 yesterday",
              "the first alternative is asked the same");
  story.check(last_word == "please ask at the counter",
              "if it fails too, the next one answers");
  story.check(cached_answer == from_cache,
              "also while the breaker keeps calls from the worker");
  story.check(itself == "teapot costs 12.50", "the worker has the first word");
  return story.end();
}

/* It prints:

  0.000 s  teapot? teapot costs 12.50 (breaker closed)
  1.000 s  -- the worker fails
  1.000 s  teapot? teapot cost 12.00 yesterday (breaker closed)
  1.000 s  kettle? please ask at the counter (breaker closed)
  1.000 s  teapot? teapot cost 12.00 yesterday (breaker open)
  2.000 s  teapot? teapot cost 12.00 yesterday (breaker open)
 11.000 s  -- the worker works again
 11.000 s  teapot? teapot costs 12.50 (breaker closed)
*/
