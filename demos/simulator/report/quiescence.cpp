#include <simulator/report/quiescence.hpp>

#include <simulator/scenario/call_graph.hpp>
#include <simulator/scenario/edges.hpp>

#include <caisson/config/stack_toml.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace caisson::sim {

namespace {

using namespace std::chrono_literals;

// Gauges of gates and layers that are 0 at quiescence.
bool is_occupancy(std::string_view gauge) {
  static constexpr std::string_view all[] = {
    "in_progress", "held",      "in_flight", "leases",
    "timers",      "in_use",    "waiting",   "running",
    "outstanding", "verifying", "loading",   "probes_in_flight"};
  return std::ranges::find(all, gauge) != std::end(all);
}

void find_held(const std::string& where,
               const std::map<std::string, std::int64_t>& metrics,
               std::vector<violation>& out) {
  for (const auto& [name, value] : metrics)
    if (value != 0 && is_occupancy(name))
      out.push_back({fmt::format("rest {} {}", where, name),
                     fmt::format("gate {} still has {} = {} at quiescence",
                                 where, name, value)});
}

std::vector<violation> held_by(const std::vector<gate_summary>& gates) {
  std::vector<violation> out;
  for (const auto& gate : gates) {
    find_held(gate.name, gate.metrics, out);
    for (const auto& layer : gate.layers)
      find_held(gate.name + "." + layer.name, layer.metrics, out);
  }
  return out;
}

std::vector<violation> left_in(world& w, const arm_config& arm) {
  std::vector<violation> out;
  if (auto n = w.recorder().open_requests(); n > 0)
    out.push_back(
      {"rest requests",
       fmt::format("{} of clients never ended",
                   n == 1 ? "1 request" : fmt::format("{} requests", n))});
  const auto& routes = w.plan().routes;
  for (std::size_t i = 0; i < routes.size(); ++i)
    if (auto c = w.recorder().connections(i); c && c->used() + c->waiting() > 0)
      out.push_back(
        {fmt::format("rest connections {}", routes[i].name),
         fmt::format("edge {} still has {} connections in use and {} "
                     "calls that wait for one at quiescence",
                     routes[i].name, c->used(), c->waiting())});
  for (std::size_t i = 0; i < arm.services.size(); ++i)
    if (auto n = w.recorder().inside(i); n > 0)
      out.push_back(
        {fmt::format("rest service {}", arm.services[i].name),
         fmt::format("service {} still has {} inside at quiescence",
                     arm.services[i].name,
                     n == 1 ? "1 request" : fmt::format("{} requests", n))});
  return out;
}

void check_ended(const gate_summary& g, std::vector<violation>& out) {
  auto at = [&](const char* name) {
    auto found = g.metrics.find(name);
    return found == g.metrics.end() ? std::int64_t{0} : found->second;
  };
  auto ended = at("succeeded") + at("failed");
  auto refused = at("refused_draining") + at("refused_full")
                 + at("refused_invalid") + at("refused_loop")
                 + at("expired_on_arrival");
  auto came = at("calls") + at("acquires");
  if (came < ended || came > ended + refused)
    out.push_back({fmt::format("rest {} ended", g.name),
                   fmt::format("gate {} got {} calls, but {} succeeded or "
                               "failed, and {} were refused",
                               g.name, came, ended, refused)});
}

void check_asked(const edge_summary& e, std::vector<violation>& out) {
  if (!e.connections)
    return;
  const auto& c = *e.connections;
  auto ends = e.calls + c.refused + c.expired + c.abandoned;
  if (ends != c.asked)
    out.push_back({fmt::format("rest edge {} ended", e.name),
                   fmt::format("edge {} was asked for {} connections, but {} "
                               "calls were sent or got none",
                               e.name, c.asked, ends)});
}

void check_left(const service_summary& s, std::vector<violation>& out) {
  auto ends = s.refused + s.down + s.completed + s.failed + s.abandoned
              + s.lost;
  if (ends != s.arrivals)
    out.push_back({fmt::format("rest {} ended", s.name),
                   fmt::format("service {} got {} requests, but {} ended",
                               s.name, s.arrivals, ends)});
}

// Whether a service waits for requests that nobody sends any more.
bool stands_still(world& w, const arm_config& arm) {
  for (std::size_t i = 0; i < arm.faults.size(); ++i) {
    auto kind = arm.faults[i].kind;
    if ((kind == fault_kind::stall || kind == fault_kind::capacity)
        && w.recorder().faults().lasts(i))
      return true;
  }
  return false;
}

// When the last work ends that is known of.
duration work_until(world& w, const arm_config& arm) {
  duration out{};
  for (std::size_t i = 0; i < arm.services.size(); ++i)
    out = std::max(out, w.recorder().work_until(i));
  return out;
}

// -- ends ---------------------------------------------------------------------

// Whether a gate with this stack gives every call a deadline.
bool stack_ends(const arm_config& arm, const std::string& name) {
  auto found = arm.stacks.find(name);
  return found != arm.stacks.end()
         && found->second->policies.config().default_deadline != unlimited;
}

// Calls to it by a caller whose requests end, or do not.
bool has_deadline(const arm_config& arm, std::string_view from,
                  bool caller_ends, std::string_view to, duration timeout) {
  return caller_ends || timeout != unlimited
         || stack_ends(arm, edge_between(arm, from, to).stack);
}

} // namespace

bool all_calls_have_deadlines(const arm_config& arm) {
  // Services to which a call without a deadline may come, and those of them
  // whose calls have not been looked at again.
  std::set<std::string_view> endless;
  std::vector<std::string_view> fresh;
  auto note = [&](std::string_view to) {
    if (endless.insert(service_of_operation(to)).second)
      fresh.push_back(service_of_operation(to));
  };
  auto visit = [&](const service_config& s, bool caller_ends) {
    for (const auto& op : s.operations)
      for (const auto& step : op.steps)
        for (const auto& c : step.calls)
          if (!has_deadline(arm, s.name, caller_ends, c.to, c.timeout))
            note(c.to);
  };
  for (const auto& load : arm.loads)
    for (const auto& [to, weight] : load.mix)
      if (!has_deadline(arm, load.name,
                        load.timeout != unlimited || load.patience.has_value(),
                        to, unlimited))
        note(to);
  for (const auto& s : arm.services)
    visit(s, s.propagate_deadline);
  while (!fresh.empty()) {
    auto name = fresh.back();
    fresh.pop_back();
    auto found = std::ranges::find(arm.services, name, &service_config::name);
    if (found != arm.services.end())
      visit(*found, false);
  }
  return endless.empty();
}

std::vector<violation> check_quiescence(world& w, const arm_config& arm) {
  auto may_lose = std::ranges::any_of(
    world_plan{arm}.routes, [](const auto& r) { return r.has_network; });
  if (may_lose && !all_calls_have_deadlines(arm))
    return {};
  auto begin = w.elapsed();
  duration step = 1s;
  for (;;) {
    auto working = std::clamp(work_until(w, arm), begin,
                              begin + max_remaining_work);
    auto end = working + quiescence_timeout;
    auto left = left_in(w, arm);
    auto gates = w.gates();
    auto held = held_by(gates);
    if (left.empty() && held.empty()) {
      for (const auto& g : gates)
        check_ended(g, left);
      if (arm.warmup == duration::zero()) {
        auto r = w.recorder().result(w.time().now());
        for (const auto& s : r.services)
          check_left(s, left);
        for (const auto& e : r.edges)
          check_asked(e, left);
      }
      return left;
    }
    if (w.elapsed() >= end) {
      if (stands_still(w, arm) || work_until(w, arm) > end)
        return {};
      left.insert(left.end(), held.begin(), held.end());
      return left;
    }
    auto before = w.elapsed();
    w.advance_to(std::min<duration>(end + duration{1}, before + step));
    if (w.elapsed() < std::min<duration>(end, before + step - duration{1}))
      return {};
    step *= 2;
  }
}

} // namespace caisson::sim
