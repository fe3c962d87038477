#include <simulator/explore/fault_menu.hpp>

#include <simulator/explore/round_numbers.hpp>
#include <simulator/explore/zone_cuts.hpp>
#include <simulator/scenario/call_graph.hpp>
#include <simulator/scenario/replicas.hpp>
#include <simulator/scenario/zones.hpp>

#include <caisson/settings.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace caisson::sim {

namespace {

using namespace std::chrono_literals;

[[noreturn]] void refuse_bound(problem_kind kind, const char* option,
                               std::string message) {
  throw config_error{{{kind, setting_path{} / option, std::move(message), {}}}};
}

// Names that are hit by what `targets` say.
class target_filter {
public:
  explicit target_filter(const std::vector<std::string>& targets)
    : names_(targets.begin(), targets.end()) {}

  [[nodiscard]] bool all() const { return names_.empty(); }

  // Of a service: itself, if that is allowed, and those of its replicas that
  // are.
  [[nodiscard]] std::vector<std::string> names(const service_config& s) const {
    auto whole = all() || names_.contains(s.name);
    std::vector<std::string> out;
    if (whole)
      out.push_back(s.name);
    for (std::uint32_t i = 0; s.replicas > 1 && i < s.replicas; ++i)
      if (auto name = replica_name(s, i); whole || names_.contains(name))
        out.push_back(std::move(name));
    return out;
  }

  [[nodiscard]] bool has(std::string_view name) const {
    return all() || names_.contains(name);
  }

private:
  std::set<std::string, std::less<>> names_;
};

// All names of a service, be they allowed or not.
std::vector<std::string> any_names(const service_config& s) {
  return target_filter{{}}.names(s);
}

void check_targets(const arm_config& arm, const fault_bounds& b) {
  std::vector<std::string> known;
  for (const auto& load : arm.loads)
    known.push_back(load.name);
  for (const auto& s : arm.services)
    known.push_back(s.name);
  known.insert(known.end(), arm.zones.names.begin(), arm.zones.names.end());
  for (const auto& text : b.targets) {
    auto is_replica = std::ranges::any_of(arm.services, [&](const auto& s) {
      auto t = replica_target_in(text);
      return t.number && t.service == s.name && *t.number >= 1
             && *t.number <= s.replicas && s.replicas > 1;
    });
    if (is_replica || std::ranges::find(known, text) != known.end())
      continue;
    refuse_bound(problem_kind::unknown, "--target",
                 detail::not_one_of(
                   detail::quoted(text),
                   std::vector<std::string_view>{known.begin(), known.end()}));
  }
}

bool has_cache(const service_config& s) {
  return std::ranges::any_of(s.operations, [](const auto& op) {
    return std::ranges::any_of(op.steps, [](const step& x) {
      return std::ranges::any_of(
        x.calls, [](const call_config& c) { return c.cache_keys > 0; });
    });
  });
}

// Those in which there is a replica, with what is in them.
std::vector<fault_menu::service_choice> zones_of(const arm_config& arm,
                                                 const target_filter& only) {
  std::vector<fault_menu::service_choice> out;
  for (const auto& name : arm.zones.names)
    out.push_back({.names = {name}, .servers = 0, .is_zone = true});
  zone_map zones{arm};
  for (std::size_t i = 0; i < arm.services.size(); ++i) {
    const auto& s = arm.services[i];
    for (std::uint32_t k = 0; k < s.replicas; ++k)
      if (auto zone = zones.of_replica(i, k); zone != zone_map::nowhere) {
        auto& x = out[zone];
        x.names.push_back(replica_name(s, k));
        x.servers = std::max(x.servers, s.servers);
        x.has_cache = x.has_cache || has_cache(s);
      }
  }
  std::erase_if(out, [&](const auto& x) {
    return x.names.size() == 1 || !only.has(x.names.front());
  });
  return out;
}

std::vector<fault_menu::message_choice> messages_of(const arm_config& arm,
                                                    const target_filter& only) {
  std::vector<fault_menu::message_choice> out;
  for (const auto& [caller, to] : called_pairs(arm)) {
    auto from = std::ranges::find(arm.services, caller, &service_config::name);
    auto is_load = from == arm.services.end();
    auto callers = is_load ? std::vector{caller} : any_names(*from);
    auto allowed_callers = is_load ? only.has(caller)
                                       ? callers
                                       : std::vector<std::string>{}
                                   : only.names(*from);
    auto allowed_services = only.names(*to);
    if (!allowed_callers.empty())
      out.push_back({std::move(allowed_callers), any_names(*to)});
    else if (!allowed_services.empty())
      out.push_back({std::move(callers), std::move(allowed_services)});
  }
  for (auto& cut : zone_cuts(arm))
    if (only.has(cut.zone))
      out.push_back({{std::move(cut.zone)}, std::move(cut.other_zones), true});
  return out;
}

duration in_units(duration d, duration unit) {
  return d - d % unit;
}

fault_config with_size(fault_config f, double factor, double rate,
                       duration delay, std::uint32_t servers) {
  f.factor = factor;
  f.rate = rate;
  f.delay = delay;
  f.servers = servers;
  return f;
}

} // namespace

std::vector<std::string> fault_menu::message_choice::all_services() const {
  return cuts_zone_off ? services : std::vector{services.front()};
}

fault_menu::fault_menu(const arm_config& arm, const fault_bounds& b)
  : bounds(b) {
  check_targets(arm, b);
  from = b.from.value_or(std::max(arm.warmup, arm.length / 10));
  to = b.to.value_or(
    std::max(arm.length / 4 * 3, from + (arm.length - from) / 2));
  if (from >= arm.length || to > arm.length)
    refuse_bound(
      problem_kind::range, from >= arm.length ? "--from" : "--to",
      fmt::format("is after the end of the load, at {}", to_text(arm.length)));
  if (to - from < 1ms)
    refuse_bound(problem_kind::relation, "--to",
                 fmt::format("leaves no time for faults between {} and {}",
                             to_text(from), to_text(to)));
  unit = duration{round_unit((to - from).count() / 100)};
  from = in_units(from + unit - 1ns, unit);
  longest = std::max(unit,
                     std::min(b.longest.value_or((to - from) / 2), to - from));
  target_filter only{b.targets};
  for (const auto& s : arm.services)
    if (auto names = only.names(s); !names.empty())
      services.push_back({std::move(names), s.servers, has_cache(s)});
  for (auto& zone : zones_of(arm, only))
    services.push_back(std::move(zone));
  messages = messages_of(arm, only);
  for (auto kind :
       {fault_kind::slow, fault_kind::errors, fault_kind::stall,
        fault_kind::crash, fault_kind::capacity, fault_kind::flush,
        fault_kind::partition, fault_kind::loss, fault_kind::delay}) {
    auto is_allowed = b.kinds.empty()
                      || std::ranges::find(b.kinds, kind) != b.kinds.end();
    auto hits = hits_messages(kind) ? !messages.empty()
                                    : !services_for(kind).empty();
    if (is_allowed && hits)
      kinds.push_back(kind);
  }
  if (kinds.empty())
    refuse_bound(problem_kind::relation, "--kind",
                 "no such fault can hit any of the targets");
}

std::vector<std::size_t> fault_menu::services_for(fault_kind kind) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < services.size(); ++i)
    if (kind != fault_kind::flush || services[i].has_cache)
      out.push_back(i);
  return out;
}

std::vector<duration> fault_menu::lengths(duration at) const {
  std::vector<duration> out;
  auto most = std::min(longest, std::max(to - at, unit));
  for (auto n : round_numbers(unit.count(), most.count()))
    out.emplace_back(n);
  if (out.empty())
    out.push_back(unit);
  return out;
}

const fault_menu::service_choice*
fault_menu::service_of(const fault_config& f) const {
  auto found = std::ranges::find_if(services, [&](const auto& s) {
    return std::ranges::find(s.names, f.target) != s.names.end();
  });
  return found == services.end() || hits_messages(f.kind) ? nullptr : &*found;
}

std::vector<fault_config> fault_menu::sizes(const fault_config& f) const {
  std::vector<fault_config> out;
  switch (f.kind) {
    case fault_kind::slow:
      for (auto n :
           round_numbers(15, static_cast<std::int64_t>(bounds.factor * 10)))
        out.push_back(with_size(f, static_cast<double>(n) / 10, f.rate, f.delay,
                                f.servers));
      break;
    case fault_kind::errors:
    case fault_kind::loss:
      // In thousandths, from 1 %.
      for (auto n :
           round_numbers(10, static_cast<std::int64_t>(bounds.rate * 1000)))
        out.push_back(with_size(f, f.factor, static_cast<double>(n) / 1000,
                                f.delay, f.servers));
      break;
    case fault_kind::delay:
      for (auto n : round_numbers(1'000'000, bounds.delay.count()))
        out.push_back(with_size(f, f.factor, f.rate, duration{n}, f.servers));
      break;
    case fault_kind::capacity: {
      auto s = service_of(f);
      // Of an unlimited number, more would hardly be felt.
      auto all = !s ? 1u : s->servers == no_limit ? 100u : s->servers;
      // Tenths of a server, so that small numbers are there, too.
      auto steps = round_numbers(10, std::int64_t{all} * 10 - 1);
      std::uint32_t last = all;
      for (auto i = steps.rbegin(); i != steps.rend(); ++i)
        if (auto n = static_cast<std::uint32_t>(*i / 10); n < last) {
          last = n;
          out.push_back(with_size(f, f.factor, f.rate, f.delay, n));
        }
      out.push_back(with_size(f, f.factor, f.rate, f.delay, 0));
      break;
    }
    default:
      break;
  }
  return out;
}

std::vector<fault_config>
fault_menu::smaller_places(const fault_config& f) const {
  // More would cost runs and say nothing else.
  constexpr std::size_t most_replicas = 3;
  std::vector<fault_config> out;
  auto replicas = [&](const std::vector<std::string>& names, auto set) {
    for (std::size_t i = 1; i < std::min(names.size(), most_replicas + 1); ++i)
      set(out.emplace_back(f), names[i]);
  };
  if (auto s = service_of(f)) {
    if (f.target == s->names.front())
      replicas(s->names, [](auto& x, auto& name) { x.target = name; });
    return out;
  }
  if (f.direction == fault_direction::both && hits_messages(f.kind)) {
    out.emplace_back(f).direction = fault_direction::one_way;
    auto& back = out.emplace_back(out.back());
    std::swap(back.from, back.to);
  }
  // A zone that is cut off from several others: from one of them.
  for (auto side : {&fault_config::from, &fault_config::to})
    if (const auto& names = f.*side; names.size() > 1)
      for (std::size_t i = 0; i < std::min(names.size(), most_replicas); ++i)
        out.emplace_back(f).*side = {names[i]};
  for (const auto& m : messages) {
    if (m.cuts_zone_off)
      continue;
    for (const auto* names : {&m.callers, &m.services}) {
      std::vector whole{names->front()};
      if (f.from == whole && out.size() < 8)
        replicas(*names, [](auto& x, auto& name) { x.from = {name}; });
      if (f.to == whole && out.size() < 8)
        replicas(*names, [](auto& x, auto& name) { x.to = {name}; });
    }
  }
  return out;
}

} // namespace caisson::sim
