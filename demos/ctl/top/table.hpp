// The table of gates of `caisson top`.
#pragma once

#include <ctl/top/cells.hpp>
#include <ctl/top/controls.hpp>
#include <ctl/top/history.hpp>
#include <ctl/top/model.hpp>
#include <ctl/top/screen_notes.hpp>

#include <caisson/base/time.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace caisson::ctl {

/// The head and the rows of the table that are on a screen of `height` lines.
[[nodiscard]] std::vector<text_line>
table_lines(const top_model& model, top_view& view, std::size_t columns,
            std::size_t height, const terminal_look& look,
            const screen_notes& notes);

/// The table alone, with all rows, but without bars. `columns` 0: as wide as it
/// needs to be.
[[nodiscard]] std::vector<text_line>
draw_table(const top_model& model, const top_view& view, std::size_t columns,
           const terminal_look& look, const screen_notes& notes);

// -- what is in it ------------------------------------------------------------

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
