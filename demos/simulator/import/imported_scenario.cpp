#include <simulator/import/imported_scenario.hpp>

#include <simulator/import/ordered_table.hpp>
#include <simulator/import/scenario_names.hpp>
#include <simulator/report/numbers.hpp>
#include <simulator/scenario/fields.hpp>

#include <caisson/settings/problem.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <ratio>
#include <set>
#include <utility>

namespace caisson::sim {

namespace {

// What a scenario allows.
constexpr double most_servers = 1e6;
constexpr double least_rate = 1e-6;
constexpr double most_rate = 1e7;
constexpr double most_weight = 1e9;

// A run is to have so many on average.
constexpr double least_requests = 100;

// Of a share, a rate or a weight: enough digits, and not more.
double six_digits(double x) {
  return std::stod(fmt::format("{:.6g}", x));
}

class scenario_maker {
public:
  scenario_maker(const traffic_model& m, const name_pool& names,
                 double sampling)
    : model_(m), texts_(names), sampling_(sampling) {}

  imported_scenario make() {
    if (model_.requests == 0)
      throw config_error{
        {{problem_kind::missing,
          {},
          "the spans have no request from outside: each is below another one",
          {}}}};
    name_all();
    ordered_table root;
    root.add("title", "Imported from traces").add("length", length());
    root.add("service", {services(), {}});
    if (auto edges = edge_list(); !edges.empty())
      root.add("edge", {std::move(edges), {}});
    root.add("load", {loads(), {}});
    note_services();
    note_operations();
    out_.root = root.take();
    number_places(out_.root);
    return std::move(out_);
  }

private:
  // -- names ------------------------------------------------------------------

  void name_all() {
    scenario_names callers;
    for (const auto& [name, service] : model_.services) {
      service_names_[name] = callers.take(text(name));
      if (service_names_[name] != text(name))
        write_name(service_names_[name], "the service", name);
    }
    for (const auto& [name, service] : model_.services)
      name_operations(service);
    for (const auto& [from, load] : model_.loads)
      load_names_[from] = callers.take(load_text(from));
  }

  // The one that is called like its service is the unnamed one.
  void name_operations(const traced_service& s) {
    const auto& service = service_names_[s.name];
    scenario_names own;
    for (auto o : s.operations) {
      const auto& what = model_.operations[o].what;
      auto name = text(what.name);
      if (what.level > 0)
        name += fmt::format("-in-itself-{}", what.level);
      auto used = own.take(name);
      auto unnamed = used == service && what.level == 0;
      auto full = service;
      if (!unnamed)
        full.append(".").append(used);
      short_names_[o] = unnamed ? "" : used;
      operation_names_[o] = full;
      if (used != name)
        write_name(full, "the span", what.name);
    }
  }

  void write_name(const std::string& used, std::string_view what,
                  std::uint32_t name) {
    out_.names.push_back(
      fmt::format("{}: {} {}", used, what, detail::quoted(text(name))));
  }

  [[nodiscard]] const std::string& text(std::uint32_t name) const {
    return texts_.text(name);
  }

  [[nodiscard]] std::string load_text(const request_source& from) const {
    switch (from.what) {
      case request_source::kind::client:
        return text(from.service);
      case request_source::kind::async:
        return text(from.service) + "-async";
      default:
        return "clients";
    }
  }

  // -- services ---------------------------------------------------------------

  settings services() {
    ordered_table out;
    for (const auto& [name, s] : model_.services)
      out.add(service_names_[name], {service(s), {}});
    return out.take();
  }

  settings service(const traced_service& s) {
    ordered_table out;
    add_servers(s, out);
    if (s.own_failures > 0)
      out.add("errors", {six_digits(static_cast<double>(s.own_failures)
                                    / static_cast<double>(s.visits)),
                         {}});
    ordered_table named;
    for (auto o : s.operations) {
      if (short_names_[o].empty())
        describe(o, out);
      else
        named.add(short_names_[o], {operation(o), {}});
    }
    if (!named.empty())
      out.add("op", {named.take(), {}});
    return out.take();
  }

  // As many as were seen at once. Of a sample, as many as would have been, if
  // requests come independently.
  void add_servers(const traced_service& s, ordered_table& out) {
    auto servers = static_cast<double>(s.peak);
    if (sampling_ < 1 && model_.covered > 0) {
      auto inside = s.time_inside / model_.covered / sampling_;
      servers = std::max(servers, std::ceil(inside + 4 * std::sqrt(inside)));
    }
    if (s.calls_itself || servers > most_servers)
      out.add("workers", "unlimited");
    else
      out.add("workers",
              {static_cast<std::int64_t>(std::max(1.0, servers)), {}});
  }

  settings operation(std::uint32_t o) {
    ordered_table out;
    describe(o, out);
    return out.take();
  }

  void describe(std::uint32_t o, ordered_table& out) {
    const auto& x = model_.operations[o];
    out.add("time", setting_of(x.time));
    std::vector<setting> steps;
    for (const auto& step : x.pattern.steps)
      steps.push_back(step_of(x, step));
    if (!steps.empty())
      out.add("calls", {std::move(steps), {}});
  }

  // -- calls ------------------------------------------------------------------

  setting step_of(const traced_operation& from, const pattern_step& step) {
    std::vector<setting> calls;
    for (const auto& c : step)
      calls.push_back(call_of(from, c));
    if (calls.size() == 1)
      return calls.front();
    return {std::move(calls), {}};
  }

  setting call_of(const traced_operation& from, const pattern_call& c) {
    pairs_.insert(
      {from.what.service, model_.operations[c.operation].what.service});
    const auto& name = operation_names_[c.operation];
    auto optional = from.optional.contains(c.operation);
    auto share = six_digits(c.probability);
    if (c.count == 1 && share >= 1 && !optional)
      return {name, {}};
    ordered_table out;
    out.add("to", name);
    if (c.count > 1)
      out.add("count", {std::int64_t{c.count}, {}});
    if (c.parallel)
      out.add("parallel", {true, {}});
    if (share < 1)
      out.add("probability", {share, {}});
    if (optional)
      out.add("optional", {true, {}});
    return {out.take(), {}};
  }

  // -- edges ------------------------------------------------------------------

  std::vector<setting> edge_list() {
    std::vector<setting> out;
    for (const auto& [ends, latency] : model_.latencies) {
      const auto& [from, to] = ends;
      auto one_way = latency.one_way();
      // A rule for what is never called would be a problem.
      if (one_way.mean < 0.5
          || (!from.is_load && !pairs_.contains({from.service, to})))
        continue;
      ordered_table edge;
      edge.add("from", from.is_load ? load_names_[from.load]
                                    : service_names_[from.service]);
      edge.add("to", service_names_[to]);
      edge.add("latency", setting_of(one_way));
      out.push_back({edge.take(), {}});
    }
    return out;
  }

  // -- loads ------------------------------------------------------------------

  settings loads() {
    ordered_table out;
    for (const auto& [from, load] : model_.loads) {
      ordered_table keys;
      keys.add("kind", "poisson");
      keys.add("rate", {rate_of(load), {}});
      if (load.targets.size() == 1)
        keys.add("target", operation_names_[load.targets.begin()->first]);
      else
        keys.add("mix", {mix_of(load), {}});
      out.add(load_names_[from], {keys.take(), {}});
    }
    return out.take();
  }

  // Whole minutes, for rare requests as many as are needed.
  [[nodiscard]] std::string length() const {
    double rate = 0;
    for (const auto& [from, load] : model_.loads)
      rate += rate_of(load);
    auto minutes = std::ceil(least_requests / rate / 60);
    if (minutes <= 1)
      return "60s";
    constexpr std::chrono::duration<double, std::ratio<60>> most = longest_time;
    return fmt::format("{:.0f}min", std::min(minutes, most.count()));
  }

  // Per second.
  [[nodiscard]] double rate_of(const traced_load& load) const {
    auto seconds = (model_.covered > 0 ? model_.covered : model_.longest) / 1e9;
    auto requests = static_cast<double>(load.requests) / sampling_;
    auto rate = seconds > 0 ? requests / seconds : 1;
    return six_digits(std::clamp(rate, least_rate, most_rate));
  }

  settings mix_of(const traced_load& load) {
    ordered_table out;
    for (const auto& [o, n] : load.targets)
      out.add(operation_names_[o],
              {std::min(static_cast<double>(n), most_weight), {}});
    return out.take();
  }

  // -- notes ------------------------------------------------------------------

  void note(std::string text) { out_.notes.push_back(std::move(text)); }

  void note_services() {
    for (const auto& [name, s] : model_.services)
      if (s.calls_itself)
        note(fmt::format(
          "{} is called on behalf of its own requests, so it has unlimited "
          "servers: with few of them, all could wait for one another",
          service_names_[name]));
    if (model_.covered == 0)
      note(
        "all requests begin at the same time, so there is no rate: the "
        "scenario has the rate at which each begins when the one before ends");
    if (model_.uneven)
      note(fmt::format(
        "the load varied: {} to {} requests in tenths of the time; the "
        "scenario has its mean",
        grouped(model_.fewest), grouped(model_.most)));
    if (model_.without_latency > 0)
      note(fmt::format("calls without latency, as one side of them has no "
                       "span: {}",
                       grouped(model_.without_latency)));
  }

  void note_operations() {
    for (std::uint32_t o = 0; o < model_.operations.size(); ++o) {
      const auto& x = model_.operations[o];
      const auto& name = operation_names_[o];
      if (x.pattern.other_order > 0.05)
        note(fmt::format("{} makes its calls in different orders, {} of them "
                         "in another than the scenario's",
                         name, percent(x.pattern.other_order)));
      if (std::abs(x.pattern.stretch - 1) > 0.05)
        note(fmt::format("the calls of {} overlap in a way that steps cannot "
                         "have: they take {:.2f} times as long",
                         name, x.pattern.stretch));
      if (x.visits == 0)
        note(fmt::format("{} has no spans, so it takes no time", name));
      else if (x.visits < 30)
        few_.push_back(name);
    }
    if (!few_.empty())
      note(fmt::format("less than 30 spans, too few for a distribution: {}",
                       detail::listed_names(few_)));
  }

  const traffic_model& model_;
  const name_pool& texts_;
  double sampling_;
  imported_scenario out_;
  std::map<std::uint32_t, std::string> service_names_;
  // By operation: as the keys of tables, and in full.
  std::map<std::uint32_t, std::string> short_names_;
  std::map<std::uint32_t, std::string> operation_names_;
  std::map<request_source, std::string> load_names_;
  // Who calls whom in the scenario.
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs_;
  std::vector<std::string> few_;
};

} // namespace

imported_scenario scenario_of(const traffic_model& m, const name_pool& names,
                              double sampling) {
  return scenario_maker{m, names, sampling}.make();
}

} // namespace caisson::sim
