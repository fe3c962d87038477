#include <simulator/tune/tune_files.hpp>

#include <simulator/report/csv.hpp>
#include <simulator/sweep/sweep_json.hpp>
#include <simulator/tune/tune_overlay.hpp>
#include <simulator/tune/tune_sentences.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

namespace caisson::sim {

namespace {

using tune_json = nlohmann::ordered_json;

tune_json settings_of(const tune_plan& p, const tune_candidate& c) {
  auto out = tune_json::object();
  auto values = p.values_of(c);
  for (std::size_t i = 0; i < values.size(); ++i)
    out[p.parameters[i].name] = values[i] ? setting_value(values[i]->value)
                                          : tune_json(nullptr);
  return out;
}

tune_json vary_of(const tune_plan& p) {
  auto out = tune_json::array();
  for (const auto& x : p.parameters)
    out.push_back({{"path", x.name},
                   {"setting", to_text(x.path)},
                   {"values", x.values.size()},
                   {"from", setting_value(x.values.front().value)},
                   {"to", setting_value(x.values.back().value)}});
  return out;
}

tune_json targets_of(const tune_plan& p, const std::vector<tune_target>& all) {
  auto out = tune_json::array();
  for (const auto& t : all) {
    tune_json x{{"metric", p.columns[t.column].name},
                {"better", t.sense == tune_sense::less ? "less" : "more"}};
    if (t.bound)
      x["bound"] = number_value(*t.bound);
    out.push_back(std::move(x));
  }
  return out;
}

tune_json interval_value(const confidence_interval& i) {
  if (!std::isfinite(i.from) || !std::isfinite(i.to))
    return nullptr;
  return tune_json::array({i.from, i.to});
}

tune_json means_of(const tune_plan& p, const tune_rows& rows,
                   std::size_t trials) {
  auto out = tune_json::object();
  for (std::size_t i = 0; i < p.columns.size(); ++i)
    out[p.columns[i].name] = number_value(mean_of(rows, trials, i));
  return out;
}

tune_json evidence_value(const tune_plan& p,
                         const std::optional<tune_evidence>& e) {
  if (!e)
    return nullptr;
  auto metrics = tune_json::object();
  for (std::size_t i = 0; i < p.columns.size(); ++i) {
    const auto& c = e->columns[i];
    metrics[p.columns[i].name] = {
      {"now", number_value(c.present)},
      {"now_interval", interval_value(c.present_interval)},
      {"best", number_value(c.best)},
      {"best_interval", interval_value(c.best_interval)},
      {"difference", number_value(c.difference.mean)},
      {"difference_interval", interval_value(c.difference.interval)}};
  }
  return {{"runs", e->trials},
          {"metrics", std::move(metrics)},
          {"now_meets_needs", e->present_meets},
          {"best_meets_needs", e->best_meets},
          {"now_sure_of_needs", e->present_sure},
          {"best_sure_of_needs", e->best_sure},
          {"better_than_now", e->better},
          {"better_than_next", e->better_than_next}};
}

tune_json front_value(const tune_outcome& x) {
  auto out = tune_json::array();
  for (auto i : x.choice.front) {
    tune_json row{
      {"candidate", i},
      {"settings", settings_of(x.plan, x.candidate(i))},
      {"metrics", means_of(x.plan, x.candidate(i).rows, x.seen->trials)}};
    auto tested = x.result.unseen.find(i);
    if (tested != x.result.unseen.end())
      row["unseen"] = means_of(x.plan, tested->second, x.plan.unseen_trials());
    out.push_back(std::move(row));
  }
  return out;
}

tune_json candidate_value(const tune_outcome& x, std::size_t i) {
  const auto& c = x.candidate(i);
  return {{"settings", settings_of(x.plan, c)},
          {"allowed", c.allowed},
          {"runs", c.rows.size()},
          {"metrics", c.rows.empty()
                        ? tune_json::object()
                        : means_of(x.plan, c.rows, c.rows.size())}};
}

tune_json optional_number(const std::optional<std::size_t>& x) {
  return x ? tune_json(*x) : tune_json(nullptr);
}

std::string csv_role(const tune_outcome& x, std::size_t i) {
  std::string out;
  auto add = [&](bool is, const char* name) {
    if (is)
      out += (out.empty() ? "" : " ") + std::string{name};
  };
  add(i == 0, "now");
  add(x.choice.best == i, "best");
  add(x.choice.runner_up == i, "next");
  add(std::ranges::count(x.choice.front, i) > 0, "front");
  return out;
}

} // namespace

void write_tune_json(std::ostream& out, const tune_outcome& x) {
  const auto& p = x.plan;
  const auto& found = x.result.found;
  auto candidates = tune_json::array();
  for (std::size_t i = 0; i < found.candidates.size(); ++i)
    candidates.push_back(candidate_value(x, i));
  auto overlay = x.has_better() ? overlay_of(p, x.candidate(*x.choice.best))
                                : tune_overlay{};
  tune_json all{{"format", 1},
                {"title", p.title},
                {"file", p.file},
                {"arm", p.arm.name},
                {"seed", p.seed},
                {"seeds", p.seeds},
                {"unseen_seeds", p.unseen},
                {"schedules", p.schedules},
                {"vary", vary_of(p)},
                {"need", targets_of(p, p.targets.needs)},
                {"best", targets_of(p, p.targets.objectives)},
                {"interrupted", found.interrupted},
                {"complete", found.complete},
                {"runs", found.spent},
                {"winner", optional_number(x.choice.best)},
                {"next", optional_number(x.choice.runner_up)},
                {"meets_needs", x.meets()},
                {"verdict", verdict_text(x.verdict)},
                {"seen", evidence_value(p, x.seen)},
                {"unseen", evidence_value(p, x.unseen)},
                {"front", front_value(x)},
                {"sentences", tune_sentences(x)},
                {"hints", tune_hints(x)},
                {"toml", overlay.arms},
                {"tune_arm", overlay.tune_arm},
                {"changes", overlay.lines},
                {"failures", x.result.failures},
                {"candidates", std::move(candidates)}};
  out << all.dump(1, ' ', false, tune_json::error_handler_t::replace) << '\n';
}

void write_tune_csv(std::ostream& out, const tune_outcome& x) {
  const auto& p = x.plan;
  std::string head = "candidate";
  for (const auto& s : p.parameters)
    head += "," + csv_field(s.name);
  head += ",is,runs";
  for (const auto& c : p.columns)
    head += "," + csv_field("mean " + c.name);
  out << head << '\n';
  for (std::size_t i = 0; i < x.result.found.candidates.size(); ++i) {
    const auto& c = x.candidate(i);
    if (c.rows.empty())
      continue;
    out << i;
    for (auto value : p.values_of(c))
      out << ',' << csv_field(value ? value->text : "");
    out << ',' << csv_role(x, i) << ',' << c.rows.size();
    for (std::size_t k = 0; k < p.columns.size(); ++k) {
      auto mean = mean_of(c.rows, c.rows.size(), k);
      out << ',' << (std::isnan(mean) ? "" : fmt::format("{}", mean));
    }
    out << '\n';
  }
}

} // namespace caisson::sim
