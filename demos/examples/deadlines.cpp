// Bounds a call as a whole and each of its attempts; late results are dropped.
#include "story.hpp"

#include <caisson/gate.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace std::chrono_literals;

/// Takes the given times for its attempts, in order.
class slow_worker final : public caf::event_based_actor {
public:
  slow_worker(caf::actor_config& cfg, demo::story* story,
              std::vector<caisson::duration> times)
    : caf::event_based_actor(cfg), story_(story), times_(std::move(times)) {}

  caf::behavior make_behavior() override {
    return {
      [this](const std::string&) -> caf::result<std::string> {
        auto time = times_.at(promises_.size());
        story_->print("  attempt {} takes {}", promises_.size() + 1,
                      caisson::rounded_text(time));
        auto number = static_cast<std::int32_t>(promises_.size());
        promises_.push_back(make_response_promise<std::string>());
        delayed_send(this, time, number);
        return promises_.back();
      },
      [this](std::int32_t number) {
        story_->print("  attempt {} is answered", number + 1);
        promises_[static_cast<std::size_t>(number)].deliver(
          std::string{"the answer"});
      },
    };
  }

  void on_exit() override { promises_.clear(); }

private:
  demo::story* story_;
  std::vector<caisson::duration> times_;
  std::vector<caf::typed_response_promise<std::string>> promises_;
};

int main() {
  caisson::virtual_time world;
  demo::story story{world};

  auto worker = world.system().spawn<slow_worker>(
    &story, std::vector<caisson::duration>{600ms, 100ms, 900ms, 900ms, 900ms});
  auto gate = caisson::spawn_gate(
    world, worker,
    caisson::stack{}
      .deadline({.name = "overall", .timeout = 1s})
      .retrier(
        {.backoff = caisson::schedule::constant(50ms), .idempotent = true})
      .deadline({.name = "per attempt", .timeout = 400ms}));
  auto call = [&](auto&& content) {
    auto answer = world.request(gate, content);
    while (!answer.ready())
      world.advance(10ms);
    story.print("answer: {}", demo::text_of(answer));
    return answer;
  };

  story.print("the first attempt hangs");
  auto second = call(std::string{"query"});
  story.check(second.ok(), "the second attempt is in time");

  world.advance_to(caisson::time_point{} + 2s);
  story.print("all attempts hang");
  auto none = call(std::string{"query"});
  story.check(none.is(caisson::errc::deadline_exceeded)
                && caisson::context_of(none.error())->policy == "overall",
              "the whole call has its deadline too");

  world.advance_to(caisson::time_point{} + 4s);
  story.print("a call that comes too late");
  auto late = call(caisson::wrap(std::string{"query"}).by(world.now() - 1ns));
  story.check(!caisson::context_of(late.error())->may_have_executed,
              "it is refused before any work is done for it");

  auto status = world.request(gate, caisson::get_status{})
                  .value<caisson::status>();
  story.print("late results, dropped: {}", status.metrics.at("late_results"));
  story.check(status.metrics.at("late_results") == 4,
              "each attempt that was cut off answers in vain");
  world.kill(worker);
  return story.end();
}

/* It prints:

  0.000 s  the first attempt hangs
  0.000 s    attempt 1 takes 600 ms
  0.450 s    attempt 2 takes 100 ms
  0.550 s    attempt 2 is answered
  0.550 s  answer: the answer
  0.600 s    attempt 1 is answered
  2.000 s  all attempts hang
  2.000 s    attempt 3 takes 900 ms
  2.450 s    attempt 4 takes 900 ms
  2.900 s    attempt 3 is answered
  2.900 s    attempt 5 takes 900 ms
  3.000 s  answer: deadline_exceeded by overall
  3.350 s    attempt 4 is answered
  3.800 s    attempt 5 is answered
  4.000 s  a call that comes too late
  4.000 s  answer: deadline_exceeded by gate
  4.000 s  late results, dropped: 4
*/
