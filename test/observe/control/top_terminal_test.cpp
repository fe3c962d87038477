// `caisson top` on a pseudo-terminal, with a server.
#include <caisson/observe/control/control_file.hpp>
#include <caisson/observe/control/server.hpp>

#include <ctl/top/top_command.hpp>
#include <support/real_gates.hpp>
#include <system/sockets.hpp>

#include <gmock/gmock.h>

#include <functional>
#include <optional>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr auto enters = "\x1b[?1049h";
constexpr auto leaves = "\x1b[?1049l";
constexpr auto no_cursor = "\x1b[?25l";
constexpr auto cursor = "\x1b[?25h";

// Has another value while one of these lives.
class environment_variable {
public:
  environment_variable(const char* name, const char* value) : name_(name) {
    if (auto* x = ::getenv(name))
      before_ = x;
    ::setenv(name, value, 1);
  }
  ~environment_variable() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }

  environment_variable(const environment_variable&) = delete;
  environment_variable& operator=(const environment_variable&) = delete;

private:
  const char* name_;
  std::optional<std::string> before_;
};

// Both ends of one.
class pseudo_terminal {
public:
  pseudo_terminal() : outside_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    EXPECT_EQ(::grantpt(outside_), 0);
    EXPECT_EQ(::unlockpt(outside_), 0);
    inside_ = ::open(::ptsname(outside_), O_RDWR | O_NOCTTY);
    resize(80, 24);
  }
  ~pseudo_terminal() {
    ::close(inside_);
    close_outside();
  }

  void close_outside() {
    if (outside_ >= 0)
      ::close(outside_);
    outside_ = -1;
  }

  [[nodiscard]] int inside() const { return inside_; }

  void resize(unsigned short columns, unsigned short rows) const {
    winsize size{rows, columns, 0, 0};
    ::ioctl(outside_, TIOCSWINSZ, &size);
  }

  void type(std::string_view keys) const {
    EXPECT_EQ(::write(outside_, keys.data(), keys.size()),
              static_cast<ssize_t>(keys.size()));
  }

  // Waits for this text, and returns all that has come up to it.
  std::string until(const std::string& text) {
    auto end = std::chrono::steady_clock::now() + 30s;
    for (;;) {
      if (auto at = got_.find(text); at != got_.npos) {
        auto out = got_.substr(0, at + text.size());
        got_.erase(0, out.size());
        return out;
      }
      pollfd x{outside_, POLLIN, 0};
      if (std::chrono::steady_clock::now() > end || ::poll(&x, 1, 1'000) < 0) {
        ADD_FAILURE() << "not on the screen: " << text << "\nbut " << got_;
        return {};
      }
      read();
    }
  }

  // What has come, and is there.
  std::string rest() {
    while (read())
      ;
    return std::exchange(got_, {});
  }

  [[nodiscard]] bool is_as_before(const termios& before) const {
    termios now{};
    ::tcgetattr(inside_, &now);
    return now.c_lflag == before.c_lflag && now.c_iflag == before.c_iflag;
  }

  [[nodiscard]] termios state() const {
    termios out{};
    ::tcgetattr(inside_, &out);
    return out;
  }

private:
  bool read() {
    pollfd x{outside_, POLLIN, 0};
    if (::poll(&x, 1, 0) <= 0)
      return false;
    char bytes[4'096];
    auto n = ::read(outside_, bytes, sizeof bytes);
    if (n > 0)
      got_.append(bytes, static_cast<std::size_t>(n));
    return n > 0;
  }

  int outside_;
  int inside_ = -1;
  std::string got_;
};

class top_on_a_terminal : public real_gates {
protected:
  top_on_a_terminal() {
    write("[gates.payments]\nworker = \"echo\"\n"
          "[[gates.payments.layer]]\nkind = \"breaker\"\nthreshold = 2\n"
          "[gates.catalog]\nworker = \"echo\"\n");
    gates = spawn_gates(*sys, dir / "gates.toml", names);
    serve();
  }

  ~top_on_a_terminal() override {
    if (thread.joinable())
      thread.join();
  }

  void serve() {
    server.emplace(*sys, control_config{.file = (dir / "control").string()});
    server->add(gates);
  }

  int run(std::vector<std::string> words, bool with_terminal = true) {
    words.insert(words.begin(), {"top", "--file", (dir / "control").string()});
    std::vector<const char*> argv;
    for (const auto& x : words)
      argv.push_back(x.c_str());
    ctl::ctl_parts parts;
    parts.sleep = [this](duration d) {
      slept = d;
      if (between)
        between();
    };
    if (with_terminal)
      parts.keyboard = parts.screen = at.inside();
    return ctl::top_main(static_cast<int>(argv.size()), argv.data(), out, err,
                         parts);
  }

  void start(std::vector<std::string> words = {"--interval", "100ms"}) {
    thread = std::thread{[this, words] { status = run(words); }};
  }

  int ended() {
    thread.join();
    return status;
  }

  void call(const char* gate) {
    caf::scoped_actor self{*sys};
    portable::ask_blocking(self, gates.find(gate), patience, 1)
      .receive([](int) {}, [](const caf::error&) {});
  }

  environment_variable term{"TERM", "xterm"};
  environment_variable locale{"LC_ALL", "C.UTF-8"};
  environment_variable plain{"NO_COLOR", "1"};
  pseudo_terminal at;
  std::optional<control_server> server;
  std::ostringstream out;
  std::ostringstream err;
  std::function<void()> between;
  duration slept{};
  int status = -1;
  std::thread thread;
};

TEST_F(top_on_a_terminal, shows_gates_and_restores_it) {
  auto before = at.state();
  start();
  auto begin = at.until("payments");
  EXPECT_THAT(begin, HasSubstr(enters));
  EXPECT_THAT(begin, HasSubstr(no_cursor));
  EXPECT_THAT(begin, HasSubstr("2 gates, all normal"));
  EXPECT_THAT(begin, HasSubstr("catalog"));
  EXPECT_FALSE(at.is_as_before(before));
  call("payments");
  at.type("j\r");
  at.until("breaker");
  at.until("admitted");
  at.type("\x1b");
  at.until("catalog");
  // In another size everything is drawn anew, as wide as it is now.
  at.resize(40, 10);
  ::kill(::getpid(), SIGWINCH);
  at.until("\x1b[2J");
  EXPECT_THAT(at.until("\x1b[10;1H"), Not(HasSubstr("\x1b[11;1H")));
  at.type("q");
  EXPECT_EQ(ended(), 0) << err.str();
  auto end = at.rest();
  EXPECT_THAT(end, HasSubstr(leaves));
  EXPECT_THAT(end, HasSubstr(cursor));
  EXPECT_TRUE(at.is_as_before(before));
  EXPECT_EQ(out.str() + err.str(), "");
  // Nothing is coloured.
  EXPECT_THAT(begin + end, Not(HasSubstr("\x1b[32m")));
}

TEST_F(top_on_a_terminal, connects_again) {
  start();
  at.until("all normal");
  server.reset();
  at.until("no connection");
  at.until("control");
  serve();
  at.until("all normal");
  at.type("\x03");
  EXPECT_EQ(ended(), 0) << err.str();
  EXPECT_THAT(at.rest(), HasSubstr(leaves));
}

TEST_F(top_on_a_terminal, signals_end_it) {
  auto before = at.state();
  for (auto signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) {
    start();
    at.until("payments");
    ::kill(::getpid(), signal);
    EXPECT_EQ(ended(), 128 + signal);
    EXPECT_THAT(at.rest(), HasSubstr(leaves));
    EXPECT_TRUE(at.is_as_before(before));
  }
}

TEST_F(top_on_a_terminal, ends_while_the_program_hangs) {
  auto door = raw_socket::listening();
  start();
  at.until("payments");
  server.reset();
  {
    detail::control_file file{
      (dir / "control").string(),
      {.port = door.port(), .token = "secret", .process = ::getpid()}};
    // Somebody has connected, and gets no answer.
    auto line = door.accept();
    auto begin = std::chrono::steady_clock::now();
    at.type("q");
    EXPECT_EQ(ended(), 0) << err.str();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s);
  }
  EXPECT_THAT(at.rest(), HasSubstr(leaves));
}

TEST_F(top_on_a_terminal, ends_with_its_terminal) {
  start();
  at.until("payments");
  at.close_outside();
  EXPECT_EQ(ended(), 2);
  EXPECT_THAT(err.str(), HasSubstr("caisson top: the terminal "));
}

TEST_F(top_on_a_terminal, draws_only_what_has_changed) {
  start();
  at.until("q quit");
  // Some answers later nothing has happened, and nothing was drawn.
  at.type("p");
  at.until("paused, last numbers 0 s old");
  auto bytes = at.rest();
  EXPECT_LT(bytes.size(), 600u) << bytes;
  EXPECT_THAT(bytes, Not(HasSubstr("q quit")));
  at.type("q");
  EXPECT_EQ(ended(), 0);
}

TEST_F(top_on_a_terminal, prints_one_table) {
  between = [&] { call("payments"); };
  EXPECT_EQ(run({"--once", "--interval", "200ms"}, false), 0) << err.str();
  EXPECT_EQ(slept, 200ms);
  EXPECT_THAT(out.str(), testing::StartsWith("gate        state"));
  EXPECT_THAT(out.str(), HasSubstr("\ncatalog     accepting"));
  EXPECT_THAT(out.str(), testing::ContainsRegex("\npayments .* 100 "));
  EXPECT_THAT(out.str(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(out.str(), Not(HasSubstr(" \n")));
}

TEST_F(top_on_a_terminal, says_what_is_missing) {
  EXPECT_EQ(run({}, false), 2);
  EXPECT_THAT(err.str(), HasSubstr("not a terminal: --once prints one table"));
  for (const auto* name : {"dumb", ""}) {
    environment_variable other{"TERM", name};
    err.str({});
    EXPECT_EQ(run({}), 2);
    EXPECT_THAT(err.str(), HasSubstr("--once prints one table"));
  }
  for (const auto* time : {"0s", "99ms", "61s", "soon"}) {
    err.str({});
    EXPECT_EQ(run({"--interval", time}), 2) << time;
    EXPECT_THAT(err.str(), HasSubstr("is not a time from 100ms to 1min"));
  }
  for (const auto& words :
       {std::vector<std::string>{}, std::vector<std::string>{"--once"}}) {
    err.str({});
    server.reset();
    EXPECT_EQ(run(words), 2);
    EXPECT_THAT(err.str(), HasSubstr("cannot be opened"));
  }
  // Nothing was drawn.
  EXPECT_EQ(at.rest(), "");
  EXPECT_EQ(out.str(), "");
}

TEST_F(top_on_a_terminal, a_wrong_token_says_what_to_do) {
  auto address = detail::read_control_file((dir / "control").string());
  server.reset();
  control_server other{*sys, {.file = (dir / "other").string()}};
  address.port = detail::read_control_file((dir / "other").string()).port;
  detail::control_file file{(dir / "control").string(), address};
  EXPECT_EQ(run({"--once"}), 2);
  EXPECT_THAT(err.str(), HasSubstr("does not accept the token"));
  EXPECT_THAT(err.str(), HasSubstr("name the one that this program wrote"));
}

} // namespace
} // namespace caisson::test
