// What an import has to say.
#pragma once

#include <sim/import/importer.hpp>
#include <sim/import/span.hpp>
#include <sim/import/span_tree.hpp>
#include <sim/import/traffic_model.hpp>
#include <sim/import/visits.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// What of the spans could not be used as it is, and how often; a sentence
/// each.
[[nodiscard]] std::vector<std::string>
notes_of(const span_set& spans, const span_tree& tree, const visit_graph& g);

/// What no trace tells, whatever it has; a sentence each.
[[nodiscard]] std::vector<std::string> unknowns(const traffic_model& m,
                                                const import_settings& how);

/// The lines as a comment of TOML, at most 88 columns wide: each begins with
/// `# - `.
[[nodiscard]] std::string commented(const std::vector<std::string>& lines);

} // namespace caisson::sim
