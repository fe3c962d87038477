// A worker that answers with HTTP: what its status means to the policies.
#include "story.hpp"

#include <caisson/engine/answers.hpp>
#include <caisson/gate.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

/// What the service answers, whether it could help or not.
struct reply {
  std::int32_t status = 0;
  std::string retry_after = {};
  std::string body = {};
};
CAISSON_MESSAGE(reply, status, retry_after, body)

CAF_BEGIN_TYPE_ID_BLOCK(web_messages, caisson::first_free_type_id)
CAF_ADD_TYPE_ID(web_messages, (reply))
CAF_END_TYPE_ID_BLOCK(web_messages)

namespace {

/// Each path has the answers of its own first requests, and then the last.
struct web {
  std::vector<reply> answers_to(const std::string& path) const {
    if (path == "/orders/7")
      return {{503, "2", "busy"}, {503, "1", "busy"}, {200, "", "seven"}};
    if (path == "/orders/8")
      return {{500, "", "oops"}};
    if (path == "/orders/9")
      return {{409, "", "exists"}};
    return {{404, "", "no such thing"}};
  }

  caf::behavior behavior() {
    return {
      [this](const std::string& path) {
        auto answers = answers_to(path);
        auto n = static_cast<std::size_t>(count[path]++);
        return answers[std::min(n, answers.size() - 1)];
      },
    };
  }

  std::map<std::string, int> count;
};

// [adapter]
caisson::worker web_worker(caf::actor service) {
  return caisson::worker{std::move(service)}.classified_by(
    caisson::classify_http<reply>([](const reply& x) {
      return caisson::http_result{x.status, x.retry_after};
    }));
}
// [/adapter]

} // namespace

int main() {
  caisson::portable::init_types<caf::id_block::web_messages>();
  caisson::virtual_time world;
  demo::story story{world};
  web service;

  auto gate = caisson::spawn_gate(
    world,
    web_worker(world.system().spawn([&service] { return service.behavior(); })),
    caisson::stack{"web"}
      .retrier({.max_attempts = 4,
                .backoff = caisson::schedule::constant(100ms),
                .idempotent = true})
      .breaker({.threshold = 5}));

  auto get = [&](const std::string& path) {
    auto before = service.count[path];
    auto answer = world.request(gate, path);
    world.advance(5s);
    auto x = answer.value<reply>();
    auto attempts = service.count[path] - before;
    story.print("GET {:<10} {} {:<13} attempts: {}", path, x.status, x.body,
                attempts);
    return std::pair{x.status, attempts};
  };

  story.check(get("/orders/7") == std::pair{200, 3}, "503 is repeated");
  story.check(get("/orders/8") == std::pair{500, 2}, "500 is, once");
  story.check(get("/orders/9") == std::pair{409, 1}, "409 is not");
  for (int i = 0; i < 5; ++i)
    story.check(get("/unicorns") == std::pair{404, 1}, "404 is not");

  auto status = world.request(gate, caisson::get_status{})
                  .value<caisson::status>();
  story.print("the breaker is {}", status.layer("breaker").state);
  story.check(status.layer("breaker").state == "closed",
              "wrong requests open no breaker");
  for (const auto& [name, n] : status.metrics)
    if (name.starts_with("answers_") && n != 0)
      story.print("{}: {}", name, n);

  // An operator knows better about this service.
  world.request(gate,
                caisson::reconfigure{"retrier", {{"fail_on", "http:500"}}});
  story.print("-- fail_on = http:500");
  story.check(get("/orders/8") == std::pair{500, 1}, "500 is final now");
  return story.end();
}

/* It prints:

  5.000 s  GET /orders/7  200 seven         attempts: 3
 10.000 s  GET /orders/8  500 oops          attempts: 2
 15.000 s  GET /orders/9  409 exists        attempts: 1
 20.000 s  GET /unicorns  404 no such thing attempts: 1
 25.000 s  GET /unicorns  404 no such thing attempts: 1
 30.000 s  GET /unicorns  404 no such thing attempts: 1
 35.000 s  GET /unicorns  404 no such thing attempts: 1
 40.000 s  GET /unicorns  404 no such thing attempts: 1
 40.000 s  the breaker is closed
 40.000 s  answers_conflict: 1
 40.000 s  answers_fail: 5
 40.000 s  answers_ok: 1
 40.000 s  answers_retry: 2
 40.000 s  answers_retry_after: 2
 40.000 s  -- fail_on = http:500
 45.000 s  GET /orders/8  500 oops          attempts: 1
*/
