// The data of a page.
#pragma once

#include <simulator/report/html.hpp>
#include <simulator/report/report.hpp>

#include <nlohmann/json.hpp>

namespace caisson::sim {

/// Everything that a page shows, as docs/simulator-output.md describes it.
[[nodiscard]] nlohmann::ordered_json html_data(const report& r,
                                               const html_source& source);

} // namespace caisson::sim
