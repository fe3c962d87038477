#include <sim/scenario/edges.hpp>

#include <sim/scenario/fields.hpp>
#include <sim/scenario/parse_context.hpp>

#include <algorithm>
#include <utility>

namespace caisson::sim {

namespace {

// Reads a name or a list of names; "*", which is any name, if there is none.
std::vector<std::string> read_names(const setting* from,
                                    const std::string& path, problems& out,
                                    std::vector<name_use>& uses) {
  if (!from)
    return {"*"};
  std::vector<std::string> names;
  auto add = [&](const setting& s, const std::string& key) {
    auto text = text_in(s);
    if (!text)
      out.push_back({s.place, key, to_text(s) + " is not a string"});
    else if (names.emplace_back(*text); *text != "*")
      uses.push_back({std::string{*text}, key, s.place});
  };
  if (text_in(*from)) {
    add(*from, path);
  } else if (auto list = std::get_if<std::vector<setting>>(&from->value)) {
    for (std::size_t i = 0; i < list->size(); ++i)
      add((*list)[i], item(path, i));
    if (list->empty())
      out.push_back({from->place, path,
                     "has no name, allowed: at least one, or \"*\" for all"});
  } else {
    out.push_back({from->place, path,
                   to_text(*from)
                     + " is not a name, allowed: a name, a list of names, or "
                       "\"*\" for all"});
  }
  return names;
}

void read_edge(const section& at, parse_context& w) {
  edge_rule rule;
  edge_config c;
  settings_reader fields{at.table, at.path, w.out};
  rule.from = read_names(fields.take("from"), joined(at.path, "from"), w.out,
                         w.callers);
  rule.to = read_names(fields.take("to"), joined(at.path, "to"), w.out,
                       w.targets);
  describe(fields, c);
  fields.finish();
  w.use_stack(at, c.stack);
  if (at.table.contains("latency"))
    rule.latency = std::move(c.latency);
  if (at.table.contains("stack"))
    rule.stack = std::move(c.stack);
  if (at.table.contains("idempotent"))
    rule.idempotent = c.idempotent;
  w.edges.push_back({{}, at.path, std::string{at.place}});
  w.arm.edges.push_back(std::move(rule));
}

// Whether a rule holds for the calls of `from` to the operation `to`.
bool matches(const edge_rule& rule, std::string_view from,
             std::string_view to) {
  auto service = to.substr(0, to.find('.'));
  auto is_caller = [&](const auto& x) { return x == "*" || x == from; };
  auto is_target = [&](const auto& x) {
    return x == "*" || x == to || x == service;
  };
  return std::any_of(rule.from.begin(), rule.from.end(), is_caller)
         && std::any_of(rule.to.begin(), rule.to.end(), is_target);
}

} // namespace

void read_edges(parse_context& w) {
  auto list = w.list("edge");
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    auto path = item("edge", i);
    if (auto table = table_in((*list)[i], path, w.out))
      read_edge({*table, path, (*list)[i].place}, w);
  }
}

edge_config edge_between(const arm_config& arm, std::string_view from,
                         std::string_view to) {
  edge_config out;
  for (const auto& rule : arm.edges) {
    if (!matches(rule, from, to))
      continue;
    if (rule.latency)
      out.latency = *rule.latency;
    if (rule.stack)
      out.stack = *rule.stack;
    if (rule.idempotent)
      out.idempotent = *rule.idempotent;
  }
  return out;
}

} // namespace caisson::sim
