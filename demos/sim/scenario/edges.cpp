#include <sim/scenario/edges.hpp>

#include <sim/scenario/distribution_value.hpp>
#include <sim/scenario/fields.hpp>

#include <caisson/detail/read_value.hpp>

#include <algorithm>
#include <utility>

namespace caisson::sim {

// -- names --------------------------------------------------------------------

std::string names_value::text() const {
  return x_.size() == 1 ? detail::quoted(x_.front()) : detail::listed(x_);
}

void names_value::read(const setting& from, const setting_path& path,
                       problems& out) {
  auto list = std::get_if<std::vector<setting>>(&from.value);
  if (auto name = detail::text_in(from))
    x_ = {std::string{*name}};
  else if (list && list->empty())
    out.push_back({problem_kind::missing, path,
                   "has no name, allowed: at least one, or \"*\" for all",
                   from.place});
  else if (list)
    detail::read_value(from, path, x_, allowed(), out);
  else
    out.push_back({problem_kind::type, path,
                   to_text(from) + " is not a name, allowed: " + allowed(),
                   from.place});
}

void describe(field_visitor& v, edge_rule& c) {
  names_value from{c.from};
  v.on({"from", "loads and services that call"}, from);
  names_value to{c.to};
  v.on({"to", "services and operations that are called"}, to);
  v.on({"latency", "how long a message takes, one way"}, c.latency);
  v.on({"stack", "the policies on the caller's side; none if empty"}, c.stack);
  v.on({"idempotent", "whether these calls may be carried out twice"},
       c.idempotent);
}

// -- matching -----------------------------------------------------------------

namespace {

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
