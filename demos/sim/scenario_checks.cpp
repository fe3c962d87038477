// What can only be told of a world as a whole.
#include <sim/scenario_reading.hpp>

#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace caisson::sim {

namespace {

// How many calls one request can lead to.
constexpr std::uint64_t most_calls = 1'000'000;

// -- names --------------------------------------------------------------------

// All names that there are.
struct directory {
  explicit directory(const world_reading& w) {
    for (const auto& s : w.arm.services) {
      services.push_back(s.name);
      for (const auto& op : s.operations)
        operations.push_back(op.name);
    }
    callers = services;
    for (const auto& load : w.arm.loads)
      callers.push_back(load.name);
    targets = services;
    for (const auto& name : operations)
      if (name.find('.') != std::string::npos)
        targets.push_back(name);
    auto found = w.root.find("stack");
    auto table = found != w.root.end()
                   ? std::get_if<settings>(&found->second.value)
                   : nullptr;
    if (table)
      for (const auto& [name, value] : in_file_order(*table))
        stacks.emplace_back(name);
  }

  std::vector<std::string> services;
  std::vector<std::string> operations;
  std::vector<std::string> callers;
  std::vector<std::string> targets;
  std::vector<std::string> stacks;
};

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_names(const std::vector<name_use>& uses, std::string_view what,
                 const std::vector<std::string>& known, problems& out) {
  for (const auto& use : uses)
    if (!contains(known, use.name))
      out.push_back({use.place, use.key, no_such(what, use.name, known)});
}

// Why `to` cannot be called, which is no operation.
std::string not_callable(const std::string& to, const directory& names) {
  std::vector<std::string> own;
  for (const auto& op : names.operations)
    if (op.starts_with(to + "."))
      own.push_back(op);
  if (!contains(names.services, to) || own.empty())
    return no_such("operation", to, names.operations);
  return fmt::format("{} has named operations only, allowed: {}",
                     detail::quoted(to), fmt::join(own, ", "));
}

void check_shared_names(world_reading& w, const directory& names) {
  auto loads = w.table("load");
  if (!loads)
    return;
  for (const auto& [name, value] : in_file_order(*loads))
    if (contains(names.services, name))
      w.out.push_back({value->place, joined("load", name),
                       fmt::format("{} is the name of a service already",
                                   detail::quoted(name))});
}

// -- edges --------------------------------------------------------------------

bool is_any(const std::vector<std::string>& names) {
  return names.size() == 1 && names.front() == "*";
}

// Reports rules that name both sides, and hold for no call.
void check_edges(world_reading& w, const directory& names) {
  auto known = [](const auto& list, const auto& all) {
    return !list.empty()
           && std::all_of(list.begin(), list.end(), [&](const auto& x) {
                return x == "*" || contains(all, x);
              });
  };
  for (std::size_t i = 0; i < w.arm.edges.size(); ++i) {
    const auto& rule = w.arm.edges[i];
    if (is_any(rule.from) || is_any(rule.to) || !known(rule.from, names.callers)
        || !known(rule.to, names.targets))
      continue;
    auto used = std::any_of(w.calls.begin(), w.calls.end(), [&](const auto& c) {
      return matches(rule, c.caller, c.to);
    });
    if (!used)
      w.out.push_back(
        {w.edges[i].place, w.edges[i].key,
         fmt::format("matches no call and no load: nothing "
                     "calls from {} to {}",
                     detail::listed(rule.from), detail::listed(rule.to))});
  }
}

// -- circles and numbers of calls ---------------------------------------------

// Walks the operations along their calls.
class call_graph {
public:
  explicit call_graph(world_reading& w) : world_(w) {
    for (const auto& c : w.calls)
      if (!c.operation.empty())
        calls_[c.operation].push_back(&c);
  }

  void check() {
    for (const auto& s : world_.arm.services)
      for (const auto& op : s.operations)
        visit(op.name);
    if (circular_)
      return;
    for (const auto& c : world_.calls)
      if (c.operation.empty())
        check_count(c);
  }

private:
  // The number of calls that one request to `operation` makes at most.
  std::uint64_t visit(const std::string& operation) {
    auto [i, fresh] = made_.try_emplace(operation, 0);
    if (!fresh)
      return i->second;
    path_.push_back(operation);
    std::uint64_t sum = 0;
    for (auto c : calls_[operation]) {
      if (std::find(path_.begin(), path_.end(), c->to) != path_.end())
        report_circle(*c);
      else
        sum = std::min(sum + c->count * (1 + visit(c->to)), most_calls + 1);
    }
    path_.pop_back();
    return made_[operation] = sum;
  }

  void report_circle(const call_site& last) {
    circular_ = true;
    auto begin = std::find(path_.begin(), path_.end(), last.to);
    world_.out.push_back(
      {last.place, last.key,
       fmt::format("the calls go in a circle: {} -> {}",
                   fmt::join(begin, path_.end(), " -> "), last.to)});
  }

  void check_count(const call_site& c) {
    if (visit(c.to) > most_calls)
      world_.out.push_back(
        {c.place, c.key,
         fmt::format("one request to {} can lead to more calls than allowed: "
                     "{}; multiply the counts along the way",
                     detail::quoted(c.to), most_calls)});
  }

  world_reading& world_;
  std::map<std::string, std::vector<const call_site*>> calls_;
  std::map<std::string, std::uint64_t> made_;
  std::vector<std::string> path_;
  bool circular_ = false;
};

} // namespace

void check_world(world_reading& w) {
  directory names{w};
  for (const auto& c : w.calls)
    if (!contains(names.operations, c.to))
      w.out.push_back({c.place, c.key, not_callable(c.to, names)});
  check_names(w.services, "service", names.services, w.out);
  check_names(w.callers, "caller", names.callers, w.out);
  check_names(w.targets, "target", names.targets, w.out);
  check_names(w.stacks, "stack", names.stacks, w.out);
  check_shared_names(w, names);
  check_edges(w, names);
  call_graph{w}.check();
}

} // namespace caisson::sim
