// The worker for Redis with servers that announce more than they send, and that
// repeat what they were sent.
#include "server.hpp"

#include <caisson/adapters/redis/detail/command_size.hpp>
#include <caisson/adapters/redis/detail/reply_size.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

detail::redis_reply_size size_of(const std::string& bytes) {
  detail::redis_reply_size x;
  x.add(bytes);
  return x;
}

TEST(redis_reply_size, is_what_has_come_and_what_was_announced) {
  const std::pair<std::string, std::int64_t> announced[] = {
    {"", 3},
    {"+", 1},
    {"*", 1},
    {"*2\r\n", 10},
    {"*2\r\n:1\r\n", 11},
    {"*2\r\n*3\r\n", 4 + 4 + 12},
    {"$5\r\n", 4 + 7},
    {"$5\r\nab", 4 + 7},
    {"*2147483647\r\n", 13 + 3 * std::int64_t{2'147'483'647}},
    {"%2\r\n", 4 + 12},
    {"~2\r\n", 4 + 6},
    {">2\r\n", 4 + 6},
    {"|1\r\n", 4 + 9},
    {"=5\r\n", 4 + 7},
    {"!5\r\n", 4 + 7},
    {"*9223372036854775807\r\n", 22 + 3 * (std::int64_t{1} << 40)},
  };
  for (const auto& [bytes, n] : announced) {
    auto x = size_of(bytes);
    EXPECT_TRUE(x.is_valid()) << bytes;
    EXPECT_FALSE(x.is_done()) << bytes;
    EXPECT_EQ(x.at_least(), n) << bytes;
  }
}

TEST(redis_reply_size, ends_with_the_reply_wherever_it_is_cut) {
  for (const std::string reply :
       {"+OK\r\n", "+\r\n", "+a\rb\nc\r\n", "-ERR no\r\n", ":-1\r\n", "$-1\r\n",
        "*-1\r\n", "*0\r\n", "$0\r\n\r\n", "$4\r\n\r\n*9\r\n",
        "*3\r\n$3\r\nabc\r\n*2\r\n:1\r\n+x\r\n$-1\r\n",
        "%1\r\n+a\r\n~2\r\n:1\r\n:2\r\n", "|1\r\n+a\r\n:1\r\n+value\r\n",
        ",1.5\r\n", "_\r\n", "#t\r\n", "(12345\r\n"})
    for (std::size_t cut = 0; cut < reply.size(); ++cut) {
      detail::redis_reply_size x;
      x.add(reply.substr(0, cut));
      EXPECT_FALSE(x.is_done()) << reply << cut;
      x.add(reply.substr(cut) + "*9999999\r\n");
      EXPECT_TRUE(x.is_done()) << reply << cut;
      EXPECT_TRUE(x.is_valid()) << reply << cut;
      EXPECT_EQ(x.at_least(), static_cast<std::int64_t>(reply.size()))
        << reply << cut;
    }
}

TEST(redis_reply_size, has_no_length_that_is_no_number) {
  for (auto x : {"*\r\n", "*x\r\n", "*1x\r\n", "* 1\r\n", "*+1\r\n", "*0x1\r\n",
                 "*-2\r\n", "*1 \r\n", "*1\r\r\n", "*?\r\n", "$?\r\n",
                 "*99999999999999999999\r\n", "$-9223372036854775808\r\n"})
    EXPECT_FALSE(size_of(x).is_valid()) << x;
  EXPECT_FALSE(size_of('*' + std::string(100, '1')).is_valid());
  EXPECT_TRUE(size_of('+' + std::string(100, '1')).is_valid());
}

TEST_F(redis_test, makes_no_room_for_what_is_only_announced) {
  const std::pair<std::string, const char*> replies[] = {
    {"*2147483647\r\n", "!too_large"},
    {"*6000000\r\n", "!too_large"},
    {"$17000000\r\n", "!too_large"},
    {"$9223372036854775807\r\n", "!too_large"},
    {"*2\r\n*2\r\n*6000000\r\n", "!too_large"},
    {"*3000000\r\n*3000000\r\n", "!too_large"},
    {"*1\r\n$17000000\r\n", "!too_large"},
    {"%3000000\r\n", "!too_large"},
    {"~6000000\r\n", "!too_large"},
    {">6000000\r\n", "!too_large"},
    {"*99999999999999999999\r\n", "!garbled"},
    {"*-2\r\n", "!garbled"},
    {"*2\r\n:1\r\n$3\r\nabc\r\n", "[1 abc ]"},
  };
  for (const auto& [bytes, meaning] : replies) {
    // The first connection is that of the worker's start.
    scripted_server hostile{[&, sent = bytes](raw_socket& x, int) {
      if (!x.read().empty())
        x.write(sent);
      while (!x.read().empty())
        ;
    }};
    auto c = config();
    c.port = hostile.port();
    c.threads = 1;
    auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(ask(gate_for(c), {"GET", "a"}), meaning) << bytes;
    stop_gate(gates.back());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s) << bytes;
  }
}

TEST(redis_command_size, is_within_what_the_library_can_write) {
  constexpr auto fits = [](std::vector<std::size_t> lengths) {
    return detail::fits_in_redis_command(lengths);
  };
  constexpr std::size_t int_max = 0x7fffffff;
  EXPECT_TRUE(fits({}));
  EXPECT_TRUE(fits({3, 0, 1'000'000'000}));
  EXPECT_TRUE(fits({int_max - 64}));
  EXPECT_FALSE(fits({int_max - 63}));
  EXPECT_FALSE(fits({int_max}));
  EXPECT_FALSE(fits({3, std::size_t{1} << 32}));
  EXPECT_FALSE(fits({static_cast<std::size_t>(-1), 1}));
  EXPECT_FALSE(fits(std::vector<std::size_t>(10, 430'000'000)));
  EXPECT_FALSE(fits(std::vector<std::size_t>(1'000, 2'200'000)));
}

// One that does not know AUTH.
TEST_F(redis_test, a_password_that_a_server_repeats_is_in_no_text) {
  const std::pair<std::string, std::string> replies[] = {
    {"-ERR unknown command 'AUTH', with args beginning with: 'bob' 's3cret' ",
     "with ERR:"},
    {"-s3cret is wrong", "with an error:"},
    {"-WRONGPASS s3cret", "with WRONGPASS:"},
    {"-WRONGPASS invalid username-password pair", "WRONGPASS invalid username"},
    {"-ERR max number of clients reached", "ERR max number of clients reached"},
    {"-DENIED Redis is running in protected mode", "protected mode"},
    {"-", "with an error:"},
  };
  for (const auto& [reply, seen] : replies) {
    scripted_server other{[&, sent = reply + "\r\n"](raw_socket& x, int) {
      if (!x.read().empty())
        x.write(sent);
    }};
    auto c = config();
    c.port = other.port();
    c.user = "bob";
    c.password = "s3cret";
    auto behind = redis_worker(c);
    std::string text;
    try {
      static_cast<void>(behind.factory()(*sys));
    } catch (const std::runtime_error& e) {
      text = e.what();
    }
    EXPECT_NE(text.find(seen), text.npos) << text;
    EXPECT_EQ(text.find("s3cret"), text.npos) << text;
  }
}

} // namespace
} // namespace caisson::test
