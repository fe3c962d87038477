// The worker for PostgreSQL with a server that says what the test wants, to the
// byte. test/servers/run starts this.
#include <caisson/gate.hpp>
#include <caisson/postgres/client.hpp>

#include <support/scripted_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// A message of version 3 of the protocol.
std::string protocol_message(char type, const std::string& body) {
  auto n = body.size() + 4;
  std::string all{type};
  for (int shift = 24; shift >= 0; shift -= 8)
    all += static_cast<char>(n >> shift & 0xff);
  return all + body;
}

const std::string nul(1, '\0');

// Nobody in a transaction, and ready for what comes next.
const std::string ready = protocol_message('Z', "I");

// A statement without rows is parsed, bound, described and carried out.
std::string done_with(const std::string& tag) {
  return protocol_message('1', "") + protocol_message('2', "")
         + protocol_message('n', "") + protocol_message('C', tag + nul);
}

std::string fatal(const std::string& sqlstate) {
  return protocol_message('E', "SFATAL" + nul + "VFATAL" + nul + "C" + sqlstate
                                 + nul + "Mbye" + nul + nul);
}

// Reads up to what ends a pipeline; returns whether it came.
bool read_pipeline(const raw_socket& x) {
  const std::string sync{"S\0\0\0\4", 5};
  for (std::string all; !all.ends_with(sync);) {
    auto part = x.read();
    if (part.empty())
      return false;
    all += part;
  }
  return true;
}

// Lets a client in, without a password.
bool let_in(const raw_socket& x) {
  if (x.read().empty())
    return false;
  x.write(protocol_message('R', std::string(4, '\0')) + ready);
  if (!read_pipeline(x))
    return false;
  x.write(done_with("SET") + ready);
  return true;
}

class scripted_postgres_test : public testing::Test {
protected:
  scripted_postgres_test() {
    init_sql_types();
    register_sql_types(cfg);
    sys.emplace(cfg);
    self.emplace(*sys);
  }

  caf::actor pool_for(const scripted_server& x) {
    postgres_client_config c;
    c.connection = "host=127.0.0.1 user=a dbname=a sslmode=disable "
                   "gssencmode=disable port="
                   + std::to_string(x.port());
    c.threads = 1;
    auto pool = postgres_worker(c).factory()(*sys);
    return pool ? *pool : caf::actor{};
  }

  auto send(const caf::actor& to) {
    auto what = as_call(sql("insert into a values (1)"));
    what.options.time_left = 10s;
    return portable::ask_blocking(*self, to, 30s, std::move(what));
  }

  template <class Handle>
  static std::string receive(Handle h) {
    std::string what;
    std::move(h).receive([&](const sql_result& x) { what = x.sqlstate; },
                         [&](const caf::error& e) {
                           auto code = transport_errc_of(e);
                           what = code ? std::string{name_of(*code)}
                                       : "another error";
                         });
    return what;
  }

  // What the worker makes of these bytes and the end of the connection, sent
  // instead of what a whole transaction is answered with.
  std::string meaning_of(const std::string& bytes) {
    scripted_server server{[&](raw_socket& x, int) {
      if (let_in(x) && read_pipeline(x))
        x.write(bytes);
    }};
    auto pool = pool_for(server);
    auto what = receive(send(pool));
    caf::anon_send_exit(pool, caf::exit_reason::user_shutdown);
    return what;
  }

  system_config cfg;
  std::optional<caf::actor_system> sys;
  std::optional<caf::scoped_actor> self;
};

TEST_F(scripted_postgres_test, believes_that_a_transaction_is_committed) {
  auto begun = done_with("BEGIN") + done_with("SET");
  auto inserted = begun + done_with("INSERT 0 1");
  auto committed = inserted + done_with("COMMIT");
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
      x.write(done_with("BEGIN") + done_with("SET") + done_with("INSERT 0 1")
              + done_with("COMMIT") + ready);
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
