// Guards an existing worker: its callers keep their code, and their types.
#include "story.hpp"

#include <caisson/gate.hpp>

#include <cstdint>
#include <string>

using namespace std::chrono_literals;

// -- what was there before ----------------------------------------------------

struct price_of {
  std::string article = {};
};
CAISSON_MESSAGE(price_of, article)

CAF_BEGIN_TYPE_ID_BLOCK(shop_messages, caisson::first_free_type_id)
CAF_ADD_TYPE_ID(shop_messages, (price_of))
CAF_END_TYPE_ID_BLOCK(shop_messages)

using shop = caf::typed_actor<caisson::portable::sig<std::int32_t(price_of)>>;

shop::behavior_type shop_actor() {
  return {
    [](const price_of& x) -> caf::result<std::int32_t> {
      if (x.article == "teapot")
        return 1250;
      return caf::sec::invalid_argument;
    },
  };
}

/// Knows nothing of gates.
std::string ask(caf::actor_system& system, const shop& target,
                const std::string& article) {
  std::string text;
  caf::scoped_actor self{system};
  self->request(target, 10s, price_of{article})
    .receive([&](std::int32_t price) { text = std::to_string(price); },
             [&](const caf::error& err) { text = demo::text_of(err); });
  return text;
}

// -- what is new --------------------------------------------------------------

int main() {
  caisson::portable::init_types<caf::id_block::shop_messages>();
  caisson::system_config config;
  caisson::portable::add_types<caf::id_block::shop_messages>(config);
  caf::actor_system system{config};
  demo::story story;

  shop worker = system.spawn(shop_actor);
  story.print("without a gate, teapot:  {}", ask(system, worker, "teapot"));

  // The type is the worker's, so whatever takes a shop takes the gate.
  shop guarded = caisson::spawn_guard(system, worker,
                                      caisson::stack{"shop gate"}
                                        .deadline({.timeout = 2s})
                                        .breaker({.threshold = 5})
                                        .semaphore({.permits = 20}));
  auto price = ask(system, guarded, "teapot");
  story.print("through it, teapot:      {}", price);
  story.check(price == "1250", "the worker's answer comes back");

  auto unknown = ask(system, guarded, "unicorn");
  story.print("through it, unicorn:     {}", unknown);
  story.check(unknown == "the worker's own error",
              "the worker's errors come back unchanged");

  caf::anon_send_exit(worker, caf::exit_reason::kill);
  {
    caf::scoped_actor self{system};
    self->wait_for(worker);
  }
  auto dead = ask(system, guarded, "teapot");
  story.print("and the worker is dead:  {}", dead);
  story.check(dead == "worker_down by shop gate", "a dead worker is reported");

  caisson::stop_gate(guarded);
  return story.end();
}

/* It prints:

without a gate, teapot:  1250
through it, teapot:      1250
through it, unicorn:     the worker's own error
and the worker is dead:  worker_down by shop gate
*/
