// The worker for PostgreSQL with servers that break the rules of the protocol.
// test/servers/run starts this.
#include "script.hpp"

#include <caisson/adapters/postgres/detail/opener.hpp>

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace caisson::test {
namespace {

class hostile_postgres_test : public scripted_postgres_test {
protected:
  using clock = std::chrono::steady_clock;

  // Sends this again and again until nobody takes it; returns how many bytes.
  static std::int64_t flood(const raw_socket& x, const std::string& bytes) {
    std::string many;
    while (many.size() < 65'536)
      many += bytes;
    for (std::int64_t size = 0;;) {
      auto n = ::send(x.fd(), many.data(), many.size(), MSG_NOSIGNAL);
      if (n <= 0)
        return size;
      size += n;
      // Whole messages only.
      std::rotate(many.begin(), many.begin() + n, many.end());
    }
  }

  // Reads until the client has left; returns whether it has asked for more.
  static bool is_used_again(const raw_socket& x) {
    auto part = x.read();
    auto again = !part.empty() && part.front() != 'X';
    while (!part.empty())
      part = x.read();
    return again;
  }

  // How long it takes until there is no worker.
  duration time_without_pool(postgres_client_config c) {
    c.connect_timeout = 300ms;
    auto begin = clock::now();
    EXPECT_THROW((void)pool_for(c), std::runtime_error);
    return clock::now() - begin;
  }

  static constexpr duration soon = 2s;
};

TEST_F(hostile_postgres_test, gets_nothing_taken_for_an_answer_but_one) {
  auto row = protocol_message('T',
                              std::string{"\0\1c\0\0\0\0\0\0\0\0\0\0\31\377"
                                          "\377\377\377\377\377\0\0",
                                          22})
             + protocol_message('D', std::string{"\0\1\0\0\0\1x", 7});
  auto open = protocol_message('1', "") + protocol_message('2', "");
  auto none = protocol_message('n', "");
  struct row_of_table {
    const char* name;
    std::string bytes;
    const char* meaning;
  };
  const row_of_table odd[] = {
    {"ready after BEGIN", done_with("BEGIN") + ready + inserted + ready,
     "garbled"},
    {"ready at once", ready + committed + reset + ready, "garbled"},
    {"no COMMIT", inserted + ready, "garbled"},
    {"ROLLBACK for COMMIT", inserted + done_with("ROLLBACK") + reset + ready,
     "garbled"},
    {"another tag for BEGIN",
     done_with("SELECT 1") + done_with("SET") + done_with("INSERT 0 1")
       + done_with("COMMIT") + reset + ready,
     "garbled"},
    {"the statement has committed",
     begun + done_with("COMMIT") + done_with("COMMIT") + reset + ready,
     "garbled"},
    {"an answer too much", begun + done_with("INSERT 0 1") + inserted + ready,
     "garbled"},
    {"no statement",
     begun + open + none + protocol_message('I', "") + done_with("COMMIT")
       + reset + ready,
     "garbled"},
    {"only a part of the rows",
     begun + open + row + protocol_message('s', "") + done_with("COMMIT")
       + reset + ready,
     "lost"},
    {"COPY to the client",
     begun + open + none + protocol_message('H', std::string(3, '\0'))
       + done_with("COMMIT") + reset + ready,
     "lost"},
    {"COPY from the client",
     begun + open + none + protocol_message('G', std::string(3, '\0')), "lost"},
    {"COPY in both directions",
     begun + open + none + protocol_message('W', std::string(3, '\0')), "lost"},
    {"SQLSTATE 00000", begun + remark('E', "00000") + ready, "garbled"},
    {"an empty SQLSTATE", begun + remark('E', "") + ready, "garbled"},
    {"a short SQLSTATE", begun + remark('E', "4000") + ready, "garbled"},
    {"a long SQLSTATE",
     begun + remark('E', "40001" + std::string(100'000, '1')) + ready,
     "garbled"},
    {"small letters in a SQLSTATE", begun + remark('E', "57p01") + ready,
     "garbled"},
    {"blanks in a SQLSTATE", begun + remark('E', "40 01") + ready, "garbled"},
    {"no SQLSTATE",
     begun + protocol_message('E', "SERROR" + nul + "Mno" + nul + nul) + ready,
     "garbled"},
    // What is committed is done; the connection is not used again.
    {"it stays in a transaction",
     committed + reset + protocol_message('Z', "T"), "00000"},
    {"no reset", committed + ready, "00000"},
    {"another tag for DISCARD",
     committed + done_with("RESET") + done_with("SET") + ready, "00000"},
    {"an error for DISCARD", committed + remark('E', "40001") + ready, "00000"},
  };
  for (const auto& x : odd) {
    std::atomic<bool> again{false};
    scripted_server server{[&](raw_socket& to, int n) {
      if (!let_in(to) || !read_pipeline(to))
        return;
      to.write(n == 0 ? x.bytes : committed + reset + ready);
      if (n == 0)
        again = is_used_again(to);
    }};
    auto pool = pool_for(server);
    ASSERT_TRUE(pool) << x.name;
    EXPECT_EQ(receive(send(pool)), x.meaning) << x.name;
    EXPECT_EQ(receive(send(pool)), "00000") << x.name;
    EXPECT_FALSE(again) << x.name;
    caf::anon_send_exit(pool, caf::exit_reason::user_shutdown);
  }
}

TEST_F(hostile_postgres_test, keeps_a_connection_whose_answers_are_in_order) {
  scripted_server server{[&](raw_socket& to, int) {
    if (!let_in(to))
      return;
    while (read_pipeline(to))
      to.write(remark('N', "00000") + committed + reset + ready);
  }};
  auto pool = pool_for(server);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(receive(send(pool)), "00000");
  EXPECT_EQ(server.connections(), 1);
  caf::anon_send_exit(pool, caf::exit_reason::user_shutdown);
}

TEST_F(hostile_postgres_test, ends_floods_by_their_size) {
  const std::pair<const char*, std::string> floods[] = {
    {"notifications", protocol_message('A', std::string(4, '\1') + "c" + nul
                                              + std::string(100, 'x') + nul)},
    {"notices", remark('N', "00000")},
    {"settings", protocol_message('S', "a" + nul + "b" + nul)},
  };
  for (const auto& [name, bytes] : floods) {
    std::atomic<std::int64_t> size{0};
    scripted_server server{[&, sent = bytes](raw_socket& to, int) {
      if (let_in(to) && read_pipeline(to))
        size = flood(to, sent);
    }};
    auto c = config_for(server);
    c.max_result = 100'000;
    auto pool = pool_for(c);
    EXPECT_EQ(receive(send(pool)), "too_large") << name;
    for (int i = 0; i < 1'000 && size == 0; ++i)
      std::this_thread::sleep_for(1ms);
    // With what is in the buffers of the system.
    EXPECT_GT(size, 100'000) << name;
    EXPECT_LT(size, 50 << 20) << name;
    caf::anon_send_exit(pool, caf::exit_reason::user_shutdown);
  }
}

// -- while connecting ---------------------------------------------------------

TEST_F(hostile_postgres_test, does_not_print_what_it_says_to_a_new_client) {
  scripted_server server{[&](raw_socket& to, int) {
    if (let_in(to, remark('N', "00000")))
      (void)is_used_again(to);
  }};
  testing::internal::CaptureStderr();
  auto pool = pool_for(server);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(pool);
  caf::anon_send_exit(pool, caf::exit_reason::user_shutdown);
}

TEST_F(hostile_postgres_test, is_given_up_in_time_while_connecting) {
  const std::pair<const char*, scripted_server::script> scripts[] = {
    {"says nothing", [](raw_socket& to, int) { (void)is_used_again(to); }},
    {"remarks without an end",
     [](raw_socket& to, int) {
       (void)to.read();
       to.write(asks_for('\0'));
       flood(to, remark('N', "00000"));
     }},
    {"asks for the password without an end",
     [](raw_socket& to, int) {
       (void)to.read();
       flood(to, asks_for('\3'));
     }},
    {"asks for the password without an end, and reads it",
     [](raw_socket& to, int) {
       std::thread reading{[&] {
         while (!to.read().empty())
           ;
       }};
       flood(to, asks_for('\3'));
       reading.join();
     }},
    {"agrees to TLS, and says nothing more",
     [](raw_socket& to, int) {
       (void)to.read();
       to.write("S");
       (void)is_used_again(to);
     }},
  };
  for (const auto& [name, script] : scripts) {
    scripted_server server{script};
    auto c = config_for(server);
    c.connection += " password=x sslmode=prefer";
    EXPECT_LT(time_without_pool(c), soon) << name;
  }
}

// Deriving the key takes libpq many seconds, in which nothing can be said to
// it.
TEST_F(hostile_postgres_test, is_not_waited_for_if_the_password_takes_long) {
  std::atomic<int> asked{0};
  scripted_server server{[&](raw_socket& to, int) {
    (void)to.read();
    if (++asked > 1)
      return;
    to.write(
      protocol_message('R', std::string{"\0\0\0\12SCRAM-SHA-256\0\0", 19}));
    auto message = to.read();
    auto nonce = message.substr(message.find("r=") + 2);
    to.write(protocol_message('R', std::string{"\0\0\0\13r=", 6} + nonce
                                     + "x,s=c2FsdHNhbHQ=,i=2500000"));
    (void)is_used_again(to);
  }};
  auto c = config_for(server);
  c.connection += " password=x";
  c.connect_timeout = 300ms;
  auto w = postgres_worker(c);
  auto begin = clock::now();
  EXPECT_THROW((void)w.factory()(*sys), std::runtime_error);
  EXPECT_EQ(asked, 1);
  // The thread that is left alone has the only place.
  EXPECT_THROW((void)w.factory()(*sys), std::runtime_error);
  EXPECT_EQ(asked, 1);
  EXPECT_LT(clock::now() - begin, soon);
  self.reset();
  sys.reset();
  EXPECT_LT(clock::now() - begin, soon);
  // It ends some day, and gives its place back.
  system_config other;
  sys.emplace(other);
  while (asked == 1 && clock::now() - begin < 60s)
    EXPECT_THROW((void)w.factory()(*sys), std::runtime_error);
  EXPECT_EQ(asked, 2);
  sys.reset();
}

// Nothing was sent.
TEST(postgres_opener, without_a_descriptor_there_is_no_connection) {
  detail::postgres_opener opener{"host=127.0.0.1 port=1", 1};
  interruption signal;
  // UBSan opens a pipe for the first object of each type with virtual
  // functions: all that are used without descriptors are used before.
  EXPECT_FALSE(
    opener.open(signal, std::chrono::steady_clock::now() + 5s).problem.empty());
  try {
    throw std::system_error{EMFILE, std::generic_category()};
  } catch (const std::runtime_error& e) {
    EXPECT_STRNE(e.what(), "");
  }
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  // The lowest that is free.
  auto next = ::dup(STDERR_FILENO);
  ::close(next);
  auto none = usual;
  none.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  auto x = opener.open(signal, std::chrono::steady_clock::now() + 5s);
  ::setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_FALSE(x.connection);
  EXPECT_FALSE(x.problem.empty());
}

} // namespace
} // namespace caisson::test
