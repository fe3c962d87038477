// The choices of a user of `caisson top`, and how keys change them.
#pragma once

#include <ctl/top/keys.hpp>
#include <ctl/top/model.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson::ctl {

/// Columns of the table of gates, in their order.
enum class gate_column : std::uint8_t {
  name,
  state,
  calls,
  success,
  p50,
  p99,
  in_flight,
  waiting,
  rejected,
  reason,
  history,
};
inline constexpr std::size_t gate_columns = 11;

/// What is chosen.
struct top_view {
  /// The name of the gate; empty: the first one of the table.
  std::string selected;
  /// Its place in the table, for when it is no longer there.
  std::size_t place = 0;
  /// The gate that is shown alone; empty: none, but the table.
  std::string opened;
  /// Parts of names, in any case.
  std::string filter;
  gate_column sorted_by = gate_column::state;
  /// Instead of the busiest or worst first, and names by the alphabet.
  bool reversed = false;
  bool typing = false;
  bool help = false;
  bool paused = false;
  /// How many rows of the table, and lines of the gate, are above the screen.
  std::size_t rows_above = 0;
  std::size_t lines_above = 0;
};

/// Those that fit the filter, sorted.
[[nodiscard]] std::vector<const gate_facts*> rows_of(const top_model& model,
                                                     const top_view& view);

/// The place of the gate that is selected; if it has gone, of what has come in
/// its place. 0 if there are no rows.
[[nodiscard]] std::size_t
selected_place(const std::vector<const gate_facts*>& rows,
               const top_view& view);

/// So that the selected row is on a screen of so many rows.
[[nodiscard]] std::size_t rows_above(std::size_t present, std::size_t selected,
                                     std::size_t rows, std::size_t height);

enum class top_order : std::uint8_t { none, quit, suspend, redraw };

/// Carries out a key, and returns what is left to do. `height`: how many rows
/// or lines a page has.
[[nodiscard]] top_order press(const key& what, top_view& view,
                              const top_model& model, std::size_t height);

} // namespace caisson::ctl
