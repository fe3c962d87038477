// The worker for Redis with a server that stands still, is killed as it does,
// and comes back.
#include "server.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace caisson::test {
namespace {

// Half of the calls have less time than the server stands still.
TEST_F(redis_test, counts_nothing_twice_when_the_server_stands_still) {
  start_durable();
  auto g = patient_gate_for_many();
  ASSERT_EQ(ask(g, {"PING"}), "PONG");
  std::thread fault{[&] {
    for (auto killed : {false, true, false}) {
      std::this_thread::sleep_for(200ms);
      server->signal(SIGSTOP);
      std::this_thread::sleep_for(400ms);
      if (killed) {
        server->end(SIGKILL);
        start_durable();
      } else {
        server->signal(SIGCONT);
      }
    }
  }};
  auto asked = 0;
  auto done = 0;
  auto open = 0;
  for (auto end = std::chrono::steady_clock::now() + 2'500ms;
       std::chrono::steady_clock::now() < end;) {
    std::vector<decltype(send(g, {}))> some;
    for (int i = 0; i < 40; ++i)
      some.push_back(
        send(g, {"INCR", "n"}, i % 2 == 0 ? duration{150ms} : duration{30s}));
    asked += 40;
    for (auto& x : some) {
      auto text = receive(x);
      if (text.front() != '!' && text.front() != '-')
        ++done;
      else if (text == "!lost" || text == "!worker_down"
               || text == "!deadline_exceeded" || text == "!timed_out")
        ++open;
      else
        ADD_FAILURE() << text;
    }
  }
  fault.join();
  EXPECT_EQ(done + open, asked);
  EXPECT_GT(done, 0);
  EXPECT_GT(open, 0);
  auto n = std::stoi(ask(patient_gate(), {"GET", "n"}));
  EXPECT_GE(n, done);
  EXPECT_LE(n, done + open);
  EXPECT_EQ(look(g).metric("semaphore", "in_use"), 0);
  std::printf("asked %d, done %d, unknown %d, counted %d\n", asked, done, open,
              n);
}

} // namespace
} // namespace caisson::test
