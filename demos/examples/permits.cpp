// Lends two licences by acquire and release; a crash releases one, too.
#include "story.hpp"

#include <caisson/gate.hpp>

#include <string>

using namespace std::chrono_literals;
using caisson::acquire;
using caisson::permit;
using caisson::release;

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  // No worker: the gate only hands out permits.
  auto desk = caisson::spawn_semaphore(world, caisson::worker{},
                                       {.permits = 2, .max_waiters = 5});
  auto lent = [&] {
    auto status = world.request(desk, caisson::get_status{});
    return status.value<caisson::status>().layers.at(0).metrics.at("in_use");
  };
  // Lets the actors run, and says what has come of a request.
  auto say = [&](const std::string& name, const caisson::pending_answer& x) {
    world.run_until_idle();
    auto text = !x.ready() ? "waits"
                : x.ok()   ? "has a licence"
                           : demo::text_of(x);
    story.print("{} {} ({} of 2 lent)", name, text, lent());
  };

  auto ann = world.make_probe();
  auto bob = world.make_probe();
  auto cem = world.make_probe();
  auto dot = world.make_probe();

  auto anns = ann.request(desk, acquire{});
  say("Ann", anns);
  auto bobs = bob.request(desk, acquire{});
  say("Bob", bobs);
  auto cems = cem.request(desk, acquire{});
  say("Cem", cems);

  world.advance(1s);
  auto back = world.request(desk, release{anns.value<permit>().id});
  story.print("Ann gives hers back: {}", demo::text_of(back));
  say("Cem", cems);
  story.check(cems.ok(), "a released permit goes to the one who waits");

  auto again = world.request(desk, release{anns.value<permit>().id});
  story.print("Ann gives it back once more: {}", demo::text_of(again));
  story.check(again.is(caisson::errc::no_such_permit) && lent() == 2,
              "a permit is given back once");

  // A permit is a lease: it ends at the latest when this time has passed.
  world.advance(1s);
  auto dots = dot.request(desk, acquire{.time_left = 10s});
  say("Dot", dots);
  world.advance(1s);
  story.print("Bob crashes");
  world.kill(bob.handle());
  say("Dot", dots);
  story.check(dots.ok(), "who dies gives his permit back");

  world.advance(9s);
  story.print("Dot has forgotten hers; her ten seconds are over ({} of 2 lent)",
              lent());
  story.check(lent() == 1, "a lease ends");
  world.request(desk, release{cems.value<permit>().id});
  story.print("Cem gives his back ({} of 2 lent)", lent());
  story.check(lent() == 0, "no permit is lost");
  return story.end();
}

/* It prints:

  0.000 s  Ann has a licence (1 of 2 lent)
  0.000 s  Bob has a licence (2 of 2 lent)
  0.000 s  Cem waits (2 of 2 lent)
  1.000 s  Ann gives hers back: done
  1.000 s  Cem has a licence (2 of 2 lent)
  1.000 s  Ann gives it back once more: no_such_permit by gate
  2.000 s  Dot waits (2 of 2 lent)
  3.000 s  Bob crashes
  3.000 s  Dot has a licence (2 of 2 lent)
 12.000 s  Dot has forgotten hers; her ten seconds are over (1 of 2 lent)
 12.000 s  Cem gives his back (0 of 2 lent)
*/
