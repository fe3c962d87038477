// `caisson ctl` and something else that has got the program's port.
#include <caisson/observe/control/control_file.hpp>

#include <ctl/command.hpp>
#include <support/scratch.hpp>
#include <system/sockets.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

namespace caisson::test {
namespace {

using testing::HasSubstr;

std::string http(const std::string& body,
                 const std::string& status = "200 OK") {
  // A client that went on with the connection would meet its end by chance.
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: application/json\r\n"
                     "Connection: close\r\nContent-Length: {}\r\n\r\n{}",
                     status, body.size(), body);
}

// Answers each connection in its own way, and closes it.
class impostor_server {
public:
  using speech = std::function<void(const raw_socket&, std::size_t)>;

  explicit impostor_server(speech say)
    : door_(raw_socket::listening()),
      file_((dir_ / "control").string(),
            {.port = door_.port(), .token = "secret", .process = ::getpid()}),
      thread_([this, say = std::move(say)] { run(say); }) {}

  ~impostor_server() {
    ended_ = true;
    ::shutdown(door_.fd(), SHUT_RDWR);
    thread_.join();
  }

  [[nodiscard]] std::size_t asked() const { return asked_; }

  // What the command says, and its status.
  std::pair<int, std::string> ctl(std::vector<std::string> words) {
    auto path = (dir_ / "control").string();
    words.insert(words.begin(), {"ctl", "--file", path});
    std::vector<const char*> argv;
    for (const auto& x : words)
      argv.push_back(x.c_str());
    std::ostringstream out;
    std::ostringstream err;
    auto status = ctl::command_main(
      static_cast<int>(argv.size()), argv.data(), out, err,
      {.sleep = [this](duration d) { slept += d; }});
    output = out.str();
    return {status, err.str()};
  }

  duration slept = duration::zero();
  std::string output;

private:
  void run(const speech& say) {
    while (!ended_) {
      auto line = door_.accept();
      if (line.fd() < 0)
        return;
      std::string request;
      while (request.find("\r\n\r\n") == request.npos) {
        auto more = line.read();
        if (more.empty())
          break;
        request += more;
      }
      say(line, asked_++);
    }
  }

  scratch_dir dir_;
  raw_socket door_;
  detail::control_file file_;
  std::atomic<bool> ended_{false};
  std::atomic<std::size_t> asked_{0};
  std::thread thread_;
};

constexpr auto no_program = "does not answer like a program with gates";

// An answer that does not end, or announces gigabytes.
TEST(ctl_against_an_impostor, does_not_take_all_memory) {
  for (auto chunked : {false, true}) {
    impostor_server x{[&](const raw_socket& to, std::size_t) {
      to.write(chunked ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                       : "HTTP/1.1 200 OK\r\nContent-Length: "
                         "9000000000\r\n\r\n");
      auto part = std::string(1'000'000, ' ');
      if (chunked)
        part = "f4240\r\n" + part + "\r\n";
      for (int i = 0; i < 100; ++i)
        to.write(part);
    }};
    auto [status, output] = x.ctl({"events"});
    EXPECT_EQ(status, 2);
    EXPECT_THAT(output, HasSubstr(no_program));
  }
}

// Nor does one whose headers do not end.
TEST(ctl_against_an_impostor, does_not_read_headers_without_end) {
  impostor_server x{[&](const raw_socket& to, std::size_t) {
    to.write("HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 1'000; ++i)
      to.write("X: " + std::string(1'000, 'x') + "\r\n");
    (void)to.read();
  }};
  auto [status, output] = x.ctl({"list"});
  EXPECT_EQ(status, 2);
  EXPECT_THAT(output, HasSubstr(no_program));
}

TEST(ctl_against_an_impostor, takes_no_answer_about_another_gate) {
  const std::vector<std::string> commands[] = {
    {"drain", "a"},
    {"off", "a"},
    {"set", "a", "--layer", "l", "x=1"},
    {"show", "a"}};
  for (const auto& words : commands) {
    impostor_server x{[&](const raw_socket& to, std::size_t) {
      to.write(http(R"({"name":"b","drained":true,"layers":[]})"));
    }};
    auto [status, output] = x.ctl(words);
    EXPECT_EQ(status, 2) << words[0];
    EXPECT_THAT(output, HasSubstr("answers about \"b\" instead of \"a\""));
    EXPECT_EQ(x.output, "") << words[0];
  }
}

TEST(ctl_against_an_impostor, prints_nothing_that_is_too_deep) {
  impostor_server x{[&](const raw_socket& to, std::size_t) {
    to.write(http(R"({"gates":)" + std::string(1'000'000, '[')
                  + std::string(1'000'000, ']') + "}"));
  }};
  auto [status, output] = x.ctl({"--json", "list"});
  EXPECT_EQ(status, 2);
  EXPECT_THAT(output, HasSubstr(no_program));
}

TEST(ctl_against_an_impostor, events_of_other_types_are_an_error) {
  for (std::string body :
       {R"({})", R"([])", R"(null)", R"({"cursor":5})", R"({"cursor":null})",
        R"({"cursor":"1","missed":0})",
        R"({"cursor":"1","missed":"many","events":[]})",
        R"({"cursor":"1","missed":-1,"events":[{"event":1}]})",
        R"({"cursor":"1","missed":0,"events":[1]})",
        R"({"cursor":"1","missed":0,"events":{"a":5}})",
        R"({"cursor":"1","missed":0,"events":[{"event":{"time":1}}]})",
        R"({"cursor":"1","missed":0,"events":[{"text":"x"}]})", "", "{",
        "not json at all"}) {
    impostor_server x{
      [&](const raw_socket& to, std::size_t) { to.write(http(body)); }};
    auto [status, output] = x.ctl({"events", "--count", "1"});
    EXPECT_EQ(status, 2) << body;
    EXPECT_NE(output, "") << body;
  }
}

TEST(ctl_against_an_impostor, what_is_missing_from_an_answer_is_an_error) {
  const std::vector<std::string> commands[] = {
    {"reload"},
    {"off", "a"},
    {"set", "a", "--layer", "l", "x=1"},
    {"drain", "a", "--wait", "1s"},
    {"list"}};
  for (const auto& words : commands)
    for (std::string body : {R"({})", R"({"files":[{}],"layers":{}})"}) {
      impostor_server x{
        [&](const raw_socket& to, std::size_t) { to.write(http(body)); }};
      auto [status, output] = x.ctl(words);
      EXPECT_EQ(status, 2) << words[0] << ' ' << body;
      EXPECT_THAT(output, HasSubstr("not that of a program of this"))
        << words[0];
      EXPECT_EQ(x.output, "") << words[0];
    }
}

TEST(ctl_against_an_impostor, says_what_is_too_large) {
  for (auto [status, what] :
       {std::pair{"413 Content Too Large", "what is sent"},
        {"414 URI Too Long", "the name of the gate"},
        {"431 Request Header Fields Too Large",
         "the name of the gate, together with the token"}}) {
    impostor_server x{[status = status](const raw_socket& to, std::size_t) {
      to.write(http("too much\n", status));
    }};
    auto [code, output] = x.ctl({"show", "a"});
    EXPECT_EQ(code, 2);
    EXPECT_THAT(output, HasSubstr(what));
    EXPECT_THAT(output, HasSubstr("too large for the program"));
  }
}

TEST(ctl_against_an_impostor, nothing_moves_the_cursor_of_the_terminal) {
  impostor_server x{[&](const raw_socket& to, std::size_t) {
    to.write(
      http(R"({"cursor":"1","missed":0,"events":[{"event":)"
           R"({"time":"\u001b[2J","kind":"k"},"text":"a\u001b]0;b\nc"}]})"));
  }};
  auto [status, output] = x.ctl({"events", "--count", "1"});
  EXPECT_EQ(status, 0) << output;
  EXPECT_EQ(x.output, "\\x1b[2J a\\x1b]0;b\\x0ac\n");
}

// The cursor is sent back as it came, and only there.
TEST(ctl_against_an_impostor, a_cursor_is_no_part_of_the_protocol) {
  impostor_server x{[&](const raw_socket& to, std::size_t n) {
    to.write(http(
      n < 3
        ? R"({"cursor":"1 HTTP/1.1\r\nX: y&wait=1h","missed":0,"events":[]})"
        : R"({"cursor":"2","missed":0,"events":[{"event":{},"text":"e"}]})"));
  }};
  auto [status, output] = x.ctl({"events", "--count", "1"});
  EXPECT_EQ(status, 0) << output;
  EXPECT_EQ(x.asked(), 4u);
  // It is not asked as fast as it answers.
  EXPECT_GE(x.slept, std::chrono::milliseconds(400));
}

TEST(ctl_against_an_impostor, half_an_answer_is_none) {
  for (std::string text :
       {"", "HTTP/1.1", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"gates\":[]}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "\x16\x03\x01"}) {
    impostor_server x{
      [&](const raw_socket& to, std::size_t) { to.write(text); }};
    EXPECT_EQ(x.ctl({"list"}).first, 2) << text;
  }
}

} // namespace
} // namespace caisson::test
