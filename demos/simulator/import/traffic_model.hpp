// Model of services, operations, calls and load, derived from traces.
#pragma once

#include <simulator/import/call_pattern.hpp>
#include <simulator/import/fit.hpp>
#include <simulator/import/visits.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace caisson::sim {

struct traced_operation {
  visited_operation what = {};
  std::uint64_t visits = 0;
  std::uint64_t failed = 0;
  fitted_times time = {};
  call_pattern pattern = {};
  /// Operations whose failed calls it survives, mostly.
  std::set<std::uint32_t> optional = {};
  /// How many calls it makes of operations, and how many of them failed.
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> calls = {};
};

struct traced_service {
  /// Number of its name.
  std::uint32_t name = 0;
  /// Indexes of its operations.
  std::vector<std::uint32_t> operations;
  std::uint64_t visits = 0;
  /// Those that failed although no call of theirs did.
  std::uint64_t own_failures = 0;
  /// The highest number of visits at once.
  std::uint64_t peak = 0;
  /// All visits together, nanoseconds.
  double time_inside = 0;
  /// Whether a request can be in it twice, because of calls in a circle.
  bool calls_itself = false;
};

/// What the calls of a service, or of those outside, take on their way, there
/// and back, nanoseconds.
struct traced_latency {
  std::uint64_t calls = 0;
  double sum = 0;
  double squares = 0;

  void add(double x) {
    ++calls;
    sum += x;
    squares += x * x;
  }
  /// Of one way: half of the mean, and a spread with which two ways together
  /// have that of the whole.
  [[nodiscard]] fitted_times one_way() const;
};

struct traced_load {
  request_source from;
  /// Indexes of operations, and how often they were asked for.
  std::map<std::uint32_t, std::uint64_t> targets;
  std::uint64_t requests = 0;
};

/// Who calls: a service by the number of its name, or a load.
struct traced_caller {
  bool is_load = false;
  request_source load;
  std::uint32_t service = 0;

  friend auto operator<=>(const traced_caller&, const traced_caller&) = default;
};

struct traffic_model {
  /// In the order of the graph's.
  std::vector<traced_operation> operations;
  /// By name's number.
  std::map<std::uint32_t, traced_service> services;
  std::map<request_source, traced_load> loads;
  /// By caller and the number of the service's name.
  std::map<std::pair<traced_caller, std::uint32_t>, traced_latency> latencies;
  /// Calls whose way cannot be separated from the callee's time.
  std::uint64_t without_latency = 0;

  /// Requests from outside, and the time that they cover, from the first to
  /// one mean gap after the last; nanoseconds, 0 if there is only one.
  std::uint64_t requests = 0;
  double covered = 0;
  /// The longest of them, nanoseconds.
  double longest = 0;
  /// Requests in the tenth of the time with the fewest and with the most.
  std::uint64_t fewest = 0;
  std::uint64_t most = 0;
  /// Whether these differ by more than chance.
  bool uneven = false;
};

/// Sums up visits. `step` is called with the share that is done. n log n.
[[nodiscard]] traffic_model
model_of(const visit_graph& g, const std::vector<trace_span>& spans,
         times_kind times, const std::function<void(double)>& step = {});

} // namespace caisson::sim
