// Collects the notes and warnings of an import.
#pragma once

#include <simulator/import/importer.hpp>
#include <simulator/import/span.hpp>
#include <simulator/import/span_tree.hpp>
#include <simulator/import/traffic_model.hpp>
#include <simulator/import/visits.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// What of the spans could not be used as it is, and how often; a sentence
/// each.
[[nodiscard]] std::vector<std::string>
notes_of(const span_set& spans, const span_tree& tree, const visit_graph& g);

/// What no trace contains; a sentence each.
[[nodiscard]] std::vector<std::string> unknowns(const traffic_model& m,
                                                const import_settings& how);

/// The lines as a comment of TOML, at most 88 columns wide: each begins with
/// `# - `.
[[nodiscard]] std::string commented(const std::vector<std::string>& lines);

} // namespace caisson::sim
