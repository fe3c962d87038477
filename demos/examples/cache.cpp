// Prices from a cache: one request to the worker for many callers, old prices
// while new ones are fetched, and while the worker is down.
#include "story.hpp"

#include <caisson/gate.hpp>
#include <caisson/stack/layers/cache_layer.hpp>

#include <memory>
#include <string>

using namespace std::chrono_literals;

namespace {

/// What a shop knows.
struct shop {
  bool open = true;
  int price = 12;
  int asked = 0;
};

/// Answers the price of an article, and takes new ones.
caf::behavior prices(std::shared_ptr<shop> s) {
  return {
    [s](const std::string& article) -> caf::result<std::string> {
      ++s->asked;
      if (!s->open)
        return caf::sec::runtime_error;
      return article + " costs " + std::to_string(s->price);
    },
    [s](const std::string&, std::int32_t price) { s->price = price; },
  };
}

// [forms]
/// An article's price is kept under its name. A message with an article and a
/// price changes it.
caisson::cache_forms prices_by_article() {
  auto forms = caisson::cache_forms::keyed_by<std::string>(
    [](const std::string& article) { return article; });
  forms.invalidates = [](const caf::message& x) -> std::optional<std::string> {
    if (!x.match_elements<std::string, std::int32_t>())
      return std::nullopt;
    return x.get_as<std::string>(0);
  };
  return forms;
}
// [/forms]

} // namespace

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  auto teapots = std::make_shared<shop>();
  // [stack]
  auto policies = caisson::stack{"prices"}.cache(
    {.ttl = 10s, .stale_while = 5s, .stale_if_error = 1h}, prices_by_article());
  // [/stack]
  auto gate = caisson::spawn_gate(world, world.system().spawn(prices, teapots),
                                  std::move(policies));
  auto ask = [&] {
    auto answer = world.request(gate, std::string{"teapot"});
    story.print("teapot? {} (asked the shop {} times)", demo::text_of(answer),
                teapots->asked);
    return demo::text_of(answer);
  };

  ask();
  ask();
  story.check(teapots->asked == 1, "the second answer is from the cache");

  story.print("-- the price rises, by a message through the gate");
  world.request(gate, std::string{"teapot"}, std::int32_t{13});
  story.check(ask() == "teapot costs 13", "a change drops what was kept");

  story.print("-- the price rises elsewhere");
  teapots->price = 14;
  world.advance(10s);
  story.check(ask() == "teapot costs 13", "an old price answers at once");
  story.check(ask() == "teapot costs 14", "the new one was fetched meanwhile");

  story.print("-- the shop closes");
  teapots->open = false;
  world.advance(30min);
  story.check(ask() == "teapot costs 14", "an old price instead of an error");
  ask();
  story.check(teapots->asked == 4, "the shop is left alone for a second");
  return story.end();
}

/* It prints:

  0.000 s  teapot? teapot costs 12 (asked the shop 1 times)
  0.000 s  teapot? teapot costs 12 (asked the shop 1 times)
  0.000 s  -- the price rises, by a message through the gate
  0.000 s  teapot? teapot costs 13 (asked the shop 2 times)
  0.000 s  -- the price rises elsewhere
 10.000 s  teapot? teapot costs 13 (asked the shop 3 times)
 10.000 s  teapot? teapot costs 14 (asked the shop 3 times)
 10.000 s  -- the shop closes
1810.000 s  teapot? teapot costs 14 (asked the shop 4 times)
1810.000 s  teapot? teapot costs 14 (asked the shop 4 times)
*/
