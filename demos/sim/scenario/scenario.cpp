#include <sim/scenario/scenario.hpp>

#include <sim/scenario/checks.hpp>
#include <sim/scenario/edges.hpp>
#include <sim/scenario/expect.hpp>
#include <sim/scenario/faults.hpp>
#include <sim/scenario/fields.hpp>
#include <sim/scenario/loads.hpp>
#include <sim/scenario/overlay.hpp>
#include <sim/scenario/parse_context.hpp>
#include <sim/scenario/services.hpp>

#include <caisson/error.hpp>
#include <caisson/toml.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace caisson::sim {

namespace {

// -- a world ------------------------------------------------------------------

constexpr std::string_view part_keys[] = {
  "length", "drain", "warmup", "recovery_from", "service",
  "edge",   "load",  "stack",  "fault",         "expect",
};

// Reports parts that are no tables or no lists at all.
void check_shapes(parse_context& w) {
  for (std::string_view key : {"service", "load", "expect"})
    if (auto found = w.root.find(key); found != w.root.end())
      (void)table_in(found->second, std::string{key}, w.out);
  for (std::string_view key : {"edge", "fault"})
    if (auto found = w.root.find(key); found != w.root.end())
      (void)list_in(
        found->second, std::string{key},
        fmt::format("tables, each of which may begin with [[{}]]", key), w.out);
}

void read_times(parse_context& w) {
  section at{w.root, {}, w.source};
  settings_reader fields{w.root, {}, w.out};
  describe(fields, w.arm);
  require(at, "length", "1ns to 100h", w.out);
  auto from = duration::zero();
  auto known = w.out.size();
  fields.on({"recovery_from", "from when on recovery is looked for"}, from,
            {duration::zero(), std::chrono::hours(100)});
  if (w.root.contains("recovery_from") && w.out.size() == known)
    w.arm.recovery_from = from;
  if (w.arm.length == duration::zero())
    return;
  auto before_end = [&](std::string_view key, duration d) {
    auto found = w.root.find(key);
    if (d >= w.arm.length && found != w.root.end())
      w.out.push_back({found->second.place, std::string{key},
                       fmt::format("{} is not less than length, which is {}",
                                   to_text(d), to_text(w.arm.length))});
  };
  before_end("warmup", w.arm.warmup);
  before_end("recovery_from", from);
}

void read_policies(parse_context& w) {
  w.arm.stacks = read_stacks(w.root, w.out).stacks;
  if (auto all = w.table("stack"))
    for (const auto& [name, value] : *all)
      check_name(name, value.place, joined("stack", name), w.out);
}

problems read_world(const settings& root, std::string_view source,
                    const std::filesystem::path& base, arm_config& arm,
                    std::size_t known_problems) {
  problems out;
  parse_context w{root, source, base, arm, out, known_problems};
  check_shapes(w);
  read_times(w);
  read_policies(w);
  read_services(w);
  read_edges(w);
  read_loads(w);
  read_faults(w);
  read_expect(w);
  check_world(w);
  return out;
}

// -- a file -------------------------------------------------------------------

// Takes the keys of a world; they are looked at when it is read.
void take_parts(settings_reader& from) {
  for (auto key : part_keys)
    from.take(key);
}

class scenario_reader {
public:
  scenario_reader(const settings& root, std::string_view source,
                  const std::filesystem::path& base, problems& out)
    : root_(root), source_(source), base_(base), out_(out), found_(root) {}

  scenario read() {
    settings_reader top{root_, {}, out_};
    top.on({"title", "what the scenario is about"}, result_.title);
    std::int64_t seed = 1;
    top.on({"seed", "of all random numbers"}, seed,
           {0, std::numeric_limits<std::int64_t>::max()});
    result_.seed = static_cast<std::uint64_t>(seed);
    take_parts(top);
    auto arms = top.take("arm");
    top.finish();
    auto table = arms ? table_in(*arms, "arm", out_) : nullptr;
    if (table && !table->empty())
      for (const auto& [name, value] : in_file_order(*table))
        read_arm(std::string{name}, *value);
    else
      read_arm_world({}, {}, {});
    for (auto& p : found_.take())
      out_.push_back(std::move(p));
    return std::move(result_);
  }

private:
  void read_arm(const std::string& name, const setting& from) {
    auto path = joined("arm", name);
    check_name(name, from.place, path, out_);
    auto table = table_in(from, path, out_);
    if (!table)
      return;
    arm_config arm;
    arm.name = name;
    settings_reader fields{*table, path, out_};
    fields.on({"title", "what is different in this arm"}, arm.title);
    take_parts(fields);
    fields.finish();
    auto parts = *table;
    std::erase_if(parts, [](const auto& x) {
      return std::find(std::begin(part_keys), std::end(part_keys), x.first)
             == std::end(part_keys);
    });
    read_arm_world(std::move(arm), parts, from);
  }

  void read_arm_world(arm_config arm, const settings& parts,
                      const setting& from) {
    auto root = overlaid(root_, parts);
    auto found = read_world(root, source_, base_, arm, found_.size());
    found_.add(std::move(found), arm.name, from);
    result_.arms.push_back(std::move(arm));
  }

  const settings& root_;
  std::string_view source_;
  const std::filesystem::path& base_;
  problems& out_;
  arm_problems found_;
  scenario result_;
};

// What is wrong with the scenario itself comes first, in the order of the file;
// then what is wrong with other files.
problems sorted_by_place(problems found, std::string_view source) {
  struct ranked {
    bool elsewhere;
    file_position at;
    problem* what;
  };
  auto prefix = fmt::format("{}:", source);
  std::vector<ranked> order;
  for (auto& p : found) {
    auto here = p.place == source || p.place.starts_with(prefix);
    order.push_back({!here, here ? position_of(p.place) : file_position{}, &p});
  }
  std::stable_sort(
    order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::tie(a.elsewhere, a.at) < std::tie(b.elsewhere, b.at);
    });
  problems out;
  for (const auto& x : order)
    out.push_back(std::move(*x.what));
  return out;
}

// The parts that are there under a misspelled name. Keys of an arm are looked
// at apart from the arm's world.
std::set<std::string_view> misspelled_parts(const problems& all) {
  constexpr std::string_view begin = "unknown key, did you mean \"";
  std::set<std::string_view> out;
  for (const auto& p : all) {
    auto dots = std::count(p.key.begin(), p.key.end(), '.');
    std::string_view name = p.message;
    if (!name.starts_with(begin)
        || (dots > 0 && (dots != 2 || !p.key.starts_with("arm."))))
      continue;
    name.remove_prefix(begin.size());
    out.insert(name.substr(0, name.find('"')));
  }
  return out;
}

// `found` is what was wrong with reading the values themselves.
scenario scenario_from(const settings& root, std::string_view source,
                       const std::filesystem::path& base, problems found) {
  problems more;
  auto result = scenario_reader{root, source, base, more}.read();
  // A value that cannot be read is reported already and missing from `root`,
  // which must not be reported again; and neither is one that is misspelled.
  std::set<std::string> known;
  for (const auto& p : found)
    known.insert(p.key);
  auto misspelled = misspelled_parts(more);
  for (const auto& p : more)
    if (!known.contains(p.key)
        && !(p.message.starts_with("is missing") && misspelled.contains(p.key)))
      found.push_back(p);
  if (found.empty())
    return result;
  throw config_error{sorted_by_place(std::move(found), source)};
}

} // namespace

scenario parse_scenario(std::string_view text, std::string_view source_name,
                        const std::filesystem::path& base) {
  problems found;
  auto root = parse_toml(text, source_name, found);
  if (root.empty() && !found.empty())
    throw config_error{std::move(found)};
  return scenario_from(root, source_name, base, std::move(found));
}

scenario load_scenario(const std::filesystem::path& path) {
  problems found;
  auto root = read_toml_file(path, found);
  if (root.empty() && !found.empty())
    throw config_error{std::move(found)};
  return scenario_from(root, path.string(), path.parent_path(),
                       std::move(found));
}

} // namespace caisson::sim
