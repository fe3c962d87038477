#include <simulator/play/run_result.hpp>

#include <simulator/report/metrics.hpp>
#include <simulator/report/numbers.hpp>
#include <simulator/scenario/metric_names.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>

namespace caisson::sim {

namespace {

using json = nlohmann::ordered_json;

double value_of(const arm_result& r, std::string_view name) {
  try {
    return metric_of(r, name);
  } catch (const std::invalid_argument&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

std::optional<verdict_kind> verdict_in(const json& x) {
  for (auto v : all_verdicts)
    if (x.is_string() && x.get<std::string>() == verdict_name(v))
      return v;
  return std::nullopt;
}

// As text, since JSON has no infinity.
std::optional<double> number_in(const json& x) {
  if (!x.is_string())
    return std::nullopt;
  auto text = x.get<std::string>();
  double out = 0;
  auto end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc{} || rest != end)
    return std::nullopt;
  return out;
}

} // namespace

bool run_result::has_all(const std::vector<std::string>& names) const {
  return std::ranges::all_of(
    names, [&](const auto& name) { return metrics.contains(name); });
}

run_result only(run_result c, const std::vector<std::string>& metrics) {
  if (auto offered = c.metrics.find("offered"); offered != c.metrics.end())
    c.idle = offered->second == 0;
  std::erase_if(c.metrics, [&](const auto& metric) {
    return std::ranges::find(metrics, metric.first) == metrics.end();
  });
  return c;
}

run_result run_result_of(const arm_result& r,
                         const std::vector<std::string>& metrics) {
  run_result out;
  out.verdict = r.verdict;
  auto add = [&](std::string name) {
    auto x = value_of(r, name);
    out.metrics.emplace(std::move(name), x);
  };
  for (const auto& name : metrics)
    add(name);
  for (auto name : metric_names_of(request_columns))
    add(std::string{name});
  for (auto name : metric_names_of(run_columns))
    add(std::string{name});
  for (auto name : metric_names_of(latency_columns))
    add("latency." + std::string{name});
  return out;
}

std::string idle_warning(std::uint64_t idle, std::uint64_t runs) {
  if (idle == 0)
    return {};
  return fmt::format("caisson: warning: no request began in {} of {} runs (or "
                     "none after the warm-up): their numbers are meaningless\n",
                     grouped(idle), grouped(runs));
}

std::string run_text(const run_result& c) {
  json metrics = json::object();
  for (const auto& [name, x] : c.metrics)
    metrics[name] = fmt::format("{}", x);
  return json{{"verdict", verdict_name(c.verdict)},
              {"metrics", std::move(metrics)}}
    .dump(-1, ' ', true, json::error_handler_t::replace);
}

std::optional<run_result> read_run(std::string_view text) {
  auto all = json::parse(text, nullptr, false);
  if (!all.is_object() || !all.contains("verdict") || !all.contains("metrics")
      || !all["metrics"].is_object())
    return std::nullopt;
  auto verdict = verdict_in(all["verdict"]);
  if (!verdict)
    return std::nullopt;
  run_result out;
  out.verdict = *verdict;
  for (const auto& [name, value] : all["metrics"].items()) {
    auto x = number_in(value);
    if (!x)
      return std::nullopt;
    out.metrics.emplace(name, *x);
  }
  return out;
}

} // namespace caisson::sim
