// The worker for PostgreSQL with a server that says what the test wants, to the
// byte. test/servers/run starts this.
#include "script.hpp"

#include <atomic>
#include <string>
#include <thread>

namespace caisson::test {
namespace {

TEST_F(scripted_postgres_test, believes_that_a_transaction_is_committed) {
  EXPECT_EQ(meaning_of(committed + ready), "00000");
  // The server ends before it could say that it is ready.
  EXPECT_EQ(meaning_of(committed), "00000");
  EXPECT_EQ(meaning_of(committed + fatal("57P01")), "00000");
  EXPECT_EQ(meaning_of(inserted + fatal("57P01")), "57P01");
  EXPECT_EQ(meaning_of(inserted), "lost");
  EXPECT_EQ(meaning_of(begun), "lost");
  EXPECT_EQ(meaning_of(""), "lost");
  EXPECT_EQ(meaning_of(inserted + "HTTP/1.1 200 OK\r\n\r\n"), "lost");
}

// Nothing is known of the server then.
TEST_F(scripted_postgres_test, lives_on_if_a_call_is_cancelled_as_it_connects) {
  std::atomic<int> standing{0};
  scripted_server server{[&](raw_socket& x, int n) {
    if (n == 1) {
      ++standing;
      while (!x.read().empty())
        ;
    } else if (let_in(x) && read_pipeline(x) && n > 0) {
      x.write(committed + reset + ready);
    }
  }};
  auto pool = pool_for(server);
  ASSERT_TRUE(pool);
  EXPECT_EQ(receive(send(pool)), "lost");
  auto gate = spawn_gate(*sys, worker{pool}.takes_calls().takes_cancelled(),
                         stack{});
  auto waits = send(gate);
  while (standing == 0)
    std::this_thread::sleep_for(1ms);
  stop_gate(gate);
  EXPECT_EQ(receive(waits), "another error");
  EXPECT_EQ(receive(send(pool)), "00000");
  caf::anon_send_exit(pool, caf::exit_reason::user_shutdown);
}

} // namespace
} // namespace caisson::test
