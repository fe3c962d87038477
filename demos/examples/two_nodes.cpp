// Calls a server that is killed and comes back: every call gets its one answer.
#include "process.hpp"
#include "story.hpp"

#include <caisson/caf/caf_io.hpp>
#include <caisson/gate.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

// -- the server's process -----------------------------------------------------

/// Works for 100 ms and answers with the time that was left when it began.
class server final : public caf::event_based_actor {
public:
  using caf::event_based_actor::event_based_actor;

  caf::behavior make_behavior() override {
    return {
      [this](const caisson::call& x) -> caf::result<std::int64_t> {
        left_.push_back(x.options.deadline_ns
                        - clock().now().time_since_epoch().count());
        promises_.push_back(make_response_promise<std::int64_t>());
        delayed_send(this, 100ms, true);
        return promises_.back();
      },
      [this](bool) {
        promises_.front().deliver(left_.front());
        promises_.pop_front();
        left_.pop_front();
      },
    };
  }

private:
  std::deque<caf::typed_response_promise<std::int64_t>> promises_;
  std::deque<std::int64_t> left_;
};

int serve(std::uint16_t port) {
  caisson::network_config config;
  caf::actor_system system{config};
  auto behind = system.spawn<server>();
  auto gate = caisson::spawn_gate(
    system, caisson::worker{behind}.takes_calls(),
    caisson::stack{"server"}.semaphore({.permits = 100}));
  auto published = caisson::portable::publish(system, gate, port);
  fmt::print("{}\n", published ? *published : 0);
  std::fflush(stdout);
  // Until the process that started this one closes the pipe, or ends.
  while (std::getchar() != EOF)
    continue;
  caisson::stop_gate(gate);
  caf::anon_send_exit(behind, caf::exit_reason::kill);
  return published ? 0 : 1;
}

// -- the client's process -----------------------------------------------------

struct tally {
  /// How often each result came, by kind of call.
  std::map<std::string, int> results;
  int asked = 0;
  int answered_once = 0;
  caisson::duration most_left = caisson::duration::zero();
  caisson::duration least_left = caisson::unlimited;
};

/// Calls the gate every 10 ms, in turn with three kinds of calls. Sees every
/// answer that comes, also a second one to the same call.
class caller final : public caisson::portable::interceptor<> {
public:
  static constexpr int calls = 210;
  static constexpr auto patience = 5s;

  caller(caf::actor_config& cfg, caf::actor gate, std::promise<tally>* result)
    : caisson::portable::interceptor<>(cfg), gate_(std::move(gate)),
      done_(result) {}

protected:
  caf::behavior make_behavior() override {
    auto result = caisson::portable::interceptor<>::make_behavior();
    set_timer(clock().now());
    return result;
  }

  caf::message_handler control() override {
    // An actor without any handler would end at once.
    return caf::message_handler{[](bool) {}};
  }

  void on_timer() override {
    using caisson::wrap;
    if (sum_.asked == calls)
      return finish();
    auto key = static_cast<std::uint64_t>(++sum_.asked);
    // In turn: repeatable, urgent, not repeatable.
    caisson::duration limit = key % 3 == 1 ? 200ms : patience;
    caisson::call x = wrap(std::string{"work"})
                        .within(limit)
                        .idempotent(key % 3 != 2);
    forward(gate_, key, caf::make_message(std::move(x)), false);
    end_ = caisson::time_after(clock().now(), patience + 1s);
    set_timer(caisson::time_after(clock().now(), 10ms));
  }

  void on_answer(std::uint64_t key, caf::message&& content) override {
    static const char* kinds[] = {"repeatable", "urgent", "not repeatable"};
    ++answers_[key];
    auto* left = caisson::portable::get_if<std::int64_t>(content);
    auto* error = caisson::portable::get_if<caf::error>(content);
    auto own = error && caisson::context_of(*error);
    auto result = left  ? "ok"
                  : own ? caisson::name_of(caisson::errc{error->code()})
                        : "?";
    ++sum_.results[fmt::format("{}: {}", kinds[key % 3], result)];
    if (left && key % 3 == 0) {
      sum_.most_left = std::max(sum_.most_left, caisson::duration{*left});
      sum_.least_left = std::min(sum_.least_left, caisson::duration{*left});
    }
  }

  void on_message(caisson::portable::reply_to, caf::message&&) override {}
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  /// Waits for all answers, and then for second ones.
  void finish() {
    auto now = clock().now();
    if (!complete_ && now < end_) {
      complete_ = answers_.size() == calls;
      return set_timer(caisson::time_after(now, 200ms));
    }
    for (auto& [key, count] : answers_)
      sum_.answered_once += count == 1;
    done_->set_value(sum_);
  }

  caf::actor gate_;
  std::promise<tally>* done_;
  caisson::time_point end_;
  bool complete_ = false;
  std::map<std::uint64_t, int> answers_;
  tally sum_;
};

// -- the plot -----------------------------------------------------------------

int main(int argc, char** argv) {
  // Whatever goes wrong, it ends.
  alarm(60);
  if (argc == 3 && std::string{argv[1]} == "server")
    return serve(static_cast<std::uint16_t>(std::stoi(argv[2])));

  demo::story story;
  auto up = std::make_unique<demo::process>("server", "0");
  auto port = up->read_line();
  story.print("the server is up");

  caisson::network_config config;
  caf::actor_system system{config};
  auto connect = [port](caf::actor_system& sys) {
    return caisson::portable::connect(
      sys, "127.0.0.1", static_cast<std::uint16_t>(std::stoi(port)));
  };
  using caisson::schedule;
  auto gate = caisson::spawn_gate(
    system,
    caisson::worker::supervised(
      connect, {.restart = schedule::constant(50ms), .max_restarts = 1000})
      .on_own_thread()
      .takes_calls(),
    caisson::stack{"client"}.retrier({.backoff = schedule::constant(20ms)}));
  std::promise<tally> done;
  auto result = done.get_future();
  auto calls = system.spawn<caller>(gate, &done);

  std::this_thread::sleep_for(700ms);
  story.print("the server is killed with -9, with calls in progress");
  up->kill();
  std::this_thread::sleep_for(700ms);
  up = std::make_unique<demo::process>("server", port);
  auto same = up->read_line() == port;
  story.print("the server is back");
  story.check(same, "at the same port");

  auto sum = result.get();
  for (auto& [what, count] : sum.results)
    story.print("{:>4} {}", count, what);
  story.print("{} calls, {} answered once", sum.asked, sum.answered_once);
  story.print("of {} the server saw {:.1f} s at most and {:.1f} s at least",
              caisson::rounded_text(caller::patience),
              caisson::to_seconds(sum.most_left),
              caisson::to_seconds(sum.least_left));

  story.check(sum.answered_once == sum.asked, "each call has one answer");
  story.check(sum.results["repeatable: ok"] == sum.asked / 3,
              "what may be repeated survives the crash");
  story.check(sum.results["not repeatable: worker_down"] > 0,
              "what may not be repeated is reported");
  story.check(sum.results["urgent: deadline_exceeded"] > 0,
              "who cannot wait is notified in time");
  story.check(sum.most_left <= caller::patience
                && sum.least_left < caller::patience - 500ms,
              "the time left crosses the network");
  caisson::stop_gate(gate);
  caf::anon_send_exit(calls, caf::exit_reason::kill);
  return story.end();
}
