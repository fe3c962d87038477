// A limit on concurrency that finds by itself how much a service can take.
#include "story.hpp"

#include <caisson/gate.hpp>
#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>
#include <caisson/stack/add.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

using promise = caf::typed_response_promise<std::int32_t>;

/// Answers so many queries at a time, each after 50 ms; the others queue.
class search final : public caf::event_based_actor {
public:
  search(caf::actor_config& cfg, const std::size_t* servers)
    : caf::event_based_actor(cfg), servers_(servers) {}

  caf::behavior make_behavior() override {
    return {
      [this](std::int32_t) -> caf::result<std::int32_t> {
        queue_.push_back(make_response_promise<std::int32_t>());
        auto response = queue_.back();
        serve();
        return response;
      },
      [this](std::int64_t) {
        busy_.front().deliver(std::int32_t{1});
        busy_.pop_front();
        serve();
      },
    };
  }

  void on_exit() override {
    queue_.clear();
    busy_.clear();
  }

private:
  void serve() {
    while (!queue_.empty() && busy_.size() < *servers_) {
      busy_.push_back(std::move(queue_.front()));
      queue_.pop_front();
      delayed_send(this, 50ms, std::int64_t{0});
    }
  }

  const std::size_t* servers_;
  std::deque<promise> queue_;
  std::deque<promise> busy_;
};

} // namespace

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  std::size_t servers = 20;
  auto service = world.system().spawn<search>(&servers);
  // [stack]
  auto policies = caisson::stack{"client"}.seed(1).add<caisson::adaptive_limit>(
    {.algorithm = caisson::limit_algorithm::gradient,
     .initial_limit = 20,
     .max_limit = 200,
     .window = 500ms,
     .buffer = 0.1});
  // [/stack]
  auto client = caisson::spawn_gate(world, service, policies);

  auto look = [&] {
    return world.request(client, caisson::get_status{})
      .value<caisson::status>()
      .layer("adaptive_limit");
  };
  // 800 calls a second for five seconds. Returns how many were answered.
  auto call = [&] {
    auto before = look();
    for (auto i = 0; i < 4'000; ++i) {
      world.request(client, std::int32_t{1});
      world.advance(1'250us);
    }
    auto after = look();
    auto since = [&](const char* name) {
      return after.metrics.at(name) - before.metrics.at(name);
    };
    story.print("  {:4} answered, {:4} refused; {}, limit {:2}, latency {} ms",
                since("finished"), since("queue_full"), after.state,
                after.metrics.at("limit"),
                after.metrics.at("latency_us") / 1'000);
    return since("finished");
  };

  story.print("20 servers: 400 calls a second of 800");
  std::int64_t answered = 0;
  for (auto i = 0; i < 4; ++i)
    answered = call();
  story.check(answered > 1'900, "all servers are busy");
  story.check(look().metrics.at("limit") <= 30, "few calls queue");
  servers = 10;
  story.print("10 servers: 200 calls a second of 800");
  for (auto i = 0; i < 4; ++i)
    answered = call();
  story.check(answered > 950, "all servers are busy");
  story.check(look().metrics.at("limit") < 17, "few calls queue");
  servers = 20;
  story.print("20 servers again");
  for (auto i = 0; i < 5; ++i)
    answered = call();
  story.check(answered > 1'900, "all servers are busy");
  story.print("a minute after the first measurement there is another one");
  call();
  story.check(look().metrics.at("measured") == 2, "there is");
  return story.end();
}

/* It prints:

  0.000 s  20 servers: 400 calls a second of 800
  5.000 s    1692 answered, 2279 refused; adjusting, limit 30, latency 60 ms
 10.000 s    2000 answered, 2000 refused; adjusting, limit 30, latency 60 ms
 15.000 s    2000 answered, 2000 refused; adjusting, limit 30, latency 60 ms
 20.000 s    2000 answered, 2000 refused; adjusting, limit 30, latency 60 ms
 20.000 s  10 servers: 200 calls a second of 800
 25.000 s    1010 answered, 3005 refused; adjusting, limit 13, latency 79 ms
 30.000 s    1000 answered, 3002 refused; adjusting, limit 13, latency 79 ms
 35.000 s    1000 answered, 2997 refused; adjusting, limit 16, latency 52 ms
 40.000 s    1000 answered, 3003 refused; adjusting, limit 13, latency 79 ms
 40.000 s  20 servers again
 45.000 s    1932 answered, 2053 refused; adjusting, limit 28, latency 60 ms
 50.000 s    2000 answered, 2000 refused; adjusting, limit 28, latency 60 ms
 55.000 s    2000 answered, 2000 refused; adjusting, limit 28, latency 60 ms
 60.000 s    2000 answered, 2000 refused; adjusting, limit 28, latency 60 ms
 65.000 s    2000 answered, 2000 refused; adjusting, limit 28, latency 60 ms
 65.000 s  a minute after the first measurement there is another one
 70.000 s    1707 answered, 2291 refused; adjusting, limit 29, latency 56 ms
*/
