// The worker for PostgreSQL with a server that stands still, is killed as it
// does, and comes back. test/servers/run starts this.
#include "server.hpp"

#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

// Whether an insert may have been done that was answered like this.
bool is_open(const std::string& what) {
  for (const auto* x : {"lost", "worker_down", "57P01", "57P02", "timed_out",
                        "deadline_exceeded"})
    if (what == x)
      return true;
  return false;
}

// Half of the calls have less time than the server stands still.
TEST_F(postgres_test, inserts_nothing_twice_when_the_server_stands_still) {
  auto g = gate_for(config(4), stack{"orders"}.retrier(patient()).semaphore(
                                 {.permits = 4, .max_waiters = 100'000}));
  ASSERT_EQ(ask(g, "create table f1 (id int)").what(), "00000");
  std::thread fault{[&] {
    for (auto killed : {false, true, false}) {
      std::this_thread::sleep_for(300ms);
      server->signal_all(SIGSTOP);
      std::this_thread::sleep_for(500ms);
      if (killed) {
        server->kill();
        server->start();
      } else {
        server->signal_all(SIGCONT);
      }
    }
  }};
  std::map<std::string, std::string> results;
  auto asked = 0;
  for (auto end = std::chrono::steady_clock::now() + 3s;
       std::chrono::steady_clock::now() < end;) {
    std::vector<std::pair<std::string, decltype(send(g, {}))>> some;
    for (int i = 0; i < 20; ++i) {
      auto id = std::to_string(asked++);
      some.emplace_back(id, send(g, sql("insert into f1 values ($1)", {{id}}),
                                 i % 2 == 0 ? duration{200ms} : duration{30s}));
    }
    for (auto& [id, x] : some)
      results[id] = receive(x).what();
  }
  fault.join();
  auto rows = ask(g, "select id, count(*) from f1 group by id");
  ASSERT_EQ(rows.what(), "00000");
  std::set<std::string> there;
  for (const auto& row : rows.result->tables.front().rows) {
    there.insert(row[0].text);
    EXPECT_EQ(row[1].text, "1") << row[0].text;
  }
  auto done = 0;
  auto open = 0;
  for (const auto& [id, what] : results) {
    done += what == "00000";
    open += is_open(what);
    if (what == "00000")
      EXPECT_TRUE(there.contains(id)) << id;
    else
      EXPECT_TRUE(is_open(what) || !there.contains(id)) << id << ' ' << what;
  }
  EXPECT_GT(done, 0);
  EXPECT_GT(open, 0);
  EXPECT_EQ(look(g).metric("semaphore", "in_use"), 0);
  std::printf("asked %d, done %d, unknown %d, there %zu\n", asked, done, open,
              there.size());
}

} // namespace
} // namespace caisson::test
