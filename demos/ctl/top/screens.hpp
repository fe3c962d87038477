// Screens of `caisson top`, as lines of text.
#pragma once

#include <ctl/top/cells.hpp>
#include <ctl/top/controls.hpp>
#include <ctl/top/model.hpp>
#include <ctl/top/screen_notes.hpp>

#include <cstddef>
#include <vector>

namespace caisson::ctl {

struct screen_size {
  std::size_t columns = 80;
  std::size_t rows = 24;

  friend bool operator==(const screen_size&, const screen_size&) = default;
};

/// As many lines as the screen has rows, each as wide as the screen. Changes in
/// `view` what has to fit: what is selected and how far it is scrolled.
[[nodiscard]] std::vector<text_line>
draw_screen(const top_model& model, top_view& view, const screen_size& size,
            const terminal_look& look, const screen_notes& notes);

/// How many rows of the table, or lines of a gate, such a screen has.
[[nodiscard]] std::size_t page_height(const screen_size& size) noexcept;

} // namespace caisson::ctl
