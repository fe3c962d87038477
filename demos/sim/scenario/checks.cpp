#include <sim/scenario/checks.hpp>

#include <sim/scenario/call_graph.hpp>
#include <sim/scenario/parse_context.hpp>

#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

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
  explicit directory(const parse_context& w) {
    for (const auto& s : w.arm.services) {
      services.add(s.name);
      callers.add(s.name);
      targets.add(s.name);
      for (const auto& op : s.operations)
        operations.add(op.name);
    }
    for (const auto& s : w.arm.services)
      for (const auto& op : s.operations)
        if (op.name != s.name) {
          targets.add(op.name);
          named[s.name].push_back(op.name);
        }
    for (const auto& load : w.arm.loads)
      callers.add(load.name);
    auto found = w.root.find("stack");
    auto table = found != w.root.end()
                   ? std::get_if<settings>(&found->second.value)
                   : nullptr;
    if (table)
      for (const auto& [name, value] : in_file_order(*table))
        stacks.add(std::string{name});
  }

  name_list services;
  name_list operations;
  name_list callers;
  name_list targets;
  name_list stacks;
  // The named operations of each service that has some.
  std::map<std::string, std::vector<std::string>> named;
};

void check_names(const std::vector<name_use>& uses, std::string_view what,
                 const name_list& known, parse_context& w) {
  for (const auto& use : uses)
    if (!known.contains(use.name))
      w.out.push_back(
        {use.place, use.key, w.no_such(what, use.name, known.all())});
}

// Why `to` cannot be called, which is no operation.
std::string not_callable(const std::string& to, const directory& names,
                         const parse_context& w) {
  auto own = names.named.find(to);
  if (!names.services.contains(to) || own == names.named.end())
    return w.no_such("operation", to, names.operations.all());
  return fmt::format("{} has named operations only, allowed: {}",
                     detail::quoted(to), detail::listed_names(own->second));
}

void check_shared_names(parse_context& w, const directory& names) {
  auto loads = w.table("load");
  if (!loads)
    return;
  for (const auto& [name, value] : in_file_order(*loads))
    if (names.services.contains(name))
      w.out.push_back({value->place, joined("load", name),
                       fmt::format("{} is the name of a service already",
                                   detail::quoted(name))});
}

// -- edges --------------------------------------------------------------------

bool is_any(const std::vector<std::string>& names) {
  return names.size() == 1 && names.front() == "*";
}

using name_set = std::set<std::string_view>;

bool have_common(const name_set& a, const name_set& b) {
  const auto& [less, more] = a.size() < b.size() ? std::tie(a, b)
                                                 : std::tie(b, a);
  return std::any_of(less.begin(), less.end(),
                     [&](auto name) { return more.contains(name); });
}

// Who calls what: operations, and the services that these belong to.
class call_index {
public:
  explicit call_index(const std::vector<call_site>& calls) {
    for (const auto& c : calls)
      for (auto caller : {std::string_view{"*"}, std::string_view{c.caller}}) {
        auto& called = called_by_[caller];
        called.insert(c.to);
        called.insert(std::string_view{c.to}.substr(0, c.to.find('.')));
        called.insert("*");
      }
  }

  // Whether any of `from` calls any of `to`.
  [[nodiscard]] bool any(const std::vector<std::string>& from,
                         const std::vector<std::string>& to) const {
    name_set wanted{to.begin(), to.end()};
    return std::any_of(from.begin(), from.end(), [&](const auto& caller) {
      auto found = called_by_.find(caller);
      return found != called_by_.end() && have_common(found->second, wanted);
    });
  }

private:
  std::map<std::string_view, name_set> called_by_;
};

// Reports rules that name both sides, and hold for no call.
void check_edges(parse_context& w, const directory& names) {
  auto known = [](const auto& list, const auto& all) {
    return !list.empty()
           && std::all_of(list.begin(), list.end(), [&](const auto& x) {
                return x == "*" || all.contains(x);
              });
  };
  call_index calls{w.calls};
  for (std::size_t i = 0; i < w.arm.edges.size(); ++i) {
    const auto& rule = w.arm.edges[i];
    if (is_any(rule.from) || is_any(rule.to) || !known(rule.from, names.callers)
        || !known(rule.to, names.targets) || calls.any(rule.from, rule.to))
      continue;
    w.out.push_back(
      {w.edges[i].place, w.edges[i].key,
       fmt::format("matches no call and no load: nothing "
                   "calls from {} to {}",
                   detail::listed(rule.from), detail::listed(rule.to))});
  }
}

} // namespace

void check_world(parse_context& w) {
  directory names{w};
  for (const auto& c : w.calls)
    if (!names.operations.contains(c.to))
      w.out.push_back({c.place, c.key, not_callable(c.to, names, w)});
  check_names(w.services, "service", names.services, w);
  check_names(w.callers, "caller", names.callers, w);
  check_names(w.targets, "target", names.targets, w);
  check_names(w.stacks, "stack", names.stacks, w);
  check_shared_names(w, names);
  check_edges(w, names);
  check_call_graph(w);
}

} // namespace caisson::sim
