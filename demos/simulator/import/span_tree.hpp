// Tree of spans by their parents.
#pragma once

#include <simulator/import/span.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace caisson::sim {

/// What a span stands on top of, if not below another one.
enum class top_kind : std::uint8_t {
  /// It is below another one.
  none,
  /// A request from outside.
  entry,
  /// Its caller is missing, but the trace has another beginning.
  orphan,
};

/// How far the clocks of two services were moved towards each other.
struct clock_shift {
  std::uint64_t spans = 0;
  std::int64_t largest = 0;
};

/// The spans of all traces as trees. Building takes n log n.
class span_tree {
public:
  static constexpr std::uint32_t no_span = std::numeric_limits<
    std::uint32_t>::max();

  /// Sorts the spans, leaves out what is there twice, finds the parents, and
  /// moves what the clock of another machine has put outside of its caller
  /// into it. At most 4·10^9 spans.
  explicit span_tree(std::vector<trace_span>& spans);

  /// The parent's index; `no_span` for tops.
  [[nodiscard]] std::uint32_t parent(std::uint32_t i) const {
    return parents_[i];
  }
  [[nodiscard]] top_kind top(std::uint32_t i) const { return tops_[i]; }

  /// In the order of their starts.
  [[nodiscard]] std::span<const std::uint32_t> children(std::uint32_t i) const {
    return std::span{children_}.subspan(first_[i], first_[i + 1] - first_[i]);
  }

  /// All spans that hang on a top, parents before their children.
  [[nodiscard]] const std::vector<std::uint32_t>& order() const {
    return order_;
  }

  // -- what was found ---------------------------------------------------------

  std::uint64_t traces = 0;
  std::uint64_t duplicates = 0;
  /// Spans that are their own ancestors, with all below them.
  std::uint64_t in_cycles = 0;
  /// Entries and orphans whose parent is not in the files.
  std::uint64_t entries_without_parent = 0;
  std::uint64_t orphans = 0;
  /// By numbers of the services of caller and callee.
  std::map<std::pair<std::uint32_t, std::uint32_t>, clock_shift> shifts;

private:
  void drop_duplicates();
  void find_parents();
  void list_children();
  void find_tops();
  void decide_tops(std::uint32_t from, std::uint32_t to);
  void order_spans();
  void correct_clocks();

  std::vector<trace_span>& spans_;
  std::vector<std::uint32_t> parents_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> children_;
  std::vector<std::uint32_t> order_;
  std::vector<top_kind> tops_;
};

} // namespace caisson::sim
