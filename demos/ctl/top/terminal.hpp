// The terminal while it shows a full screen.
#pragma once

#include <ctl/top/cells.hpp>
#include <ctl/top/screens.hpp>

#include <string>
#include <vector>

#include <signal.h>
#include <termios.h>

namespace caisson::ctl {

/// While one of these lives, the terminal shows its other screen, without a
/// cursor, and keys come one by one. Its end restores all of that, and so does
/// a crash of the process. One at a time.
class full_screen {
public:
  /// The arguments are descriptors of the terminal. Throws `ctl_error`
  /// if they are of none.
  full_screen(int keyboard, int screen);
  ~full_screen();

  full_screen(const full_screen&) = delete;
  full_screen& operator=(const full_screen&) = delete;

  [[nodiscard]] screen_size size() const;

  /// Writes those lines that are others than before. Throws `ctl_error` if the
  /// terminal has gone.
  void draw(const std::vector<text_line>& lines, const screen_size& size,
            const terminal_look& look);

  /// The next `draw` writes everything.
  void forget() { shown_.clear(); }

  /// Restores the terminal, and stops the process until it is continued.
  void suspend();

private:
  void enter();
  void leave() noexcept;
  void write(const std::string& text) const;

  int keyboard_;
  int screen_;
  termios before_{};
  screen_size size_;
  std::vector<std::string> shown_;
};

/// While one of these lives, signals that end the process and changes of the
/// terminal's size are noted instead. One at a time. SIGINT and SIGHUP stay
/// ignored if they were.
class noted_signals {
public:
  noted_signals();
  ~noted_signals();

  noted_signals(const noted_signals&) = delete;
  noted_signals& operator=(const noted_signals&) = delete;

  /// Readable once a signal has come, until `clear`.
  [[nodiscard]] int descriptor() const noexcept;
  void clear() const noexcept;

  /// The signal that ends the process; 0: none has come.
  [[nodiscard]] static int ended_by() noexcept;

private:
  static constexpr std::size_t count = 5;

  int pipe_[2];
  struct sigaction before_[count];
};

} // namespace caisson::ctl
