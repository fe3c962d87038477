#include <simulator/import/traffic_model.hpp>

#include <simulator/import/cycles.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace caisson::sim {

namespace {

class model_maker {
public:
  model_maker(const visit_graph& g, const std::vector<trace_span>& spans,
              times_kind times)
    : graph_(g), spans_(spans), times_(times) {}

  traffic_model make(const std::function<void(double)>& step) {
    list_operations();
    for (std::uint32_t v = 0; v < graph_.visits.size(); ++v)
      add_visit(v);
    add_loads();
    add_latencies();
    find_peaks();
    find_circles();
    for (std::uint32_t o = 0; o < out_.operations.size(); ++o) {
      describe(o);
      if (step)
        step(static_cast<double>(o + 1)
             / static_cast<double>(out_.operations.size()));
    }
    return std::move(out_);
  }

private:
  // -- operations -------------------------------------------------------------

  void list_operations() {
    for (const auto& what : graph_.operations) {
      auto number = static_cast<std::uint32_t>(out_.operations.size());
      out_.operations.push_back({.what = what});
      auto& service = out_.services[what.service];
      service.name = what.service;
      service.operations.push_back(number);
    }
    visits_.resize(out_.operations.size());
  }

  [[nodiscard]] const trace_span& span_of(std::uint32_t v) const {
    return spans_[graph_.visits[v].span];
  }

  void add_visit(std::uint32_t v) {
    const auto& visit = graph_.visits[v];
    const auto& span = span_of(v);
    auto& operation = out_.operations[visit.operation];
    auto& service = out_.services[operation.what.service];
    visits_[visit.operation].push_back(v);
    ++operation.visits;
    ++service.visits;
    service.time_inside += static_cast<double>(span.end - span.start);
    operation.failed += span.failed;
    auto call_failed = false;
    for (const auto& c : graph_.calls_of(v)) {
      auto& calls = operation.calls[c.operation];
      ++calls.first;
      calls.second += c.failed;
      call_failed = call_failed || c.failed;
      if (c.failed && !span.failed)
        ++survived_[{visit.operation, c.operation}];
    }
    service.own_failures += span.failed && !call_failed;
  }

  // Those that failed have made fewer calls than they would have.
  void describe(std::uint32_t o) {
    auto& operation = out_.operations[o];
    auto& all = visits_[o];
    if (operation.failed < operation.visits)
      std::erase_if(all, [&](std::uint32_t v) { return span_of(v).failed; });
    operation.pattern = find_pattern(graph_, all);
    std::vector<double> selves;
    selves.reserve(all.size());
    for (auto v : all)
      selves.push_back(static_cast<double>(graph_.visits[v].self));
    operation.time = fit(selves, times_);
    for (const auto& [target, calls] : operation.calls)
      if (auto at = survived_.find({o, target});
          at != survived_.end() && at->second * 2 > calls.second)
        operation.optional.insert(target);
    all = {};
  }

  // -- load -------------------------------------------------------------------

  [[nodiscard]] std::int64_t start_of(const entry_visit& e) const {
    return span_of(e.visit).start;
  }

  void add_loads() {
    for (const auto& e : graph_.entries) {
      auto& load = out_.loads[e.from];
      load.from = e.from;
      ++load.requests;
      ++load.targets[graph_.visits[e.visit].operation];
      const auto& span = span_of(e.visit);
      out_.longest = std::max(out_.longest,
                              static_cast<double>(span.end - span.start));
    }
    const auto& entries = graph_.entries;
    out_.requests = entries.size();
    if (entries.size() < 2)
      return;
    auto n = static_cast<double>(entries.size());
    out_.covered = static_cast<double>(start_of(entries.back())
                                       - start_of(entries.front()))
                   * n / (n - 1);
    if (out_.covered > 0)
      compare_tenths();
  }

  void compare_tenths() {
    std::array<std::uint64_t, 10> tenths{};
    auto first = start_of(graph_.entries.front());
    for (const auto& e : graph_.entries) {
      auto at = static_cast<double>(start_of(e) - first) * 10 / out_.covered;
      ++tenths[static_cast<std::size_t>(std::clamp(at, 0.0, 9.0))];
    }
    auto [fewest, most] = std::ranges::minmax(tenths);
    out_.fewest = fewest;
    out_.most = most;
    auto mean = static_cast<double>(out_.requests) / 10;
    double squares = 0;
    for (auto n : tenths)
      squares += (static_cast<double>(n) - mean)
                 * (static_cast<double>(n) - mean);
    // Of a Poisson process the variance is the mean; three times as much has a
    // probability of less than 0.2 %.
    out_.uneven = squares / 9 > 3 * mean;
  }

  // -- the way ----------------------------------------------------------------

  void add_latencies() {
    std::map<std::uint32_t, request_source> sources;
    for (const auto& e : graph_.entries)
      sources.emplace(e.visit, e.from);
    for (std::uint32_t v = 0; v < graph_.visits.size(); ++v) {
      const auto& visit = graph_.visits[v];
      traced_caller from;
      auto source = sources.find(v);
      if (visit.caller != no_visit) {
        from.service = graph_.operations[graph_.visits[visit.caller].operation]
                         .service;
      } else if (source != sources.end()) {
        from.is_load = true;
        from.load = source->second;
      } else {
        continue;
      }
      if (visit.latency >= 0)
        out_.latencies[{from, graph_.operations[visit.operation].service}].add(
          static_cast<double>(visit.latency));
      else
        out_.without_latency += !from.is_load;
    }
  }

  // -- concurrency ------------------------------------------------------------

  void find_peaks() {
    std::map<std::uint32_t, std::vector<std::pair<std::int64_t, int>>> changes;
    for (std::uint32_t v = 0; v < graph_.visits.size(); ++v) {
      const auto& span = span_of(v);
      auto service = graph_.operations[graph_.visits[v].operation].service;
      // What takes no time is there all the same.
      changes[service].emplace_back(span.start, 1);
      changes[service].emplace_back(std::max(span.end, span.start + 1), -1);
    }
    for (auto& [service, all] : changes) {
      // Those that end make room for those that begin at the same time.
      std::ranges::sort(all);
      std::int64_t inside = 0;
      std::int64_t most = 0;
      for (const auto& [at, change] : all)
        most = std::max(most, inside += change);
      out_.services[service].peak = static_cast<std::uint64_t>(most);
      all = {};
    }
  }

  void find_circles() {
    std::map<std::uint32_t, std::uint32_t> numbers;
    for (const auto& [name, service] : out_.services)
      numbers.emplace(name, static_cast<std::uint32_t>(numbers.size()));
    std::vector<graph_edge> edges;
    for (const auto& operation : out_.operations)
      for (const auto& [target, calls] : operation.calls)
        edges.emplace_back(numbers[operation.what.service],
                           numbers[graph_.operations[target].service]);
    auto cycles = find_cycles(static_cast<std::uint32_t>(numbers.size()),
                              edges);
    for (auto& [name, service] : out_.services)
      service.calls_itself = cycles.in_one(numbers[name], numbers[name]);
  }

  const visit_graph& graph_;
  const std::vector<trace_span>& spans_;
  times_kind times_;
  // By operation.
  std::vector<std::vector<std::uint32_t>> visits_;
  // Failed calls of visits that succeeded, by both operations.
  std::map<graph_edge, std::uint64_t> survived_;
  traffic_model out_;
};

} // namespace

fitted_times traced_latency::one_way() const {
  auto n = static_cast<double>(calls);
  auto mean = sum / n;
  auto variance = std::max(0.0, squares / n - mean * mean);
  auto cv = mean > 0 ? std::sqrt(2 * variance) / mean : 0;
  return fit_moments(mean / 2, cv);
}

traffic_model model_of(const visit_graph& g,
                       const std::vector<trace_span>& spans, times_kind times,
                       const std::function<void(double)>& step) {
  return model_maker{g, spans, times}.make(step);
}

} // namespace caisson::sim
