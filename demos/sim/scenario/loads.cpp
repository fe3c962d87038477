#include <sim/scenario/loads.hpp>

#include <sim/scenario/fields.hpp>
#include <sim/scenario/load_trace.hpp>
#include <sim/scenario/parse_context.hpp>

#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace caisson::sim {

namespace {

constexpr range<double> any_rate{0.0, 1e7};
constexpr range<double> any_weight{1e-9, 1e9};

void wrong(const section& at, std::string_view key, std::string message,
           problems& out) {
  auto found = at.table.find(key);
  auto place = found != at.table.end() ? std::string_view{found->second.place}
                                       : at.place;
  out.push_back({std::string{place}, joined(at.path, key), std::move(message)});
}

// A number that is an item of a list or has a name of its own.
void read_number(const setting& from, const std::string& path, range<double> r,
                 double& into, problems& out) {
  settings one;
  one.emplace(path, from);
  settings_reader{one, {}, out}.on({path, {}}, into, r);
}

// False if it is none.
bool read_duration(const setting& from, const std::string& path, duration& into,
                   problems& out) {
  settings one;
  one.emplace(path, from);
  auto known = out.size();
  settings_reader{one, {}, out}.on({path, {}}, into,
                                   {duration::zero(), unlimited});
  return out.size() == known;
}

// -- what is asked for --------------------------------------------------------

void add_target(std::string_view name, double weight, const setting& from,
                const std::string& path, parse_context& w, load_config& into) {
  into.mix.emplace_back(name, weight);
  w.calls.push_back({into.name, {}, std::string{name}, 1, path, from.place});
}

void read_mix(const setting& from, const std::string& path, parse_context& w,
              load_config& into) {
  auto table = table_in(from, path, w.out);
  if (!table)
    return;
  if (table->empty())
    w.out.push_back({from.place, path,
                     "has no operation, allowed: at least one, such as "
                     "\"web.home\" = 1"});
  for (const auto& [name, value] : in_file_order(*table)) {
    auto where = joined(path, name);
    double weight = 1;
    read_number(*value, where, any_weight, weight, w.out);
    add_target(name, weight, *value, where, w, into);
  }
}

void read_targets(const section& at, const setting* target, const setting* mix,
                  parse_context& w, load_config& into) {
  if (target && mix)
    wrong(at, "mix", "cannot be given beside target", w.out);
  else if (!target && !mix)
    require(at, "target", "the name of an operation, or else a table mix",
            w.out);
  if (mix)
    return read_mix(*mix, joined(at.path, "mix"), w, into);
  if (!target)
    return;
  auto path = joined(at.path, "target");
  if (auto name = text_in(*target))
    add_target(*name, 1, *target, path, w, into);
  else
    wrong(at, "target",
          to_text(*target)
            + " is not a target, allowed: the name of an operation",
          w.out);
}

// -- how often ----------------------------------------------------------------

// Reports a point that is not where the profile begins, or not after the one
// before it.
void check_order(const setting& from, const std::string& path, duration at,
                 const load_config& load, bool first, problems& out) {
  auto wrong_time = [&](std::string message) {
    out.push_back({from.place, path, std::move(message)});
  };
  if (first && at != duration::zero())
    wrong_time(to_text(at) + " begins the profile, allowed: 0s");
  else if (!load.profile.empty() && at <= load.profile.back().at)
    wrong_time(fmt::format("{} does not come after the point before it, which "
                           "is at {}",
                           to_text(at), to_text(load.profile.back().at)));
}

void read_point(const setting& from, const std::string& path, bool first,
                load_config& into, problems& out) {
  auto pair = std::get_if<std::vector<setting>>(&from.value);
  if (!pair || pair->size() != 2) {
    out.push_back({from.place, path,
                   fmt::format("{} is not a point, allowed: a list of a "
                               "duration and a rate, such as [\"60s\", 100]",
                               pair ? fmt::format("a list of {}", pair->size())
                                    : to_text(from))});
    return;
  }
  rate_point p{};
  read_number((*pair)[1], item(path, 1), any_rate, p.rate, out);
  if (!read_duration((*pair)[0], item(path, 0), p.at, out))
    return;
  check_order((*pair)[0], item(path, 0), p.at, into, first, out);
  into.profile.push_back(p);
}

void read_profile(const setting& from, const std::string& path,
                  load_config& into, problems& out) {
  auto list = list_in(from, path, "points such as [\"60s\", 100]", out);
  if (list && list->empty())
    out.push_back(
      {from.place, path, "has no point, allowed: at least [\"0s\", RATE]"});
  for (std::size_t i = 0; list && i < list->size(); ++i)
    read_point((*list)[i], item(path, i), i == 0, into, out);
}

// Fields that belong to open loops, to closed ones, or to some sources of the
// rate.
void check_applicable(const section& at, const load_config& c, problems& out) {
  auto only = [&](std::string_view key, bool applies, std::string_view where) {
    if (!applies && at.table.contains(key))
      wrong(at, key, fmt::format("{} applies to {}", key, where), out);
  };
  auto has = [&](std::string_view key) { return at.table.contains(key); };
  auto closed = c.kind == load_kind::closed;
  for (auto key : {"rate", "profile", "trace"})
    only(key, !closed, "open loops only, this is closed");
  for (auto key : {"users", "think"})
    only(key, closed, "closed loops only, this is open");
  only("ramps", !closed && has("profile"), "profile only");
  only("scale", !closed && (has("profile") || has("trace")),
       "profile and trace only");
}

void check_source(const section& at, const load_config& c, problems& out) {
  if (c.kind == load_kind::closed)
    return require(at, "users", "1 to 1000000", out);
  std::string_view first;
  for (std::string_view key : {"rate", "profile", "trace"}) {
    if (!at.table.contains(key))
      continue;
    if (first.empty())
      first = key;
    else
      wrong(at, key, fmt::format("cannot be given beside {}", first), out);
  }
  if (first.empty())
    require(at, "rate",
            "a number of requests per second, or else profile or trace", out);
}

bool kind_is_known(const section& at) {
  auto kind = at.table.find("kind");
  if (kind == at.table.end())
    return true;
  auto text = text_in(kind->second);
  const auto& names = enum_names<load_kind>::value;
  return text
         && std::find(std::begin(names), std::end(names), *text)
              != std::end(names);
}

void check_times(const section& at, const load_config& c, const arm_config& arm,
                 problems& out) {
  if (arm.length > duration::zero() && c.start >= arm.length)
    wrong(at, "start",
          fmt::format("{} is not before length, which is {}", to_text(c.start),
                      to_text(arm.length)),
          out);
  if (c.stop <= c.start)
    wrong(at, "stop",
          fmt::format("{} is not after start, which is {}", to_text(c.stop),
                      to_text(c.start)),
          out);
}

// -- a load -------------------------------------------------------------------

void read_load(const section& at, std::string_view name, parse_context& w) {
  load_config c;
  c.name = name;
  settings_reader fields{at.table, at.path, w.out};
  auto target = fields.take("target");
  auto mix = fields.take("mix");
  describe(fields, c);
  auto profile = fields.take("profile");
  auto trace = fields.take("trace");
  fields.finish();
  read_targets(at, target, mix, w, c);
  if (kind_is_known(at)) {
    check_applicable(at, c, w.out);
    check_source(at, c, w.out);
  }
  check_times(at, c, w.arm, w.out);
  if (profile)
    read_profile(*profile, joined(at.path, "profile"), c, w.out);
  if (trace)
    read_load_trace(*trace, joined(at.path, "trace"), w, c);
  w.arm.loads.push_back(std::move(c));
}

} // namespace

void read_loads(parse_context& w) {
  auto all = w.table("load");
  if (!w.root.contains("load") || (all && all->empty()))
    w.out.push_back({std::string{w.source}, "load",
                     "is missing, allowed: at least one table [load.NAME]"});
  if (!all)
    return;
  for (const auto& [name, value] : in_file_order(*all)) {
    auto path = joined("load", name);
    check_name(name, value->place, path, w.out);
    if (auto table = table_in(*value, path, w.out))
      read_load({*table, path, value->place}, name, w);
  }
}

} // namespace caisson::sim
