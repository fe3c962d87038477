// Screens of `caisson top`, as lines of text.
#pragma once

#include <ctl/top/cells.hpp>
#include <ctl/top/controls.hpp>
#include <ctl/top/model.hpp>

#include <caisson/base/time.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::ctl {

struct screen_size {
  std::size_t columns = 80;
  std::size_t rows = 24;

  friend bool operator==(const screen_size&, const screen_size&) = default;
};

/// What screens say besides the gates.
struct screen_notes {
  /// The program, such as its control file.
  std::string program;
  duration interval{};
  time_point now{};
};

/// As many lines as the screen has rows, each as wide as the screen. Changes in
/// `view` what has to fit: what is selected and how far it is scrolled.
[[nodiscard]] std::vector<text_line>
draw_screen(const top_model& model, top_view& view, const screen_size& size,
            const terminal_look& look, const screen_notes& notes);

/// How many rows of the table, or lines of a gate, such a screen has.
[[nodiscard]] std::size_t page_height(const screen_size& size) noexcept;

/// The table alone, with all rows, but without bars. `columns` 0: as wide as it
/// needs to be.
[[nodiscard]] std::vector<text_line>
draw_table(const top_model& model, const top_view& view, std::size_t columns,
           const terminal_look& look, const screen_notes& notes);

// -- parts --------------------------------------------------------------------

/// The head and the rows of the table that are on a screen of `height` lines.
[[nodiscard]] std::vector<text_line>
table_lines(const top_model& model, top_view& view, std::size_t columns,
            std::size_t height, const terminal_look& look,
            const screen_notes& notes);

/// All lines of the gate that is opened.
[[nodiscard]] std::vector<text_line>
gate_lines(const top_model& model, std::size_t columns,
           const terminal_look& look, const screen_notes& notes);

/// A number per second or of things: three digits or so.
[[nodiscard]] std::string short_number(double x);
/// `-` if it is not known.
[[nodiscard]] std::string short_number(std::optional<double> x);
/// Of a share, without its sign: `100` and `0` only if that is exact.
[[nodiscard]] std::string percent_of(std::optional<double> share);

[[nodiscard]] paint paint_of(grade x) noexcept;

/// Bars of that many steps, the newest last, red and yellow where calls failed.
void add_bars(text_line& to, const call_history& from, std::size_t width,
              const terminal_look& look, time_point now);

} // namespace caisson::ctl
