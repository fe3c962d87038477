#include <simulator/sweep/sweep_html.hpp>

#include <simulator/report/html_page.hpp>
#include <simulator/report/html_parts.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <ostream>
#include <utility>

namespace caisson::sim {

namespace {

using json = nlohmann::ordered_json;

// JSON has no infinity, and a page must distinguish it from what is missing.
json page_number(double x) {
  if (std::isinf(x))
    return "never";
  return std::isfinite(x) ? json(x) : json(nullptr);
}

json page_parameters(const sweep_plan& p) {
  auto out = json::array();
  auto names = short_names(p.parameters);
  for (std::size_t i = 0; i < p.parameters.size(); ++i) {
    auto texts = json::array();
    auto numbers = json::array();
    auto seconds = true;
    for (const auto& v : p.parameters[i].values) {
      texts.push_back(v.text);
      numbers.push_back(page_number(v.number));
      seconds = seconds && v.unit == sweep_unit::seconds;
    }
    out.push_back({{"path", p.parameters[i].name},
                   {"name", names[i]},
                   {"texts", std::move(texts)},
                   {"numbers", std::move(numbers)},
                   {"unit", seconds ? "time" : "number"}});
  }
  return out;
}

json metrics_of(const sweep_plan& p) {
  auto out = json::array();
  for (const auto& name : p.metrics) {
    auto sense = usual_sense(name);
    out.push_back(
      {{"name", name},
       {"unit", name_of(unit_of(name))},
       {"more", sense ? json(*sense == tune_sense::more) : json(nullptr)}});
  }
  return out;
}

// Per point and arm: how often each verdict, and for each metric the smallest,
// the middle and the largest value.
json results_of(const sweep_report& r) {
  auto out = json::array();
  for (std::size_t point = 0; point < r.plan.points(); ++point) {
    auto arms = json::array();
    for (std::size_t arm = 0; arm < r.plan.arms.size(); ++arm) {
      auto s = summary_of(r, point, arm);
      auto metrics = json::array();
      for (const auto& m : s.metrics)
        metrics.push_back(
          std::isnan(m.median)
            ? json(nullptr)
            : json::array(
              {page_number(m.min), page_number(m.median), page_number(m.max)}));
      arms.push_back(json::array({json(s.verdicts), std::move(metrics)}));
    }
    out.push_back(std::move(arms));
  }
  return out;
}

} // namespace

void write_sweep_html(std::ostream& out, const sweep_report& r,
                      const sweep_source& source) {
  const auto& p = r.plan;
  auto verdicts = json::array();
  for (auto v : all_verdicts)
    verdicts.push_back(verdict_name(v));
  json data{{"format", 1},
            {"version", source.version},
            {"title", p.title},
            {"file", p.file},
            {"seed", p.seed},
            {"seeds", p.seeds},
            {"interrupted", r.interrupted},
            {"failures", r.failures},
            {"command", source.command},
            {"scenario", source.scenario},
            {"arms", p.arms},
            {"verdicts", std::move(verdicts)},
            {"parameters", page_parameters(p)},
            {"metrics", metrics_of(p)},
            {"results", results_of(r)}};
  auto title = html_escaped(p.title.empty() ? p.file : p.title);
  auto text = script_safe(
    data.dump(-1, ' ', false, json::error_handler_t::replace));
  fill_page(out, html_parts::sweep_page,
            {{"title", title},
             {"style", html_parts::style},
             {"sweep_style", html_parts::sweep_style},
             {"script", html_parts::sweep_script},
             {"data", text}});
}

} // namespace caisson::sim
