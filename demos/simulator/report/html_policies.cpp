#include <simulator/report/html_policies.hpp>

#include <simulator/scenario/distribution_value.hpp>
#include <simulator/scenario/fields.hpp>
#include <simulator/world/world_plan.hpp>

#include <caisson/config/stack_toml.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {

namespace {

using json = nlohmann::ordered_json;

// Things by name, in the order in which they first came up.
template <class T>
class named_list {
public:
  T& operator[](const std::string& name) {
    auto [found, added] = index_.emplace(name, items_.size());
    if (added)
      items_.emplace_back(name, T{});
    return items_[found->second].second;
  }

  [[nodiscard]] const std::vector<std::pair<std::string, T>>& items() const {
    return items_;
  }

private:
  std::map<std::string, std::size_t> index_;
  std::vector<std::pair<std::string, T>> items_;
};

// -- stacks -------------------------------------------------------------------

using default_values = std::map<std::string,
                                std::map<std::string, std::string>>;

default_values defaults_by_kind() {
  default_values out;
  for (const auto& kind : policy_kinds())
    for (const auto& row : kind.rows())
      if (!row.required)
        out[kind.name][row.key] = row.value;
  return out;
}

json layer_values(layer& l, const default_values& defaults) {
  std::string kind{l.machine().kind()};
  auto known = defaults.find(kind);
  auto set = json::object();
  for (const auto& row : l.config_rows()) {
    if (row.key == "name" || !row.applies)
      continue;
    if (known != defaults.end()) {
      auto usual = known->second.find(row.key);
      if (usual != known->second.end() && usual->second == row.value)
        continue;
    }
    set[row.key] = row.value;
  }
  return {{"name", l.name()}, {"kind", kind}, {"settings", std::move(set)}};
}

json stacks_of(const arm_config& arm, const default_values& defaults) {
  auto out = json::object();
  for (const auto& [name, entry] : arm.stacks) {
    auto layers = json::array();
    for (const auto& l : entry->policies.build())
      layers.push_back(layer_values(*l, defaults));
    out[name] = std::move(layers);
  }
  return out;
}

// -- places -------------------------------------------------------------------

using by_arm = std::vector<std::string>;

json places_of(const report& r) {
  named_list<by_arm> gates;
  auto set = [&](const std::string& gate, std::size_t arm,
                 const std::string& stack) {
    auto& stacks = gates[gate];
    stacks.resize(r.arms.size());
    stacks[arm] = stack;
  };
  for (std::size_t i = 0; i < r.arms.size(); ++i) {
    for (const auto& x : world_plan{r.arms[i]}.routes)
      set(x.name, i, x.edge.stack);
    for (const auto& s : r.arms[i].services)
      if (!s.stack.empty())
        set((s.replicas == 1 ? "-> " : "-> each ") + s.name, i, s.stack);
  }
  std::vector<std::pair<by_arm, std::vector<std::string>>> groups;
  std::map<by_arm, std::size_t> index;
  for (const auto& [gate, stacks] : gates.items()) {
    auto [found, added] = index.emplace(stacks, groups.size());
    if (added)
      groups.push_back({stacks, {}});
    groups[found->second].second.push_back(gate);
  }
  auto out = json::array();
  for (auto& [stacks, names] : groups)
    out.push_back({{"places", std::move(names)}, {"stacks", stacks}});
  return out;
}

// -- differences --------------------------------------------------------------

using texts = std::vector<std::optional<std::string>>;

// The settings of all arms by what they are called.
class setting_texts {
public:
  explicit setting_texts(std::size_t arms) : arms_(arms) {}

  void add(std::size_t arm, const std::string& what, std::string value) {
    constexpr std::size_t longest = 200;
    if (value.size() > longest)
      value = value.substr(0, longest) + " ...";
    auto& all = texts_[what];
    all.resize(arms_);
    all[arm] = std::move(value);
  }

  template <class Config>
  void add_fields(std::size_t arm, const std::string& of, const Config& c) {
    for (auto& row : rows_of(c))
      if (row.applies)
        add(arm, of + ": " + row.key, std::move(row.value));
  }

  // More than a few hundred rows are of no use.
  [[nodiscard]] json differing() const {
    constexpr std::size_t most = 200;
    auto out = json::array();
    for (const auto& item : texts_.items()) {
      const auto& values = item.second;
      if (std::ranges::all_of(values,
                              [&](auto& x) { return x == values.front(); }))
        continue;
      if (out.size() == most)
        break;
      auto list = json::array();
      for (const auto& x : values)
        list.push_back(x ? json(*x) : json(nullptr));
      out.push_back({{"what", item.first}, {"values", std::move(list)}});
    }
    return out;
  }

private:
  std::size_t arms_;
  named_list<texts> texts_;
};

// As a rule for the edge that says all of it.
void add_connection_settings(setting_texts& to, std::size_t i, const route& r) {
  const auto& c = r.edge.connections;
  if (!c.limited())
    return;
  auto add = [&](const char* key, std::string value) {
    to.add(i, fmt::format("edge {}: {}", r.name, key), std::move(value));
  };
  auto count = [](std::uint32_t n) {
    return n == no_limit ? "unlimited" : fmt::format("{}", n);
  };
  auto connect = c.connect;
  add("connections", count(c.most));
  add("pending", count(c.pending));
  add("wait", to_text(c.wait));
  add("connect", field_value_for<distribution>{connect}.text());
  add("idle", to_text(c.idle));
  add("given_up",
      std::string{enum_names<after_giving_up>::value[static_cast<std::size_t>(
        c.given_up)]});
}

void add_settings(setting_texts& to, std::size_t i, const arm_config& arm) {
  to.add(i, "length", to_text(arm.length));
  to.add(i, "drain", to_text(arm.drain));
  to.add(i, "warmup", to_text(arm.warmup));
  for (const auto& load : arm.loads)
    to.add_fields(i, "load " + load.name, load);
  for (const auto& s : arm.services) {
    to.add_fields(i, "service " + s.name, s);
    for (const auto& op : s.operations)
      to.add_fields(i, "operation " + op.name, op);
  }
  for (std::size_t k = 0; k < arm.faults.size(); ++k)
    to.add_fields(i, fmt::format("fault {}", k + 1), arm.faults[k]);
  for (const auto& r : world_plan{arm}.routes)
    add_connection_settings(to, i, r);
}

} // namespace

json policy_values(const report& r) {
  auto stacks = json::array();
  auto defaults = defaults_by_kind();
  setting_texts settings{r.arms.size()};
  for (std::size_t i = 0; i < r.arms.size(); ++i) {
    stacks.push_back(stacks_of(r.arms[i], defaults));
    add_settings(settings, i, r.arms[i]);
  }
  return {{"stacks", std::move(stacks)},
          {"places", places_of(r)},
          {"differences", settings.differing()}};
}

} // namespace caisson::sim
