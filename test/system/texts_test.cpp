// Texts for people of a gate whose times are as the real clock makes them.
#include <caisson/gate.hpp>
#include <caisson/observe/event_log.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using testing::Contains;
using testing::Each;
using testing::MatchesRegex;
using testing::Not;

caf::behavior fails(caf::event_based_actor*) {
  return {[](int) -> caf::result<int> {
    return caf::make_error(caf::sec::runtime_error);
  }};
}

class real_texts : public testing::Test {
protected:
  real_texts() {
    events.follow(gate);
    status ready;
    portable::ask_blocking(self, gate, 60s, get_status{})
      .receive([](const status&) {},
               [](const caf::error& x) { ADD_FAILURE() << to_text(x); });
  }

  ~real_texts() override {
    caf::anon_send_exit(gate, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(worker, caf::exit_reason::user_shutdown);
  }

  caf::error ask() {
    caf::error out;
    portable::ask_blocking(self, gate, 60s, 1)
      .receive([](int) {}, [&](caf::error& x) { out = std::move(x); });
    return out;
  }

  std::vector<std::string> lines() {
    events.flush();
    std::lock_guard guard{mutex};
    return written;
  }

  system_config cfg;
  caf::actor_system sys{cfg};
  caf::scoped_actor self{sys};
  caf::actor worker = sys.spawn(fails);
  control_handle gate = spawn_gate(
    sys, worker,
    stack{gate_config{.name = "payments"}}
      .breaker({.threshold = 1, .open = schedule::constant(1min)})
      .retrier({.max_attempts = 2,
                .backoff = schedule::constant(20ms).jittered(jitter::full),
                .idempotent = true}));
  std::mutex mutex;
  std::vector<std::string> written;
  event_log events = event_log::to_function(sys,
                                            [this](const event& x, utc_time) {
                                              std::lock_guard guard{mutex};
                                              written.push_back(to_text(x));
                                            });
};

// Nanoseconds that nobody has asked for have more digits.
constexpr auto short_time = "[0-9]{1,3}(\\.[0-9]{1,2})? (us|ms|s)";

TEST_F(real_texts, have_at_most_three_digits_of_a_time) {
  (void)ask();
  auto refused = ask();
  EXPECT_EQ(refused, errc::breaker_open);
  EXPECT_THAT(to_text(refused),
              MatchesRegex(std::string{"breaker_open by breaker, retry after "}
                           + short_time));
  EXPECT_THAT(to_string(refused), Not(MatchesRegex(".*[0-9]{4}.*")));
}

TEST_F(real_texts, count_calls_from_one) {
  (void)ask();
  (void)ask();
  auto all = lines();
  EXPECT_THAT(
    all, Contains(MatchesRegex(std::string{"payments/retrier: retried, delay "}
                               + short_time + ", call 1")));
  EXPECT_THAT(all, Contains(MatchesRegex(
                     std::string{"payments/breaker: rejected breaker_open.*, "
                                 "delay "}
                     + short_time + ", call 2")));
  EXPECT_THAT(all, Each(Not(MatchesRegex(".*[0-9]{4}.*"))));
}

} // namespace
} // namespace caisson::test
