// A gate inside the actor that uses it: a call takes no more messages than a
// request, and one that is refused takes none.
#include "story.hpp"

#include <caisson/local_gate.hpp>
#include <caisson/testing/scripted_worker.hpp>

#include <cstdint>
#include <string>

using namespace std::chrono_literals;

// [shop]
/// Asks for prices by itself, through policies of its own.
class shop final : public caf::event_based_actor {
public:
  shop(caf::actor_config& cfg, demo::story* story, caf::actor prices)
    : caf::event_based_actor(cfg), story_(story),
      prices_(this, std::move(prices),
              caisson::stack{"prices"}
                .deadline({.timeout = 2s})
                .retrier({.max_attempts = 2,
                          .backoff = caisson::schedule::constant(100ms),
                          .idempotent = true,
                          .classify = {.allow = {"worker_down"}}})
                .breaker({.threshold = 3,
                          .open = caisson::schedule::constant(10s)})) {}

  caf::behavior make_behavior() override {
    return {[this](const std::string& item) {
      prices_.request(item).then(
        [this, item](std::int32_t price) {
          story_->print("{} costs {}", item, price);
        },
        [this, item](caf::error& err) {
          story_->print("{}: {}", item, demo::text_of(err));
        });
    }};
  }

private:
  demo::story* story_;
  caisson::local_gate<> prices_;
};
// [/shop]

int main() {
  caisson::virtual_time world;
  demo::story story{world};
  caisson::scripted_worker prices{
    world, caisson::scripted_worker::always(std::int32_t{7})};
  auto customer = world.system().spawn<shop>(&story, prices.handle());
  auto ask = [&](const std::string& item) {
    auto before = world.handled();
    world.send(customer, item);
    auto messages = world.handled() - before - 1;
    world.advance(1s);
    return messages;
  };

  story.print("the first question");
  auto first = ask("an apple");
  story.print("it took {} messages", first);
  story.check(first == 2, "a call takes as many messages as a request");

  story.print("the service has a bad moment");
  prices.plan(
    caisson::scripted_worker::reply::error(caisson::errc::worker_down));
  ask("a pear");
  story.check(prices.count() == 3, "the call was tried again");

  story.print("the service is broken");
  prices.become(
    caisson::scripted_worker::always(caf::make_error(caf::sec::runtime_error)));
  for (auto item : {"a plum", "a fig", "a date"})
    ask(item);
  auto refused = ask("a lemon");
  story.print("it took {} messages", refused);
  story.check(refused == 0, "an open breaker answers at once");

  world.kill(customer);
  return story.end();
}

/* It prints:

  0.000 s  the first question
  0.000 s  an apple costs 7
  1.000 s  it took 2 messages
  1.000 s  the service has a bad moment
  1.100 s  a pear costs 7
  2.000 s  the service is broken
  2.000 s  a plum: the worker's own error
  3.000 s  a fig: the worker's own error
  4.000 s  a date: the worker's own error
  5.000 s  a lemon: breaker_open by breaker, retry after 9 s
  6.000 s  it took 0 messages
*/
