#include <simulator/sweep/sweep_files.hpp>

#include <simulator/report/csv.hpp>
#include <simulator/sweep/sweep_json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <ostream>
#include <utility>

namespace caisson::sim {

namespace {

using json = nlohmann::ordered_json;

json spread_values(const spread& s) {
  return {{"min", number_value(s.min)},
          {"median", number_value(s.median)},
          {"max", number_value(s.max)}};
}

json settings_at(const sweep_plan& p, std::size_t point) {
  auto out = json::object();
  for (std::size_t i = 0; i < p.parameters.size(); ++i)
    out[p.parameters[i].name] = setting_value(p.value(point, i).value);
  return out;
}

// Without a last comma, as a list has none.
class list_writer {
public:
  list_writer(std::ostream& out, std::string_view name) : out_(out) {
    out << fmt::format(",\n \"{}\": [", name);
  }
  ~list_writer() { out_ << (first_ ? "]" : "\n ]"); }
  list_writer(const list_writer&) = delete;
  list_writer& operator=(const list_writer&) = delete;

  void add(const json& x) {
    out_ << (std::exchange(first_, false) ? "\n  " : ",\n  ")
         << x.dump(-1, ' ', false, json::error_handler_t::replace);
  }

private:
  std::ostream& out_;
  bool first_ = true;
};

json parameters_of(const sweep_plan& p) {
  auto out = json::array();
  for (const auto& x : p.parameters) {
    auto values = json::array();
    for (const auto& v : x.values)
      values.push_back(setting_value(v.value));
    out.push_back({{"path", x.name}, {"values", std::move(values)}});
  }
  return out;
}

void write_runs(std::ostream& out, const sweep_report& r) {
  list_writer list{out, "runs"};
  const auto& p = r.plan;
  for (std::size_t i = 0; i < r.runs.size(); ++i) {
    const auto& run = r.runs[i];
    if (!run)
      continue;
    auto at = p.run_at(i);
    auto metrics = json::object();
    for (const auto& name : p.metrics) {
      auto found = run->metrics.find(name);
      metrics[name] = found == run->metrics.end() ? json(nullptr)
                                                  : number_value(found->second);
    }
    list.add({{"settings", settings_at(p, at.point)},
              {"arm", p.arms[at.arm]},
              {"seed", p.seed + at.seed},
              {"verdict", verdict_name(run->verdict)},
              {"metrics", std::move(metrics)}});
  }
}

void write_summaries(std::ostream& out, const sweep_report& r) {
  list_writer list{out, "summaries"};
  const auto& p = r.plan;
  for (std::size_t point = 0; point < p.points(); ++point)
    for (std::size_t arm = 0; arm < p.arms.size(); ++arm) {
      auto s = summary_of(r, point, arm);
      auto verdicts = json::object();
      for (auto v : all_verdicts)
        verdicts[std::string{verdict_name(v)}] = s.verdicts[static_cast<
          std::size_t>(v)];
      auto metrics = json::object();
      for (std::size_t i = 0; i < p.metrics.size(); ++i)
        metrics[p.metrics[i]] = spread_values(s.metrics[i]);
      list.add({{"settings", settings_at(p, point)},
                {"arm", p.arms[arm]},
                {"runs", s.runs},
                {"verdicts", std::move(verdicts)},
                {"metrics", std::move(metrics)}});
    }
}

} // namespace

void write_sweep_csv(std::ostream& out, const sweep_report& r) {
  const auto& p = r.plan;
  std::string head;
  for (const auto& x : p.parameters)
    head += csv_field(x.name) + ",";
  head += "arm,seed,verdict";
  for (const auto& name : p.metrics)
    head += "," + csv_field(name);
  out << head << '\n';
  for (std::size_t i = 0; i < r.runs.size(); ++i) {
    const auto& run = r.runs[i];
    if (!run)
      continue;
    auto at = p.run_at(i);
    for (std::size_t k = 0; k < p.parameters.size(); ++k)
      out << csv_field(p.value(at.point, k).text) << ',';
    out << csv_field(p.arms[at.arm]) << ',' << p.seed + at.seed << ','
        << verdict_name(run->verdict);
    for (const auto& name : p.metrics) {
      auto found = run->metrics.find(name);
      out << ',';
      if (found != run->metrics.end() && !std::isnan(found->second))
        out << fmt::format("{}", found->second);
    }
    out << '\n';
  }
}

void write_sweep_json(std::ostream& out, const sweep_report& r) {
  const auto& p = r.plan;
  json head{{"format", 1},
            {"title", p.title},
            {"file", p.file},
            {"seed", p.seed},
            {"seeds", p.seeds},
            {"interrupted", r.interrupted},
            {"arms", p.arms},
            {"metrics", p.metrics},
            {"parameters", parameters_of(p)},
            {"failures", r.failures}};
  auto separator = "{\n ";
  for (const auto& [key, value] : head.items()) {
    out << separator << json(key).dump() << ": "
        << value.dump(-1, ' ', false, json::error_handler_t::replace);
    separator = ",\n ";
  }
  write_runs(out, r);
  write_summaries(out, r);
  out << "\n}\n";
}

} // namespace caisson::sim
