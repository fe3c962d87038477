// Calls that retries without bounds leave with a worker that is silent, and in
// memory, against those of a retrier.
#include <caisson/gate.hpp>
#include <caisson/testing/virtual_time.hpp>

#include "bench/measure.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>

using namespace std::chrono_literals;

namespace caisson::bench {
namespace {

struct attempts {
  std::size_t total = 0;
  std::size_t most = 0;
};

// Never answers. Forgets an attempt that is no longer wanted.
class silent_worker final : public caf::event_based_actor {
public:
  silent_worker(caf::actor_config& cfg, attempts& seen)
    : caf::event_based_actor(cfg), seen_(seen) {}

  caf::behavior make_behavior() override {
    return {
      [this](int) -> caf::result<int> {
        auto promise = make_response_promise<int>();
        working_.emplace(portable::current_call(this), promise);
        ++seen_.total;
        seen_.most = std::max(seen_.most, working_.size());
        return promise;
      },
      [this](const cancelled& x) { working_.erase(x.number); },
    };
  }

  void on_exit() override { working_.clear(); }

private:
  attempts& seen_;
  std::unordered_map<std::uint64_t, caf::typed_response_promise<int>> working_;
};

// Makes a call for each `int` that it gets. With a pause, it makes another
// attempt after that pause, again and again, until one is answered.
class client final : public caf::event_based_actor {
public:
  client(caf::actor_config& cfg, caf::actor to, duration pause)
    : caf::event_based_actor(cfg), to_(std::move(to)), pause_(pause) {}

  caf::behavior make_behavior() override {
    return {[this](int) { attempt(); }};
  }

private:
  void attempt() {
    portable::ask(this, to_, portable::no_timeout, 1)
      .then([](int) {}, [](caf::error&) {});
    if (pause_ > duration::zero())
      portable::later(this, pause_, 1);
  }

  caf::actor to_;
  duration pause_;
};

struct options {
  std::uint32_t rate = 20;
  std::uint32_t seconds = 10;
};

constexpr auto attempt_limit = 100ms;

// The usual way to write it in one stack: a limit for the call, few attempts
// within a budget, a limit for each attempt, and a breaker.
stack bounded_stack() {
  return stack{}
    .deadline({.timeout = 1s})
    .retrier({.max_attempts = 3, .idempotent = true})
    .breaker({.threshold = 5})
    .deadline({.timeout = attempt_limit});
}

void measure(const char* name, const options& o, bool bounded) {
  attempts seen;
  virtual_time world;
  auto& system = world.system();
  auto silent = caf::actor_cast<caf::actor>(
    system.spawn<silent_worker>(std::ref(seen)));
  auto target = bounded ? spawn_gate(system, worker{silent}.takes_cancelled(),
                                     bounded_stack())
                        : silent;
  auto pause = bounded ? duration::zero() : duration{attempt_limit};
  auto asking = caf::actor_cast<caf::actor>(
    system.spawn<client>(target, pause));
  world.run_until_idle();
  auto before = heap_mib();
  auto calls = o.rate * o.seconds;
  for (std::uint32_t i = 0; i < calls; ++i) {
    portable::send_anon(asking, 1);
    world.run_until_idle();
    world.advance(duration{1s} / o.rate);
  }
  auto grown = heap_mib() - before;
  fmt::print("| {} | {} | {} | {} | {:.2f} MiB |\n", name, calls, seen.total,
             seen.most, grown);
  for (const auto& x : {asking, target, silent})
    caf::anon_send_exit(x, caf::exit_reason::kill);
  world.run_until_idle();
}

} // namespace
} // namespace caisson::bench

int main(int argc, char** argv) {
  using namespace caisson::bench;
  options o;
  CLI::App app{"Calls a worker that never answers, in virtual time: in a loop "
               "that tries again every\n100 ms without end, and by a gate "
               "that bounds attempts and time. Prints the calls, the\n"
               "attempts that came to the worker, the most that were with it "
               "at once, and by how much\nthe memory in use has grown."};
  app.add_option("--rate", o.rate, "calls per second, default 20")
    ->check(CLI::Range(1, 10'000));
  app.add_option("--seconds", o.seconds, "how long, default 10")
    ->check(CLI::Range(1, 3'600));
  CLI11_PARSE(app, argc, argv);
  caisson::init_types();
  fmt::print("| how failed calls are repeated | calls | attempts | most at "
             "once with the worker | memory |\n"
             "| --- | --- | --- | --- | --- |\n");
  measure("a loop without bounds", o, false);
  measure("a retrier with budget, limits and breaker", o, true);
}
