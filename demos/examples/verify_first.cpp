// Payments that must not be made twice, by a worker that crashes. Verified
// first.
#include "story.hpp"

#include <caisson/base/random.hpp>
#include <caisson/gate.hpp>
#include <caisson/testing/scripted_worker.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using caisson::verification;
using reply = caisson::scripted_worker::reply;

namespace {

constexpr std::int32_t payments = 1'000;

/// What has been paid, and how often. It outlives the worker, like a database.
struct book {
  std::vector<int> paid = std::vector<int>(payments);
  caisson::random_source coin{2026};

  /// Crashes with one message in ten: half of the times before it has paid,
  /// and half of the times after that, but before it has answered.
  reply pay(std::int32_t number) {
    auto fate = coin.uniform();
    if (fate < 0.05)
      return reply::death();
    ++paid.at(static_cast<std::size_t>(number));
    return fate < 0.1 ? reply::death() : reply::value(number);
  }

  // [verify]
  /// Finds in the same database what became of a payment. What is not in it
  /// has ended with the worker, and will not be paid any more.
  [[nodiscard]] verification verify(std::int32_t number) const {
    return paid.at(static_cast<std::size_t>(number)) > 0
             ? verification::done(number)
             : verification::not_done();
  }
  // [/verify]

  [[nodiscard]] auto more_than(int n) const {
    return std::count_if(paid.begin(), paid.end(),
                         [n](int x) { return x > n; });
  }
};

/// What became of all payments.
struct result {
  std::int64_t answered = 0;
  std::int64_t paid = 0;
  std::int64_t paid_twice = 0;
  std::int64_t verifications = 0;
};

enum class way { alone, marked_idempotent, verify_first };

caisson::stack policies(way how, const caf::actor& ledger) {
  // Without a mark, a call that may have been executed is not repeated.
  caisson::retrier_config c{.max_attempts = 5,
                            .idempotent = how == way::marked_idempotent};
  // The same delays wherever this runs.
  auto layers = caisson::stack{"payments"}.seed(2026);
  if (how == way::verify_first)
    return layers.retrier(c, caisson::verifier::by(ledger));
  return layers.retrier(c);
}

result simulate(way how) {
  caisson::virtual_time world;
  book kept;
  using caisson::scripted_worker;
  scripted_worker bank{world, scripted_worker::on<std::int32_t>(
                                [&](std::int32_t x) { return kept.pay(x); })};
  scripted_worker ledger{world,
                         scripted_worker::on<std::int32_t>(
                           [&](std::int32_t x) { return kept.verify(x); })};
  auto gate = caisson::spawn_gate(
    world,
    caisson::worker::supervised(
      bank.factory(),
      {.restart = caisson::schedule::constant(5ms), .max_restarts = 1'000}),
    policies(how, ledger.handle()));

  std::vector<caisson::pending_answer> answers;
  for (std::int32_t i = 0; i < payments; ++i) {
    answers.push_back(world.request(gate, i));
    world.advance(10ms);
  }
  world.advance(1min);
  auto layer = world.request(gate, caisson::get_status{})
                 .value<caisson::status>()
                 .layer("retrier");
  return {.answered = std::count_if(answers.begin(), answers.end(),
                                    [](auto& x) { return x.ok(); }),
          .paid = kept.more_than(0),
          .paid_twice = kept.more_than(1),
          .verifications = layer.metrics.at("verifications")};
}

} // namespace

int main() {
  demo::story story;
  story.print("{} payments              succeeded  made  made twice  verified",
              payments);
  auto print = [&](std::string_view what, const result& x) {
    story.print("{:<27}{:>9}{:>6}{:>12}{:>10}", what, x.answered, x.paid,
                x.paid_twice, x.verifications);
  };
  auto alone = simulate(way::alone);
  print("a crash ends the call", alone);
  auto marked = simulate(way::marked_idempotent);
  print("marked idempotent", marked);
  auto verified = simulate(way::verify_first);
  print("the retrier verifies first", verified);

  story.check(alone.paid > alone.answered,
              "some are made and reported as failed");
  story.check(alone.paid_twice == 0, "what may have been made is not repeated");
  story.check(marked.paid_twice > 0, "a wrong mark makes some twice");
  story.check(verified.paid_twice == 0, "none is made twice");
  story.check(verified.answered == verified.paid,
              "what was made has succeeded");
  story.check(verified.answered > alone.answered + 50, "many more succeed");
  return story.end();
}

/* It prints:

1000 payments              succeeded  made  made twice  verified
a crash ends the call            898   953           0         0
marked idempotent               1000  1000          59         0
the retrier verifies first      1000  1000           0       107
*/
