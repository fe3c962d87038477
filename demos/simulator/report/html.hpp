// Results as a page to look at.
#pragma once

#include <simulator/report/report.hpp>

#include <iosfwd>
#include <string>

namespace caisson::sim {

/// What a page says about where its numbers come from.
struct html_source {
  /// The text of the scenario's file; empty if it cannot be read again.
  std::string scenario;
  /// What makes the same page again.
  std::string command;
  std::string version;
};

/// Writes one page that needs nothing from elsewhere: of the first seed, and
/// with several of them the verdicts of all. The same report and source give
/// the same bytes. docs/simulator-output.md describes the page and its data.
void write_html(std::ostream& out, const report& r, const html_source& source);

} // namespace caisson::sim
