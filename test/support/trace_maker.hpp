// Traces made by hand.
#pragma once

#include <simulator/import/importer.hpp>
#include <simulator/import/span.hpp>
#include <simulator/scenario/scenario.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

using sim::span_kind;

/// What most spans are not.
struct more_of_span {
  span_kind kind = span_kind::server;
  bool failed = false;
  bool follows = false;
  std::string_view peer = {};
};

/// Collects spans. Times are milliseconds since some day of 2020.
class trace_maker {
public:
  static constexpr std::int64_t day = 1'600'000'000'000'000'000;

  /// Goes on with another trace, of which the first has the number 1.
  void next_trace() { ++trace_; }

  /// Adds a span below `parent` (0: none) and returns its id.
  std::uint64_t add(std::uint64_t parent, std::string_view service,
                    std::string_view name, double start, double end,
                    const more_of_span& x = {}) {
    sim::trace_span s;
    s.trace = {0, trace_};
    s.id = ++last_;
    s.parent = parent;
    s.start = day + static_cast<std::int64_t>(start * 1e6);
    s.end = day + static_cast<std::int64_t>(end * 1e6);
    s.service = set.names.number(service);
    s.name = set.names.number(name);
    s.peer = set.names.number(x.peer);
    s.kind = x.kind;
    s.failed = x.failed;
    s.follows = x.follows;
    set.spans.push_back(s);
    return s.id;
  }

  /// A call with a span on each side; the callee's id. Half a millisecond goes
  /// by each way.
  std::uint64_t call(std::uint64_t parent, std::string_view from,
                     std::string_view to, std::string_view name, double start,
                     double end, bool failed = false) {
    auto client = add(parent, from, name, start, end,
                      {.kind = span_kind::client, .failed = failed});
    return add(client, to, name, start + 0.5, end - 0.5, {.failed = failed});
  }

  sim::import_result make(const sim::import_settings& how = {}) {
    return sim::scenario_from_spans(std::move(set), how);
  }

  sim::span_set set;

private:
  std::uint64_t trace_ = 1;
  std::uint64_t last_ = 0;
};

/// The only arm of an imported scenario.
inline sim::arm_config arm_of(const sim::import_result& r) {
  return sim::parse_scenario(r.toml, "imported").arms.at(0);
}

inline const sim::service_config& service(const sim::arm_config& arm,
                                          const std::string& name) {
  for (const auto& s : arm.services)
    if (s.name == name)
      return s;
  throw std::runtime_error{"no service " + name};
}

/// The mean time of an operation, in milliseconds; -1 if there is none.
inline double mean_ms(const sim::arm_config& arm,
                      const std::string& operation) {
  for (const auto& s : arm.services)
    for (const auto& o : s.operations)
      if (o.name == operation)
        return to_seconds(o.time.mean()) * 1e3;
  return -1;
}

/// The mean latency of an edge, in milliseconds.
inline double latency_ms(const sim::arm_config& arm, const std::string& from,
                         const std::string& to) {
  for (const auto& e : arm.edges)
    if (e.from == std::vector{from} && e.to == std::vector{to})
      return to_seconds(e.latency.value().mean()) * 1e3;
  return 0;
}

inline bool notes_have(const sim::import_result& r, const std::string& text) {
  return std::ranges::any_of(r.notes, [&](const std::string& note) {
    return note.find(text) != note.npos;
  });
}

inline std::string all_notes(const sim::import_result& r) {
  std::string out;
  for (const auto& note : r.notes)
    out += note + "\n";
  return out;
}

} // namespace caisson::test
