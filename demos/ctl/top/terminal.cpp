#include <ctl/top/terminal.hpp>

#include <ctl/connection.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace caisson::ctl {

namespace {

// The other screen, no cursor, no line breaks at the right edge.
constexpr std::string_view begin_text = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view end_text = "\x1b[m\x1b[?7h\x1b[?25h\x1b[?1049l";

constexpr int crashes[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
constexpr std::size_t crash_count = 5;

// What handlers of signals need.
std::atomic<int> crash_keyboard{-1};
std::atomic<int> crash_screen{-1};
termios crash_state;
struct sigaction crash_before[crash_count];

std::atomic<int> signal_pipe{-1};
std::atomic<int> end_signal{0};

void restore(int keyboard, int screen, const termios& state) noexcept {
  // In this order: what is typed meanwhile is not shown on the other screen.
  [[maybe_unused]] auto n = ::write(screen, end_text.data(), end_text.size());
  ::tcsetattr(keyboard, TCSANOW, &state);
}

extern "C" void on_top_crash(int signal) {
  if (auto screen = crash_screen.exchange(-1); screen >= 0)
    restore(crash_keyboard, screen, crash_state);
  // The handler is the default one by now.
  ::raise(signal);
}

extern "C" void on_top_signal(int signal) {
  auto kept = errno;
  if (signal != SIGWINCH)
    end_signal = signal;
  const char byte = 0;
  [[maybe_unused]] auto n = ::write(signal_pipe, &byte, 1);
  errno = kept;
}

constexpr int noted[] = {SIGWINCH, SIGTERM, SIGQUIT, SIGINT, SIGHUP};

} // namespace

// -- the screen ---------------------------------------------------------------

full_screen::full_screen(int keyboard, int screen)
  : keyboard_(keyboard), screen_(screen) {
  if (::tcgetattr(keyboard_, &before_) != 0 || ::isatty(screen_) == 0)
    throw ctl_error{"standard input or output is not a terminal"};
  crash_state = before_;
  struct sigaction act {};
  act.sa_handler = on_top_crash;
  act.sa_flags = static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < crash_count; ++i)
    ::sigaction(crashes[i], &act, &crash_before[i]);
  enter();
}

full_screen::~full_screen() {
  leave();
  for (std::size_t i = 0; i < crash_count; ++i)
    ::sigaction(crashes[i], &crash_before[i], nullptr);
}

void full_screen::enter() {
  auto raw = before_;
  raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INLCR | IGNCR | INPCK
                                        | ISTRIP | IXON);
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL | ICANON | IEXTEN | ISIG);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  crash_keyboard = keyboard_;
  crash_screen = screen_;
  ::tcsetattr(keyboard_, TCSANOW, &raw);
  forget();
  [[maybe_unused]] auto n = ::write(screen_, begin_text.data(),
                                    begin_text.size());
}

void full_screen::leave() noexcept {
  if (crash_screen.exchange(-1) >= 0)
    restore(keyboard_, screen_, before_);
}

void full_screen::suspend() {
  leave();
  ::raise(SIGTSTP);
  enter();
}

screen_size full_screen::size() const {
  winsize size{};
  if (::ioctl(screen_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0
      || size.ws_row == 0)
    return {};
  // Nobody's terminal is larger.
  return {std::min<std::size_t>(size.ws_col, 2'000),
          std::min<std::size_t>(size.ws_row, 1'000)};
}

void full_screen::draw(const std::vector<text_line>& lines,
                       const screen_size& size, const terminal_look& look) {
  std::string out;
  if (shown_.empty() || size != size_)
    shown_.assign(lines.size(), {});
  // Shown anew after a change of size, when the terminal may have moved it.
  if (size != size_)
    out += "\x1b[m\x1b[2J";
  size_ = size;
  shown_.resize(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto text = lines[i].drawn(look.colors);
    if (text == shown_[i])
      continue;
    // Lines are as wide as the screen, so that nothing is left behind.
    out += fmt::format("\x1b[{};1H{}", i + 1, text);
    shown_[i] = std::move(text);
  }
  if (!out.empty())
    write(out);
}

void full_screen::write(const std::string& text) const {
  std::string_view rest = text;
  while (!rest.empty()) {
    auto n = ::write(screen_, rest.data(), rest.size());
    if (n >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd x{screen_, POLLOUT, 0};
      ::poll(&x, 1, 100);
    } else if (errno != EINTR) {
      throw ctl_error{fmt::format("the terminal cannot be written to: {}",
                                  std::generic_category().message(errno))};
    }
    if (noted_signals::ended_by() != 0)
      return;
  }
}

// -- signals ------------------------------------------------------------------

noted_signals::noted_signals() {
  if (::pipe2(pipe_, O_NONBLOCK | O_CLOEXEC) != 0)
    throw std::system_error{errno, std::generic_category(), "pipe"};
  end_signal = 0;
  signal_pipe = pipe_[1];
  struct sigaction act {};
  act.sa_handler = on_top_signal;
  for (std::size_t i = 0; i < count; ++i) {
    ::sigaction(noted[i], nullptr, &before_[i]);
    auto ignored = before_[i].sa_handler == SIG_IGN
                   && (noted[i] == SIGINT || noted[i] == SIGHUP);
    if (!ignored)
      ::sigaction(noted[i], &act, nullptr);
  }
}

noted_signals::~noted_signals() {
  for (std::size_t i = 0; i < count; ++i)
    ::sigaction(noted[i], &before_[i], nullptr);
  signal_pipe = -1;
  ::close(pipe_[0]);
  ::close(pipe_[1]);
}

int noted_signals::descriptor() const noexcept {
  return pipe_[0];
}

void noted_signals::clear() const noexcept {
  char bytes[64];
  while (::read(pipe_[0], bytes, sizeof bytes) > 0)
    ;
}

int noted_signals::ended_by() noexcept {
  return end_signal;
}

} // namespace caisson::ctl
