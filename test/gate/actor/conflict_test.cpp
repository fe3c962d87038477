// An answer 409 of a worker whose answers are classified, and a verifier.
#include "support/both_hosts.hpp"

#include <string>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class conflict_test : public both_hosts {
protected:
  // Answers each request with the next of these.
  scripted_worker answering(std::initializer_list<const char*> xs) {
    auto w = make_worker();
    for (const auto* x : xs)
      w.plan(scripted_worker::reply::value(std::string{x}));
    return w;
  }

  static worker http(const scripted_worker& w) {
    return worker{w.handle()}.classified_by(
      classify_http<std::string>([](const std::string& text) {
        return http_result{std::stoi(text), {}};
      }));
  }

  caf::actor retrying(const scripted_worker& w, verifier how) {
    return host(http(w), stack{}.retrier({.max_attempts = 4,
                                          .backoff = schedule::constant(10ms),
                                          .idempotent = true,
                                          .budget = false},
                                         std::move(how)));
  }
};
CAISSON_BOTH_HOSTS(conflict_test, 4);

TEST_P(conflict_test, is_verified_before_it_is_sent_again) {
  auto w = answering({"409", "200"});
  auto ledger = make_worker();
  auto g = retrying(w, verifier::by(ledger.handle()));
  auto answer = world.request(g, 7);
  world.advance(900ms);
  EXPECT_FALSE(answer.ready());
  EXPECT_EQ(w.count(), 1u);
  ASSERT_EQ(ledger.count(), 1u);
  EXPECT_EQ(ledger.open_message().as<int>(), 7);
  ledger.answer(verification::not_done());
  world.advance(9ms);
  EXPECT_EQ(w.count(), 1u);
  world.advance(1ms);
  EXPECT_EQ(w.count(), 2u);
  EXPECT_EQ(answer.value<std::string>(), "200");
  EXPECT_EQ(ledger.count(), 1u);
}

TEST_P(conflict_test, is_a_success_if_the_call_was_done) {
  auto w = answering({"409"});
  auto ledger = make_worker(
    scripted_worker::always(verification::done(std::string{"paid"})));
  auto g = retrying(w, verifier::by(ledger.handle()));
  auto answer = world.request(g, 7);
  world.advance(1s);
  EXPECT_EQ(answer.value<std::string>(), "paid");
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(metric_of(g, "retrier", "found_done"), 1);
  EXPECT_EQ(metric_of(g, "answers_conflict"), 1);
}

TEST_P(conflict_test, is_the_answer_if_the_outcome_is_unknown) {
  auto w = answering({"409", "200"});
  auto ledger = make_worker(scripted_worker::always(verification::unknown()));
  auto g = retrying(w, verifier::by(ledger.handle()));
  auto answer = world.request(g, 7);
  world.advance(10min);
  EXPECT_EQ(answer.value<std::string>(), "409");
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(metric_of(g, "retrier", "not_verified"), 1);
}

} // namespace
} // namespace caisson::test
