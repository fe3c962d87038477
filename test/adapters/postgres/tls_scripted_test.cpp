// The worker for PostgreSQL with a server that sends its answers in records of
// TLS as large as there can be. test/servers/run starts this.
#include "script.hpp"

#include <support/tls_files.hpp>
#include <support/tls_peer.hpp>

#include <chrono>
#include <string>

namespace caisson::test {
namespace {

class tls_scripted_postgres_test : public scripted_postgres_test {
protected:
  // What a statement with so many rows is answered with.
  static std::string rows(int n, const std::string& value) {
    std::string body{"\0\1\0\0", 4};
    body += static_cast<char>(value.size() >> 8);
    body += static_cast<char>(value.size() & 0xff);
    auto all = protocol_message('1', "") + protocol_message('2', "")
               + protocol_message('T',
                                  std::string{"\0\1c\0\0\0\0\0\0\0\0\0\0\31"
                                              "\377\377\377\377\377\377\0"
                                              "\0",
                                              22});
    for (int i = 0; i < n; ++i)
      all += protocol_message('D', body + value);
    return all + protocol_message('C', "SELECT " + std::to_string(n) + nul);
  }
};

// libpq reads as much of a record as it has room for; then the socket has
// nothing, and no poll would end.
TEST_F(tls_scripted_postgres_test, takes_in_what_is_left_of_a_record) {
  constexpr std::size_t record = 16'384;
  for (int n = 6; n < 10; ++n) {
    auto all = begun + rows(n, std::string(3'000, 'x')) + done_with("COMMIT")
               + reset + ready;
    ASSERT_GT(all.size(), record);
    scripted_server hostile{[&](raw_socket& x, int) {
      (void)x.read();
      x.write("S");
      tls_peer peer{x};
      if (peer.read().empty())
        return;
      peer.write(asks_for('\0') + ready);
      if (!read_pipeline(peer))
        return;
      peer.write(done_with("SET") + ready);
      if (!read_pipeline(peer))
        return;
      peer.write(all.substr(0, all.size() - record));
      peer.write(all.substr(all.size() - record));
      while (!peer.read().empty())
        ;
    }};
    auto c = trusting(postgres_client_config{});
    c.connection = "host=127.0.0.1 user=a dbname=a port="
                   + std::to_string(hostile.port());
    auto pool = pool_for(c);
    ASSERT_TRUE(pool);
    auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(receive(send(pool)), "00000") << n;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s) << n;
    caf::anon_send_exit(pool, caf::exit_reason::user_shutdown);
  }
}

} // namespace
} // namespace caisson::test
