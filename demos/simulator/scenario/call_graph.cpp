#include <simulator/scenario/call_graph.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::sim {

namespace {

// How many calls one request can lead to.
constexpr std::uint64_t most_calls = 1'000'000;

// How many operations of a circle are named at its begin, and at its end.
constexpr std::size_t most_named = 10;

class call_graph {
public:
  call_graph(const arm_config& arm, const std::vector<call_site>& calls,
             problems& out)
    : calls_(calls), out_(out) {
    for (const auto& s : arm.services)
      for (const auto& op : s.operations)
        if (index_.try_emplace(op.name, nodes_.size()).second)
          nodes_.push_back({.name = op.name});
    for (const auto& c : calls)
      if (auto caller = node_named(c.operation))
        nodes_[*caller].calls.push_back(&c);
  }

  void check() {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      walk(i);
    if (circular_)
      return;
    for (const auto& c : calls_)
      if (c.operation.empty())
        check_count(c);
  }

private:
  enum class state { unseen, on_path, done };

  struct node {
    std::string_view name;
    std::vector<const call_site*> calls = {};
    state where = state::unseen;
    // The next of its calls to be followed.
    std::size_t next = 0;
    // The calls that one request to it makes at most, as far as is known.
    std::uint64_t call_count = 0;
  };

  [[nodiscard]] std::optional<std::size_t>
  node_named(std::string_view name) const {
    auto found = index_.find(name);
    if (found == index_.end())
      return std::nullopt;
    return found->second;
  }

  // Follows all calls that begin at `first`, depth first.
  void walk(std::size_t first) {
    if (nodes_[first].where == state::unseen)
      enter(first);
    while (!path_.empty()) {
      auto& x = nodes_[path_.back()];
      if (x.next == x.calls.size()) {
        x.where = state::done;
        path_.pop_back();
      } else {
        follow(x, *x.calls[x.next]);
      }
    }
  }

  void enter(std::size_t i) {
    nodes_[i].where = state::on_path;
    path_.push_back(i);
  }

  void follow(node& from, const call_site& c) {
    auto to = node_named(c.to);
    // An operation that there is not is reported elsewhere, and calls nothing.
    if (!to)
      return count(from, c, 0);
    auto& called = nodes_[*to];
    if (called.where == state::unseen)
      return enter(*to); // The call is followed again when that is done.
    if (called.where == state::done)
      return count(from, c, called.call_count);
    report_circle(c, *to);
    ++from.next;
  }

  static void count(node& from, const call_site& c, std::uint64_t more) {
    from.call_count = std::min(from.call_count + c.count * (1 + more),
                               most_calls + 1);
    ++from.next;
  }

  void report_circle(const call_site& last, std::size_t first) {
    circular_ = true;
    out_.push_back({problem_kind::relation, last.key,
                    out_.size() < most_listed_problems
                      ? "the calls go in a circle: " + circle(first)
                      : "the calls go in a circle"});
  }

  // `a -> b -> a`, of what is on the path from `first` on.
  [[nodiscard]] std::string circle(std::size_t first) const {
    auto begin = static_cast<std::size_t>(
      std::find(path_.begin(), path_.end(), first) - path_.begin());
    auto length = path_.size() - begin;
    std::string out;
    for (std::size_t i = 0; i < length; ++i) {
      if (i >= most_named && i < length - std::min(most_named, length)) {
        auto left_out = length - 2 * most_named;
        out += fmt::format("({} more) -> ", left_out);
        i += left_out;
      }
      out += fmt::format("{} -> ", nodes_[path_[begin + i]].name);
    }
    return out + std::string{nodes_[first].name};
  }

  void check_count(const call_site& c) {
    auto to = node_named(c.to);
    if (to && nodes_[*to].call_count > most_calls)
      out_.push_back(
        {problem_kind::range, c.key,
         fmt::format("one request to {} can lead to more calls than allowed: "
                     "{}; the counts along the way multiply",
                     detail::quoted(c.to), most_calls)});
  }

  const std::vector<call_site>& calls_;
  problems& out_;
  std::vector<node> nodes_;
  std::map<std::string_view, std::size_t> index_;
  // From where the walk began to where it is.
  std::vector<std::size_t> path_;
  bool circular_ = false;
};

} // namespace

std::string_view service_of_operation(std::string_view operation) noexcept {
  return operation.substr(0, operation.find('.'));
}

std::vector<call_site> calls_of(const arm_config& arm) {
  std::vector<call_site> out;
  for (const auto& s : arm.services)
    for (const auto& op : s.operations) {
      auto path = setting_path{} / "service" / s.name;
      if (op.name != s.name)
        path = path / "op"
               / std::string_view{op.name}.substr(s.name.size() + 1);
      path = std::move(path) / "calls";
      for (std::size_t i = 0; i < op.steps.size(); ++i)
        for (std::size_t j = 0; j < op.steps[i].calls.size(); ++j)
          if (const auto& c = op.steps[i].calls[j]; !c.to.empty())
            out.push_back(
              {s.name, op.name, c.to, c.count, path / i / j / "to", &c});
    }
  for (const auto& load : arm.loads) {
    auto path = setting_path{} / "load" / load.name;
    if (!load.target.empty())
      out.push_back({load.name, {}, load.target, 1, path / "target"});
    else
      for (const auto& [name, weight] : load.mix)
        out.push_back({load.name, {}, name, 1, path / "mix" / name});
  }
  return out;
}

std::vector<std::pair<std::string, const service_config*>>
called_pairs(const arm_config& arm) {
  std::map<std::string_view, const service_config*> services;
  for (const auto& x : arm.services)
    services.emplace(x.name, &x);
  std::vector<std::pair<std::string, const service_config*>> out;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const auto& c : calls_of(arm)) {
    auto to = services.find(service_of_operation(c.to));
    if (to != services.end() && seen.emplace(c.caller, to->first).second)
      out.emplace_back(c.caller, to->second);
  }
  return out;
}

void check_call_graph(const arm_config& arm,
                      const std::vector<call_site>& calls, problems& out) {
  call_graph{arm, calls, out}.check();
}

} // namespace caisson::sim
