#include <simulator/scenario/edges.hpp>

#include <simulator/scenario/distribution_value.hpp>
#include <simulator/scenario/fields.hpp>

#include <caisson/settings/read_value.hpp>

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
                   "has no name, allowed: " + allowed(), from.place});
  else if (list)
    detail::read_value(from, path, x_, allowed(), out);
  else
    out.push_back({problem_kind::type, path,
                   to_text(from) + " is not a name, allowed: " + allowed(),
                   from.place});
}

namespace {

void describe_connections(field_visitor& v, edge_rule& c) {
  v.on({"connections", "how many connections a caller has to each replica at "
                       "most"},
       c.connections);
  v.on({"pending", "how many calls may wait for a connection"}, c.pending);
  v.on({"wait", "how long a call waits for a connection"}, c.wait,
       range<duration>{shortest_time, unlimited});
  v.on({"connect", "how long it takes to open a connection"}, c.connect);
  v.on({"idle", "how long a connection stays open that is not in use"}, c.idle,
       range<duration>{shortest_time, unlimited});
  v.on({"given_up", "what becomes of the connection of a call that its caller "
                    "has given up: close: it is closed; keep: it is in use "
                    "until the answer comes"},
       c.given_up);
}

} // namespace

void describe(field_visitor& v, edge_rule& c) {
  names_value from{c.from};
  v.on({"from", "loads and services that call"}, from);
  names_value to{c.to};
  v.on({"to", "services and operations that are called"}, to);
  v.on({"latency", "how long a message takes, one way"}, c.latency);
  v.on({"stack", "the policies on the caller's side; none if empty"}, c.stack);
  v.on({"idempotent", "whether these calls may be carried out twice"},
       c.idempotent);
  v.on({"balancer", "how the caller chooses one of a service's replicas"},
       c.balancer);
  v.on({"zone_routing", "to which zones the calls go: any: to all; local: to "
                        "the caller's, if there is a replica; proportional: "
                        "to the caller's as far as its share of the replicas "
                        "allows"},
       c.routing);
  v.on({"jitter", "mean of an exponentially distributed delay that is added "
                  "to the latency"},
       c.jitter, range<duration>{duration::zero(), longest_time});
  v.on({"loss", "share of the messages that are lost"}, c.loss,
       range<double>{0.0, 1.0});
  v.on({"duplication", "share of the calls whose answer was lost that arrive a "
                       "second time"},
       c.duplication, range<double>{0.0, 1.0});
  v.on({.key = "bandwidth",
        .help = "of each caller, in each direction; 0: no limit",
        .unit = "bytes per second"},
       c.bandwidth, range<double>{0.0, 1e15});
  constexpr range<std::int64_t> any_size{0, 1'000'000'000};
  v.on({.key = "call_size",
        .help = "of a call, for each item of a batch",
        .unit = "bytes"},
       c.call_size, any_size);
  v.on({.key = "answer_size",
        .help = "of an answer, for each item of a batch",
        .unit = "bytes"},
       c.answer_size, any_size);
  describe_connections(v, c);
}

// -- matching -----------------------------------------------------------------

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

std::string_view connection_key(const edge_rule& rule) {
  if (rule.pending)
    return "pending";
  if (rule.wait)
    return "wait";
  if (rule.connect)
    return "connect";
  if (rule.idle)
    return "idle";
  return rule.given_up ? "given_up" : "";
}

namespace {

// What a rule says of the network over what was said before.
void add_network(const edge_rule& rule, network_config& into) {
  into.jitter = rule.jitter.value_or(into.jitter);
  into.loss = rule.loss.value_or(into.loss);
  into.duplication = rule.duplication.value_or(into.duplication);
  into.bandwidth = rule.bandwidth.value_or(into.bandwidth);
  auto size = [](auto count, std::uint32_t before) {
    return static_cast<std::uint32_t>(count.value_or(before));
  };
  into.call_size = size(rule.call_size, into.call_size);
  into.answer_size = size(rule.answer_size, into.answer_size);
}

void add_connections(const edge_rule& rule, connection_config& into) {
  if (rule.connections)
    into.most = rule.connections->n;
  if (rule.pending)
    into.pending = rule.pending->n;
  into.wait = rule.wait.value_or(into.wait);
  if (rule.connect)
    into.connect = *rule.connect;
  into.idle = rule.idle.value_or(into.idle);
  into.given_up = rule.given_up.value_or(into.given_up);
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
    if (rule.balancer)
      out.balancer = *rule.balancer;
    if (rule.routing)
      out.routing = *rule.routing;
    add_network(rule, out.network);
    add_connections(rule, out.connections);
  }
  // What has no effect makes no difference between routes.
  if (!out.connections.limited())
    out.connections = {};
  return out;
}

bool share_a_route(const edge_config& a, const edge_config& b) {
  return a.stack == b.stack && a.latency == b.latency
         && a.balancer == b.balancer && a.routing == b.routing
         && a.network == b.network && a.connections == b.connections;
}

} // namespace caisson::sim
