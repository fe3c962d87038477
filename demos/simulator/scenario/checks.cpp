#include <simulator/scenario/checks.hpp>

#include <simulator/scenario/call_graph.hpp>
#include <simulator/scenario/edges.hpp>
#include <simulator/scenario/fault_times.hpp>
#include <simulator/scenario/faults.hpp>
#include <simulator/scenario/fields.hpp>
#include <simulator/scenario/groups.hpp>
#include <simulator/scenario/message_fault_index.hpp>
#include <simulator/scenario/parse_helpers.hpp>
#include <simulator/scenario/queue_checks.hpp>
#include <simulator/scenario/replicas.hpp>
#include <simulator/scenario/size_limits.hpp>
#include <simulator/scenario/zones.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace caisson::sim {

namespace {

// -- names --------------------------------------------------------------------

// Names of one sort, in the order of the file.
class name_list {
public:
  void add(std::string name) {
    if (index_.insert(name).second)
      all_.push_back(std::move(name));
  }

  [[nodiscard]] bool contains(std::string_view name) const {
    return index_.contains(name);
  }

  [[nodiscard]] const std::vector<std::string>& all() const { return all_; }

private:
  std::vector<std::string> all_;
  std::set<std::string, std::less<>> index_;
};

// All names that there are.
struct directory {
  explicit directory(const arm_config& arm) {
    for (const auto& s : arm.services) {
      services.add(s.name);
      replicas.emplace(s.name, s.replicas);
      callers.add(s.name);
      targets.add(s.name);
      for (const auto& op : s.operations)
        operations.add(op.name);
    }
    for (const auto& s : arm.services)
      for (const auto& op : s.operations)
        if (op.name != s.name) {
          targets.add(op.name);
          named[s.name].push_back(op.name);
        }
    for (const auto& load : arm.loads)
      callers.add(load.name);
    for (const auto& [name, entry] : arm.stacks)
      stacks.add(name);
    members = callers;
    hit = services;
    zones = !arm.zones.names.empty();
    for (const auto& zone : arm.zones.names) {
      members.add(zone);
      hit.add(zone);
      in_zones.add(zone);
    }
    sides = members;
    for (const auto& g : arm.groups)
      sides.add(g.name);
  }

  name_list services;
  std::map<std::string_view, std::uint32_t> replicas;
  name_list operations;
  name_list callers;
  name_list targets;
  name_list stacks;
  bool zones = false;
  // What can be in a group: callers, which are all loads and services, and
  // zones.
  name_list members;
  // What can be a side of a fault of messages, and the target of another one.
  name_list sides;
  name_list hit;
  name_list in_zones;
  // The named operations of each service that has some.
  std::map<std::string, std::vector<std::string>, std::less<>> named;
};

// Checks the names that a world mentions.
class name_check {
public:
  name_check(const directory& names, problems& out)
    : names_(names), out_(out) {}

  void callable(const call_site& c) {
    auto own = names_.named.find(c.to);
    if (names_.operations.contains(c.to))
      return;
    if (!names_.services.contains(c.to) || own == names_.named.end())
      return require_known("operation", c.to, names_.operations, c.key);
    out_.push_back(
      {problem_kind::unknown, c.key,
       fmt::format("{} has named operations only, allowed: {}",
                   detail::quoted(c.to), detail::listed_names(own->second))});
  }

  void require_known(std::string_view what, std::string_view name,
                     const name_list& all, const setting_path& key) {
    if (all.contains(name))
      return;
    // What it could be is not looked for if it is only counted.
    out_.push_back({problem_kind::unknown, key,
                    out_.size() < most_listed_problems
                      ? no_such(what, name, all.all())
                      : fmt::format("{} is not {}", detail::quoted(name),
                                    with_article(what))});
  }

  // One of `all`, which are services and perhaps more, or a replica that there
  // is.
  void target(std::string_view what, std::string_view text,
              const name_list& all, const setting_path& key) {
    auto target = replica_target_in(text);
    require_known(what, target.service, all, key);
    if (!target.number || !all.contains(target.service))
      return;
    auto found = names_.replicas.find(target.service);
    if (found == names_.replicas.end())
      out_.push_back(
        {problem_kind::range, key,
         fmt::format("{} has no replicas", detail::quoted(target.service))});
    else if (*target.number == 0 || *target.number > found->second)
      out_.push_back({problem_kind::range, key,
                      fmt::format("{} is not a replica, allowed: {}#1 to {}#{}",
                                  detail::quoted(text), found->first,
                                  found->first, found->second)});
  }

  void members(const group_config& group, const setting_path& path) {
    for (std::size_t i = 0; i < group.members.size(); ++i)
      target(with_zones("load or service", "load, service or zone"),
             group.members[i], names_.members, path / i);
    if (names_.callers.contains(group.name))
      out_.push_back({problem_kind::relation, path,
                      fmt::format("{} is the name of a load or service already",
                                  detail::quoted(group.name))});
  }

  void fault(const fault_config& f, const setting_path& path) {
    if (!hits_messages(f.kind)) {
      // Reported where it is read.
      if (f.target.empty())
        return;
      auto counts = counts_requests(f);
      if (counts && names_.in_zones.contains(f.target))
        out_.push_back({problem_kind::relation, path / "target",
                        fmt::format("{} is a zone, but the fault counts "
                                    "requests, allowed: a service or one of "
                                    "its replicas",
                                    detail::quoted(f.target))});
      return target(with_zones("service", "service or zone"), f.target,
                    names_.hit, path / "target");
    }
    auto require_each = [&](const auto& used, const setting_path& key) {
      for (std::size_t i = 0; i < used.size(); ++i)
        if (used[i] != "*")
          target(with_zones("group, load or service",
                            "group, zone, load or service"),
                 used[i], names_.sides, key / i);
    };
    require_each(f.from, path / "from");
    require_each(f.to, path / "to");
  }

  void edge(const edge_rule& rule, const setting_path& path) {
    auto require_each = [&](std::string_view what, const auto& used,
                            const auto& all, const setting_path& key) {
      for (std::size_t i = 0; i < used.size(); ++i)
        if (used[i] != "*")
          require_known(what, used[i], all, key / i);
    };
    require_each("caller", rule.from, names_.callers, path / "from");
    require_each("target", rule.to, names_.targets, path / "to");
    stack(rule.stack.value_or(""), path / "stack");
  }

  // An empty name is none.
  void stack(std::string_view name, const setting_path& key) {
    if (!name.empty())
      require_known("stack", name, names_.stacks, key);
  }

private:
  // Mentions zones only if there are any.
  [[nodiscard]] std::string_view with_zones(std::string_view without,
                                            std::string_view with) const {
    return names_.zones ? with : without;
  }

  const directory& names_;
  problems& out_;
};

void check_names(const arm_config& arm, const std::vector<call_site>& calls,
                 const directory& names, problems& out) {
  name_check check{names, out};
  const setting_path root;
  for (const auto& c : calls)
    check.callable(c);
  for (std::size_t i = 0; i < arm.faults.size(); ++i)
    check.fault(arm.faults[i], root / "fault" / i);
  for (const auto& group : arm.groups)
    check.members(group, root / "group" / group.name);
  for (std::size_t i = 0; i < arm.edges.size(); ++i)
    check.edge(arm.edges[i], root / "edge" / i);
  for (const auto& s : arm.services)
    check.stack(s.stack, root / "service" / s.name / "stack");
  for (const auto& s : arm.services)
    if (s.autoscale && s.autoscale->min <= s.autoscale->max
        && (s.servers < s.autoscale->min || s.servers > s.autoscale->max))
      out.push_back(
        {problem_kind::relation, root / "service" / s.name / "autoscale",
         fmt::format("the service begins with {} servers, allowed: "
                     "at least min, at most max",
                     s.servers == no_limit ? "unlimited"
                                           : fmt::format("{}", s.servers))});
  for (const auto& load : arm.loads)
    if (names.services.contains(load.name))
      out.push_back({problem_kind::relation, root / "load" / load.name,
                     fmt::format("{} is the name of a service already",
                                 detail::quoted(load.name))});
}

// -- edges --------------------------------------------------------------------

bool is_any(const std::vector<std::string>& names) {
  return names.size() == 1 && names.front() == "*";
}

using name_set = std::set<std::string_view>;

bool have_common(const name_set& a, const name_set& b) {
  if (a.size() > b.size())
    return have_common(b, a);
  return std::any_of(a.begin(), a.end(),
                     [&](auto name) { return b.contains(name); });
}

// Who calls what: operations, and the services that these belong to.
class call_index {
public:
  explicit call_index(const std::vector<call_site>& calls) {
    for (const auto& c : calls)
      for (auto caller : {std::string_view{"*"}, std::string_view{c.caller}}) {
        auto& called = called_by_[caller];
        called.insert(c.to);
        called.insert(service_of_operation(c.to));
        called.insert("*");
      }
  }

  // Whether any of `from` calls any of `to`.
  [[nodiscard]] bool any(const std::vector<std::string>& from,
                         const std::vector<std::string>& to) const {
    name_set targets{to.begin(), to.end()};
    return std::any_of(from.begin(), from.end(), [&](const auto& caller) {
      auto found = called_by_.find(caller);
      return found != called_by_.end() && have_common(found->second, targets);
    });
  }

private:
  std::map<std::string_view, name_set> called_by_;
};

// Reports rules that name both sides, and hold for no call.
void check_edges(const arm_config& arm, const std::vector<call_site>& calls,
                 const directory& names, problems& out) {
  auto all_known = [](const auto& list, const auto& all) {
    return !list.empty()
           && std::all_of(list.begin(), list.end(), [&](const auto& x) {
                return x == "*" || all.contains(x);
              });
  };
  call_index index{calls};
  for (std::size_t i = 0; i < arm.edges.size(); ++i) {
    const auto& rule = arm.edges[i];
    if (is_any(rule.from) || is_any(rule.to)
        || !all_known(rule.from, names.callers)
        || !all_known(rule.to, names.targets) || index.any(rule.from, rule.to))
      continue;
    out.push_back(
      {problem_kind::relation, setting_path{} / "edge" / i,
       fmt::format("matches no call and no load: no calls go from {} to {}",
                   detail::listed(rule.from), detail::listed(rule.to))});
  }
}

// Reports what is said of connections where nothing says how many there are;
// "unlimited" says so, too.
void check_connections(const arm_config& arm,
                       const std::vector<call_site>& calls, problems& out) {
  std::vector<std::size_t> doubtful;
  for (std::size_t i = 0; i < arm.edges.size(); ++i)
    if (!connection_key(arm.edges[i]).empty())
      doubtful.push_back(i);
  for (auto call = calls.begin(); call != calls.end() && !doubtful.empty();
       ++call)
    if (std::ranges::any_of(arm.edges, [&](const auto& rule) {
          return rule.connections && matches(rule, call->caller, call->to);
        }))
      std::erase_if(doubtful, [&](auto i) {
        return matches(arm.edges[i], call->caller, call->to);
      });
  for (auto i : doubtful)
    out.push_back({problem_kind::relation,
                   setting_path{} / "edge" / i / connection_key(arm.edges[i]),
                   "has no effect without connections, which nothing sets for "
                   "these calls"});
}

// -- faults of messages -------------------------------------------------------

// The zones of each load and service.
std::map<std::string_view, std::vector<std::string_view>>
zones_by_name(const arm_config& arm) {
  std::map<std::string_view, std::vector<std::string_view>> out;
  zone_map zones{arm};
  for (std::size_t i = 0; i < arm.services.size(); ++i)
    out.emplace(arm.services[i].name, zones.names_of(arm, i));
  for (std::size_t i = 0; i < arm.loads.size(); ++i)
    out.emplace(arm.loads[i].name, std::vector{zones.name(zones.of_load(i))});
  return out;
}

// The faults of messages that hit one of the calls.
std::set<const fault_config*>
faults_that_hit(const arm_config& arm, const std::vector<call_site>& calls) {
  auto zones = zones_by_name(arm);
  message_fault_index faults{arm};
  std::set<const fault_config*> out;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const auto& c : calls) {
    auto service = std::string_view{c.to}.substr(0, c.to.find('.'));
    auto from = zones.find(c.caller);
    auto to = zones.find(service);
    if (from == zones.end() || to == zones.end()
        || !seen.emplace(from->first, to->first).second)
      continue;
    auto touches = [](const group_members& side, const auto& x) {
      return side.touches(x->first, x->second);
    };
    auto names_of = [](const auto& x) {
      auto names = x->second;
      names.push_back(x->first);
      return names;
    };
    for (const auto* f : faults.between(names_of(from), names_of(to)))
      if ((touches(f->from, from) && touches(f->to, to))
          || (touches(f->to, from) && touches(f->from, to)))
        out.insert(f->config);
  }
  return out;
}

// Reports those that hit no call. Unknown names are reported elsewhere.
void check_sides(const arm_config& arm, const std::vector<call_site>& calls,
                 const directory& names, problems& out) {
  auto all_known = [&](const auto& list) {
    return !list.empty() && std::ranges::all_of(list, [&](const auto& x) {
      return x == "*" || names.sides.contains(replica_target_in(x).service);
    });
  };
  auto hit = faults_that_hit(arm, calls);
  for (std::size_t i = 0; i < arm.faults.size(); ++i) {
    const auto& f = arm.faults[i];
    if (hits_messages(f.kind) && all_known(f.from) && all_known(f.to)
        && !hit.contains(&f))
      out.push_back(
        {problem_kind::relation, setting_path{} / "fault" / i,
         fmt::format("hits no call: no calls go from {} to {}, or back",
                     detail::listed(f.from), detail::listed(f.to))});
  }
}

// -- times --------------------------------------------------------------------

void check_times(const arm_config& arm, problems& out) {
  const setting_path root;
  auto before_end = [&](const setting_path& key, duration d,
                        std::string_view what) {
    if (d >= arm.length)
      out.push_back({problem_kind::relation, key,
                     fmt::format("{} is not {} length, which is {}", to_text(d),
                                 what, to_text(arm.length))});
  };
  before_end(root / "warmup", arm.warmup, "less than");
  before_end(root / "recovery_from",
             arm.recovery_from.value_or(duration::zero()), "less than");
  for (const auto& load : arm.loads)
    before_end(root / "load" / load.name / "start", load.start, "before");
  for (std::size_t i = 0; i < arm.faults.size(); ++i)
    before_end(root / "fault" / i / "at", arm.faults[i].at, "before");
  for (const auto& load : arm.loads)
    if (load.burst != 1 && arm.length / most_failures > load.burst_every)
      out.push_back({problem_kind::range,
                     root / "load" / load.name / "burst_every",
                     fmt::format("{} would be more than {} bursts, allowed: at "
                                 "least length divided by that",
                                 to_text(load.burst_every), most_failures)});
  for (std::size_t i = 0; i < arm.faults.size(); ++i)
    if (const auto& f = arm.faults[i];
        expected_failures(arm, f) > static_cast<double>(most_failures))
      out.push_back({problem_kind::range, root / "fault" / i / "mtbf",
                     fmt::format("{} would be more than {} failures in all, "
                                 "allowed: at least length times replicas "
                                 "divided by that",
                                 to_text(*f.mtbf), most_failures)});
}

} // namespace

void check(const arm_config& arm, const setting_path&, problems& out) {
  // Without a length nothing is after the end.
  if (arm.length > duration::zero())
    check_times(arm, out);
  directory names{arm};
  auto calls = calls_of(arm);
  check_names(arm, calls, names, out);
  check_edges(arm, calls, names, out);
  check_connections(arm, calls, out);
  check_sides(arm, calls, names, out);
  check_zones(arm, out);
  check_call_graph(arm, calls, out);
  check_size(arm, calls, out);
  // A call that leads nowhere may be the one that should bring keys.
  if (out.empty())
    check_queues(arm, calls, out);
}

} // namespace caisson::sim
