// Counts page views: a thousand writes are acknowledged at once, and the
// database gets a few. It is down for a while, and nothing is lost.
#include "story.hpp"

#include <caisson/gate.hpp>
#include <caisson/stack/layers/cache_layer.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

using namespace std::chrono_literals;

namespace {

struct database {
  bool up = true;
  int writes = 0;
  std::map<std::string, std::int32_t> views;
};

caf::behavior keep_views(std::shared_ptr<database> db) {
  return {
    [db](const std::string& page, std::int32_t n) -> caf::result<bool> {
      if (!db->up)
        return caf::sec::runtime_error;
      ++db->writes;
      db->views[page] = n;
      return true;
    },
  };
}

// [forms]
/// A page and a number set what the page as a message reads.
caisson::cache_forms views_by_page() {
  auto forms = caisson::cache_forms::keyed_by<std::string>(
    [](const std::string& page) { return page; });
  forms.write =
    [](const caf::message& x) -> std::optional<caisson::cached_write> {
    if (!x.match_elements<std::string, std::int32_t>())
      return std::nullopt;
    return caisson::cached_write{
      .key = x.get_as<std::string>(0),
      .value = caf::make_message(x.get_as<std::int32_t>(1)),
      .answer = caf::make_message(true)};
  };
  return forms;
}
// [/forms]

} // namespace

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  auto db = std::make_shared<database>();
  auto gate = caisson::spawn_gate(
    world, world.system().spawn(keep_views, db),
    caisson::stack{"views"}.cache({.flush_after = 1s}, views_by_page()));
  auto set = [&](const std::string& page, std::int32_t n) {
    return world.request(gate, page, n);
  };
  auto read = [&](const std::string& page) {
    return world.request(gate, page).value<std::int32_t>();
  };
  auto report = [&] {
    story.print("home has {} views; the database got {} writes and has {}",
                read("home"), db->writes, db->views["home"]);
  };

  for (std::int32_t n = 1; n <= 1000; ++n) {
    set("home", n);
    world.advance(5ms);
  }
  report();
  story.check(db->writes <= 6, "a thousand writes are a few");

  story.print("-- the database goes down");
  db->up = false;
  set("home", 1001);
  world.advance(4s);
  report();
  world.advance(2s);
  auto refused = set("home", 1002);
  story.print("-- after five seconds a write has to wait for the database");
  story.check(!refused.ready(), "it is not acknowledged");

  story.print("-- it comes back");
  db->up = true;
  world.advance(10s);
  story.check(refused.ok() && db->views["home"] == 1002,
              "both were written, in order");
  story.print("the database has {}", db->views["home"]);

  set("home", 1003);
  auto drained = world.request(gate, caisson::drain{});
  story.check(drained.ok() && db->views["home"] == 1003,
              "a drain writes what is left");
  return story.end();
}

/* It prints:

  5.000 s  home has 1000 views; the database got 5 writes and has 1000
  5.000 s  -- the database goes down
  9.000 s  home has 1001 views; the database got 5 writes and has 1000
 11.000 s  -- after five seconds a write has to wait for the database
 11.000 s  -- it comes back
 21.000 s  the database has 1002
*/
