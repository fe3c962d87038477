#include <simulator/scenario/overlay.hpp>

#include <caisson/settings/file_order.hpp>
#include <caisson/settings/read_value.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>

namespace caisson::sim {

namespace {

// -- alternatives -------------------------------------------------------------

// Where the rate of a load comes from, and what belongs to that alone.
struct rate_source {
  std::string_view key;
  std::initializer_list<std::string_view> more;
};

bool contains(const std::initializer_list<std::string_view>& all,
              std::string_view x) {
  return std::find(all.begin(), all.end(), x) != all.end();
}

// Leaves no source in `load` but those of `wanted`.
void keep_sources(settings& load,
                  std::initializer_list<std::string_view> keys) {
  static const rate_source sources[] = {
    {"rate", {}},
    {"profile", {"ramps", "scale"}},
    {"trace", {"scale"}},
    {"users", {"think"}},
  };
  std::set<std::string_view> kept;
  for (const auto& s : sources)
    if (contains(keys, s.key))
      kept.insert(s.more.begin(), s.more.end());
  for (const auto& s : sources) {
    if (!contains(keys, s.key))
      load.erase(std::string{s.key});
    for (auto key : s.more)
      if (!kept.contains(key))
        load.erase(std::string{key});
  }
}

void drop_in_load(settings& load, const settings& arm) {
  if (arm.contains("target") || arm.contains("mix")) {
    load.erase("target");
    load.erase("mix");
  }
  if (auto kind = arm.find("kind"); kind != arm.end()) {
    if (detail::text_in(kind->second) == "closed")
      keep_sources(load, {"users"});
    else
      keep_sources(load, {"rate", "profile", "trace"});
  }
  for (std::string_view key : {"rate", "profile", "trace", "users"})
    if (arm.contains(key))
      keep_sources(load, {key});
}

// What belongs to one order of a queue alone.
void drop_in_service(settings& service, const settings& arm) {
  auto order = arm.find("order");
  if (order == arm.end())
    return;
  auto name = detail::text_in(order->second);
  if (name != "adaptive_lifo")
    service.erase("lifo_above");
  if (name != "codel") {
    service.erase("codel_target");
    service.erase("codel_interval");
    service.erase("codel_keep");
  }
  if (name != "priority")
    service.erase("aging");
}

// -- merging ------------------------------------------------------------------

// How a value that an arm sets goes over that of the file.
struct merge_rule {
  enum class way { replace, append, by_key };

  way how = way::replace;
  // By key: how those of a table are merged that stand under `key`.
  const merge_rule& (*inner)(std::string_view key) = nullptr;
  // By key: takes out what cannot stand beside what the arm sets.
  void (*drop)(settings& table, const settings& arm) = nullptr;
};

constexpr merge_rule replace_rule;
constexpr merge_rule append_rule{.how = merge_rule::way::append};

using rule_ref = const merge_rule&;

constexpr merge_rule
by_key(rule_ref (*inner)(std::string_view key),
       void (*drop)(settings&, const settings&) = nullptr) {
  return {merge_rule::way::by_key, inner, drop};
}

constexpr auto table_rule = by_key(
  [](auto) -> rule_ref { return replace_rule; });
constexpr auto tables_rule = by_key(
  [](auto) -> rule_ref { return table_rule; });
constexpr auto load_rule = by_key([](auto) -> rule_ref { return replace_rule; },
                                  drop_in_load);
constexpr auto loads_rule = by_key([](auto) -> rule_ref { return load_rule; });
constexpr auto service_rule = by_key(
  [](auto key) -> rule_ref { return key == "op" ? tables_rule : replace_rule; },
  drop_in_service);
constexpr auto services_rule = by_key(
  [](auto) -> rule_ref { return service_rule; });

constexpr auto world_rule = by_key([](auto key) -> rule_ref {
  if (key == "service")
    return services_rule;
  if (key == "load")
    return loads_rule;
  if (key == "stack" || key == "expect" || key == "group" || key == "zones")
    return table_rule;
  if (key == "edge" || key == "fault")
    return append_rule;
  return replace_rule;
});

void merge(const merge_rule& rule, setting& into, const setting& from);

void merge_tables(const merge_rule& rule, settings& into,
                  const settings& from) {
  if (rule.drop)
    rule.drop(into, from);
  for (const auto& [key, value] : from) {
    auto [i, fresh] = into.try_emplace(key, value);
    if (fresh)
      continue;
    // The order in which services and loads are made is part of a world.
    auto stands = detail::position_of(i->second);
    merge(rule.inner(key), i->second, value);
    i->second.stands = stands;
  }
}

void merge_lists(setting& into, const setting& from) {
  auto a = std::get_if<std::vector<setting>>(&into.value);
  auto b = std::get_if<std::vector<setting>>(&from.value);
  if (a && b)
    a->insert(a->end(), b->begin(), b->end());
  else if (!b)
    into = from;
}

void merge(const merge_rule& rule, setting& into, const setting& from) {
  auto a = std::get_if<settings>(&into.value);
  auto b = std::get_if<settings>(&from.value);
  if (rule.how == merge_rule::way::append)
    merge_lists(into, from);
  else if (rule.how == merge_rule::way::by_key && a && b)
    merge_tables(rule, *a, *b);
  else
    into = from;
}

// -- problems -----------------------------------------------------------------

void collect_places(const setting& s, std::set<std::string_view>& into) {
  if (!s.place.empty())
    into.insert(s.place);
  if (auto table = std::get_if<settings>(&s.value))
    for (const auto& [key, value] : *table)
      collect_places(value, into);
  if (auto list = std::get_if<std::vector<setting>>(&s.value))
    for (const auto& value : *list)
      collect_places(value, into);
}

// The key in an arm of what has the key `key` in the arm's world. The arm's own
// edges and faults come after those of `base`.
setting_path key_in_arm(const setting_path& key, const settings& base) {
  const auto& parts = key.parts();
  auto index = parts.size() > 1 ? std::get_if<std::size_t>(&parts[1]) : nullptr;
  auto name = index ? std::get_if<std::string>(&parts[0]) : nullptr;
  auto found = name && (*name == "edge" || *name == "fault") ? base.find(*name)
                                                             : base.end();
  if (found == base.end())
    return key;
  auto list = std::get_if<std::vector<setting>>(&found->second.value);
  if (!list || *index < list->size())
    return key;
  return (setting_path{} / *name / (*index - list->size()))
    .joined_with(key.without_first(2));
}

} // namespace

bool replaces_all(const setting_path& path, std::size_t i) {
  const auto* rule = &world_rule;
  for (std::size_t k = 0; k <= i; ++k) {
    auto key = std::get_if<std::string>(&path.parts()[k]);
    if (!key || rule->how != merge_rule::way::by_key)
      return false;
    rule = &rule->inner(*key);
  }
  return rule->how == merge_rule::way::replace;
}

settings overlaid(const settings& base, const settings& arm) {
  settings out = base;
  merge_tables(world_rule, out, arm);
  return out;
}

void drop_alternatives(std::string_view sort, settings& table,
                       const settings& more) {
  if (sort == "load")
    drop_in_load(table, more);
  else if (sort == "service")
    drop_in_service(table, more);
}

setting_path key_in_file(const setting_path& key, std::string_view place,
                         const std::string& name, const setting& arm) {
  std::set<std::string_view> places;
  collect_places(arm, places);
  return places.contains(place)
           ? (setting_path{} / "arm" / name).joined_with(key)
           : key;
}

void arm_problems::add(problems found, const std::string& name,
                       const setting& arm) {
  ++arms_;
  std::set<std::string_view> places;
  collect_places(arm, places);
  for (auto& p : found) {
    auto own = places.contains(p.place);
    if (own)
      p.key = (setting_path{} / "arm" / name)
                .joined_with(key_in_arm(p.key, base_));
    if (auto same = find(p)) {
      // The other may be without what is only said of the first problems.
      if (p.message.size() > same->what.message.size())
        same->what.message = std::move(p.message);
      if (same->arms.back() != name)
        same->arms.push_back(name);
    } else {
      index_.emplace(place_and_key{p.place, p.key}, entries_.size());
      entries_.push_back({std::move(p), {name}, own});
    }
  }
}

// What is unknown is the same problem whatever is known instead, which differs
// from arm to arm.
arm_problems::entry* arm_problems::find(const problem& p) {
  auto [begin, end] = index_.equal_range({p.place, p.key});
  for (auto i = begin; i != end; ++i) {
    auto& e = entries_[i->second];
    if (e.what.kind == p.kind
        && (p.kind == problem_kind::unknown || e.what.message == p.message))
      return &e;
  }
  return nullptr;
}

problems arm_problems::take() {
  problems out;
  for (auto& e : entries_) {
    if (!e.own && e.arms.size() < arms_)
      e.what.message += fmt::format(" (in arm {})",
                                    detail::listed_names(e.arms));
    out.push_back(std::move(e.what));
  }
  entries_.clear();
  index_.clear();
  return out;
}

} // namespace caisson::sim
