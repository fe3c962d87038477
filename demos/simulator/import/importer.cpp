#include <simulator/import/importer.hpp>

#include <simulator/import/import_notes.hpp>
#include <simulator/import/imported_scenario.hpp>
#include <simulator/import/span_tree.hpp>
#include <simulator/import/traffic_model.hpp>
#include <simulator/import/visits.hpp>
#include <simulator/report/numbers.hpp>
#include <simulator/scenario/scenario.hpp>
#include <simulator/scenario/toml_text.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <utility>

namespace caisson::sim {

namespace {

std::string import_summary(const span_set& spans, const span_tree& tree,
                           const traffic_model& m) {
  auto plural = [](std::size_t n, std::string_view one) {
    return fmt::format("{} {}{}", grouped(n), one, n == 1 ? "" : "s");
  };
  return fmt::format(
    "{} in {}, {}: {}, {}", plural(spans.spans.size(), "span"),
    plural(tree.traces, "trace"),
    short_seconds(duration{std::llround(std::min(m.covered, 9e18))}),
    plural(m.services.size(), "service"),
    plural(m.operations.size(), "operation"));
}

std::string section(std::string_view title,
                    const std::vector<std::string>& lines) {
  return lines.empty() ? ""
                       : fmt::format("#\n# {}\n{}", title, commented(lines));
}

} // namespace

import_result scenario_from_spans(span_set spans, const import_settings& how,
                                  const std::function<void(double)>& step) {
  auto done = [&](double share) {
    if (step)
      step(share);
  };
  span_tree tree{spans.spans};
  done(0.3);
  auto graph = find_visits(tree, spans.spans);
  done(0.6);
  auto model = model_of(graph, spans.spans, how.times,
                        [&](double x) { done(0.6 + 0.4 * x); });
  auto result = scenario_of(model, spans.names, how.sampling);
  import_result out;
  out.notes = notes_of(spans, tree, graph);
  out.notes.insert(out.notes.end(),
                   std::make_move_iterator(result.notes.begin()),
                   std::make_move_iterator(result.notes.end()));
  out.summary = import_summary(spans, tree, model);
  auto files = detail::printable(detail::listed_names(how.files));
  out.toml = fmt::format("# Made by caisson import of {}\n# {}\n", files,
                         out.summary)
             + section("What traces do not contain, and this scenario guesses:",
                       unknowns(model, how))
             + section("What was noticed:", out.notes)
             + section("What has another name here:", result.names) + "\n"
             + toml_text(result.root);
  // So that nobody gets a file that cannot be run.
  static_cast<void>(parse_scenario(out.toml, "the imported scenario"));
  return out;
}

} // namespace caisson::sim
