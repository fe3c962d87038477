// The page of one gate of `caisson top`.
#pragma once

#include <ctl/top/cells.hpp>
#include <ctl/top/model.hpp>
#include <ctl/top/screen_notes.hpp>

#include <cstddef>
#include <vector>

namespace caisson::ctl {

/// All lines of the gate that is opened.
[[nodiscard]] std::vector<text_line>
gate_lines(const top_model& model, std::size_t columns,
           const terminal_look& look, const screen_notes& notes);

} // namespace caisson::ctl
