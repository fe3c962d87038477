#include <simulator/scenario/size_limits.hpp>

#include <simulator/scenario/edges.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace caisson::sim {

namespace {

// -- replicas -----------------------------------------------------------------

void check_replicas(const arm_config& arm, problems& out) {
  std::uint64_t sum = 0;
  for (const auto& s : arm.services) {
    sum += s.replicas;
    if (sum > most_replicas) {
      out.push_back(
        {problem_kind::range, setting_path{} / "service" / s.name / "replicas",
         fmt::format("with these the services have more replicas than allowed: "
                     "{} in all",
                     most_replicas)});
      return;
    }
  }
}

// -- gates --------------------------------------------------------------------

// The gates of a world. Those of callers are one for each service, replica of
// the caller, and different edge between the two.
class gate_count {
public:
  explicit gate_count(const arm_config& arm) : arm_(arm) {
    for (const auto& s : arm.services)
      replicas_.emplace(s.name, s.replicas);
  }

  // How many there would be if no two calls shared any, which is computed
  // faster.
  [[nodiscard]] std::uint64_t
  at_most(const std::vector<call_site>& calls) const {
    std::uint64_t sum = 0;
    for (const auto& s : arm_.services)
      sum += s.replicas;
    for (const auto& c : calls)
      sum += callers(c);
    return sum;
  }

  // Whether there may be as many as with one more for `s`.
  bool add(const service_config& s) {
    if (!s.stack.empty())
      sum_ += s.replicas;
    return sum_ <= most_gates;
  }

  bool add(const call_site& c) {
    if (!called_[c.caller].insert(c.to).second || has_route(c))
      return sum_ <= most_gates;
    sum_ += callers(c);
    return sum_ <= most_gates;
  }

private:
  // A load is one.
  [[nodiscard]] std::uint32_t callers(const call_site& c) const {
    return c.operation.empty() ? 1 : replicas_.at(c.caller);
  }

  // Whether the caller reaches the service already by an edge like this one.
  bool has_route(const call_site& c) {
    auto& between = routes_[{c.caller, service_of_operation(c.to)}];
    // Without rules all edges are alike.
    if (arm_.edges.empty() && !between.empty())
      return true;
    auto edge = edge_between(arm_, c.caller, c.to);
    if (std::ranges::any_of(between, [&](const auto& other) {
          return share_a_route(edge, other);
        }))
      return true;
    between.push_back(std::move(edge));
    return false;
  }

  const arm_config& arm_;
  std::map<std::string_view, std::uint32_t> replicas_;
  std::map<std::string_view, std::set<std::string_view>> called_;
  std::map<std::pair<std::string_view, std::string_view>,
           std::vector<edge_config>>
    routes_;
  std::uint64_t sum_ = 0;
};

void check_gates(const arm_config& arm, const std::vector<call_site>& calls,
                 problems& out) {
  gate_count gates{arm};
  if (gates.at_most(calls) <= most_gates)
    return;
  auto too_many = [&](setting_path key) {
    out.push_back({problem_kind::range, std::move(key),
                   fmt::format("with this there are more gates than allowed: "
                               "{} in all; each replica of a caller has one "
                               "for each service that it calls, and each "
                               "replica of a service with a stack one",
                               most_gates)});
  };
  for (const auto& s : arm.services)
    if (!gates.add(s))
      return too_many(setting_path{} / "service" / s.name / "stack");
  for (const auto& c : calls)
    if (!gates.add(c))
      return too_many(c.key);
}

// -- keys ---------------------------------------------------------------------

// What the caches of a call, one in each replica, and the table of its keys
// hold.
std::uint64_t keys_of(const call_config& c, std::uint32_t replicas) {
  return std::uint64_t{c.cache_keys} * (replicas + (c.cache_skew > 0 ? 1 : 0));
}

void check_keys(const arm_config& arm, const std::vector<call_site>& calls,
                problems& out) {
  std::uint64_t sum = 0;
  auto fits = [&](std::uint64_t more, const setting_path& key) {
    sum += more;
    if (sum > most_keys)
      out.push_back(
        {problem_kind::range, key,
         fmt::format("with these there are more keys than allowed: {} in all; "
                     "the cache_keys of each call in each replica, and once "
                     "more those with a cache_skew, and the keys of loads with "
                     "a key_skew",
                     most_keys)});
    return sum <= most_keys;
  };
  std::map<std::string_view, std::uint32_t> replicas;
  for (const auto& s : arm.services)
    replicas.emplace(s.name, s.replicas);
  for (const auto& c : calls)
    if (c.config && !fits(keys_of(*c.config, replicas.at(c.caller)), c.key))
      return;
  for (const auto& load : arm.loads)
    if (load.key_skew > 0
        && !fits(load.keys, setting_path{} / "load" / load.name / "keys"))
      return;
}

} // namespace

void check_size(const arm_config& arm, const std::vector<call_site>& calls,
                problems& out) {
  check_replicas(arm, out);
  check_gates(arm, calls, out);
  check_keys(arm, calls, out);
}

} // namespace caisson::sim
