// Writes the results of a sweep as a page.
#pragma once

#include <simulator/sweep/sweep_report.hpp>

#include <iosfwd>
#include <string>

namespace caisson::sim {

/// What a page says about where it comes from.
struct sweep_source {
  std::string scenario;
  std::string command;
  std::string version;
};

/// One page that needs nothing from elsewhere.
void write_sweep_html(std::ostream& out, const sweep_report& r,
                      const sweep_source& source);

} // namespace caisson::sim
