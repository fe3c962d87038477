#include <ctl/top/top_command.hpp>

#include <ctl/options.hpp>
#include <ctl/top/reader.hpp>
#include <ctl/top/screens.hpp>
#include <ctl/top/table.hpp>
#include <ctl/top/terminal.hpp>

#include <simulator/command/cli_parts.hpp>

#include <caisson/settings/settings_text.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>
#include <unistd.h>

namespace caisson::ctl {

namespace {

using steady = std::chrono::steady_clock;

constexpr auto about_top =
  R"(Shows the gates of a running program, live: calls, failures, rejections,
times and states. The program must have a caisson::control_server, which writes
the control file. Changes nothing; `caisson ctl` does.
)";

constexpr auto top_footer = R"(Examples:
  export CAISSON_CONTROL=/run/shop/control
  caisson top
  caisson top --interval 500ms
  caisson top --once

Keys: ? shows them, q quits. Colours are left out if NO_COLOR is set. Characters
beyond ASCII are shown if LC_ALL, LC_CTYPE or LANG says UTF-8. docs/control.md
has more.

Exit status: 0 it is done, 2 it is not: bad usage, no such program, a wrong
token, no terminal.)";

struct top_options {
  std::string file;
  std::string interval = "1s";
  bool once = false;
};

bool has_text(const char* name) {
  auto* x = std::getenv(name);
  return x && *x != 0;
}

terminal_look look_of_environment() {
  terminal_look out;
  out.colors = !has_text("NO_COLOR");
  for (const auto* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (has_text(name)) {
      std::string_view value = std::getenv(name);
      auto has = [&](std::string_view x) {
        return value.find(x) != value.npos;
      };
      out.utf8 = has("UTF-8") || has("utf8") || has("utf-8") || has("UTF8");
      return out;
    }
  out.utf8 = false;
  return out;
}

// -- one table ----------------------------------------------------------------

void print_once(const top_options& options, duration interval,
                std::ostream& out, const ctl_parts& parts) {
  auto file = control_file_of(options.file);
  gate_reader reader{file};
  top_model model{interval};
  // All gates, however many there are.
  auto look = [&] {
    constexpr auto any = std::numeric_limits<std::size_t>::max();
    auto update = reader.ask({{}, false, any}, std::chrono::seconds(30));
    if (!update.error.empty())
      throw ctl_error{update.error};
    take(model, update);
    if (!model.error().empty())
      throw ctl_error{model.error()};
  };
  look();
  parts.sleep(interval);
  look();
  auto form = look_of_environment();
  auto columns = parts.terminal ? parts.columns() : 0;
  if (model.gates().empty())
    out << "no gates\n";
  else
    for (const auto& x : draw_table(model, {}, columns, form,
                                    {file, interval, steady::now()})) {
      auto text = parts.terminal ? x.drawn(form.colors) : x.text();
      text.erase(text.find_last_not_of(' ') + 1);
      out << text << '\n';
    }
}

// -- the screen ---------------------------------------------------------------

class top_loop {
public:
  top_loop(const std::string& file, duration interval, const ctl_parts& parts)
    : parts_(parts), notes_{file, interval, {}}, model_(interval),
      reader_(file) {}

  int run() {
    // What is wrong from the beginning is said where it stays.
    auto first = reader_.ask({}, notes_.interval);
    take(model_, first);
    if (!model_.error().empty())
      throw ctl_error{model_.error()};
    noted_signals signals;
    full_screen screen{parts_.keyboard, parts_.screen};
    background_reader background{reader_, notes_.interval};
    while (signals.ended_by() == 0) {
      draw(screen);
      background.want(selection());
      if (!wait(screen, signals, background))
        return 0;
    }
    return 128 + signals.ended_by();
  }

private:
  void draw(full_screen& screen) {
    size_ = screen.size();
    notes_.now = steady::now();
    model_.open(view_.opened);
    screen.draw(draw_screen(model_, view_, size_, look_, notes_), size_, look_);
  }

  // The gate that is opened, or those on the screen.
  [[nodiscard]] gate_selection selection() const {
    gate_selection out;
    out.paused = view_.paused;
    if (!view_.opened.empty()) {
      out.names.push_back(view_.opened);
      return out;
    }
    auto rows = rows_of(model_, view_);
    auto end = std::min(rows.size(), view_.rows_above + page_height(size_));
    // The first one is asked at once when it is another one, so it is none.
    out.names.emplace_back();
    for (auto i = std::min(view_.rows_above, end); i < end; ++i)
      out.names.push_back(rows[i]->name);
    return out;
  }

  // For something to draw. Returns whether it goes on.
  bool wait(full_screen& screen, const noted_signals& signals,
            background_reader& background) {
    constexpr int for_rest_of_key = 50;
    // Ages are shown in seconds.
    constexpr int longest = 1'000;
    pollfd all[] = {{parts_.keyboard, POLLIN, 0},
                    {signals.descriptor(), POLLIN, 0},
                    {background.descriptor(), POLLIN, 0}};
    auto timeout = keys_.is_waiting() ? for_rest_of_key : longest;
    auto ready = ::poll(all, 3, timeout);
    if (ready < 0 && errno != EINTR)
      throw ctl_error{"cannot wait for input from the terminal"};
    signals.clear();
    if (ready > 0 && all[2].revents != 0)
      for (const auto& x : background.take_updates())
        take(model_, x);
    if (ready > 0 && all[0].revents != 0)
      return read_keys(screen);
    // Nothing has followed what looked like the beginning of a key.
    return ready != 0 || !keys_.is_waiting()
           || press_all(keys_.finish(), screen);
  }

  bool read_keys(full_screen& screen) {
    char bytes[256];
    auto n = ::read(parts_.keyboard, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
      return true;
    if (n <= 0)
      throw ctl_error{"the terminal is gone"};
    return press_all(keys_.take({bytes, static_cast<std::size_t>(n)}), screen);
  }

  bool press_all(const std::vector<key>& all, full_screen& screen) {
    for (const auto& x : all)
      switch (press(x, view_, model_, page_height(size_))) {
        case top_order::quit:
          return false;
        case top_order::suspend:
          screen.suspend();
          break;
        case top_order::redraw:
          screen.forget();
          break;
        case top_order::none:
          break;
      }
    return true;
  }

  const ctl_parts& parts_;
  terminal_look look_ = look_of_environment();
  screen_notes notes_;
  top_model model_;
  top_view view_;
  key_decoder keys_;
  screen_size size_;
  gate_reader reader_;
};

void require_terminal(const ctl_parts& parts) {
  if (parts.keyboard < 0 || parts.screen < 0)
    throw ctl_error{"standard input or output is not a terminal: --once prints "
                    "one table to anything"};
  auto* term = std::getenv("TERM");
  if (!term || *term == 0 || std::string_view{term} == "dumb")
    throw ctl_error{fmt::format(
      "TERM is {}: such a terminal has no full-screen mode; --once prints one "
      "table",
      detail::quoted(term ? term : ""))};
}

int run_top(int argc, const char* const* argv, std::ostream& out,
            std::ostream& err, const ctl_parts& parts) {
  top_options options;
  CLI::App app{about_top, "caisson top"};
  app.footer(top_footer);
  add_control_file(app, options.file);
  app
    .add_option("--interval", options.interval,
                "Ask the program at this interval, such as 500ms\n"
                "(default: 1s)")
    ->type_name("TIME")
    ->check(sim::not_empty());
  app.add_flag("--once", options.once,
               "Print one table, after one interval, and end");
  try {
    app.parse(argc, argv);
    auto interval = time_in("--interval", options.interval,
                            std::chrono::milliseconds(100),
                            std::chrono::minutes(1));
    if (options.once) {
      print_once(options, interval, out, parts);
      return 0;
    }
    require_terminal(parts);
    return top_loop{control_file_of(options.file), interval, parts}.run();
  } catch (const CLI::ParseError& e) {
    return app.exit(e, out, err) == 0 ? 0 : 2;
  }
}

} // namespace

int top_main(int argc, const char* const* argv, std::ostream& out,
             std::ostream& err, const ctl_parts& parts) {
  return guarded_command("caisson top", out, err,
                         [&] { return run_top(argc, argv, out, err, parts); });
}

} // namespace caisson::ctl
