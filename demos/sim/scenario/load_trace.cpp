#include <sim/scenario/load_trace.hpp>

#include <sim/scenario/parse_context.hpp>
#include <sim/scenario/trace.hpp>

#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace caisson::sim {

namespace {

// Reads the table itself. False if the file need not be looked at.
bool read_config(const section& at, trace_config& c, problems& out) {
  auto known = out.size();
  settings_reader fields{at.table, at.path, out};
  describe(fields, c);
  fields.finish();
  require(at, "file", "the path of a CSV file", out);
  require(at, "format", detail::listed(enum_names<trace_format>::value), out);
  auto period = at.table.find("period");
  if (period != at.table.end() && c.format != trace_format::counts)
    out.push_back({period->second.place, joined(at.path, "period"),
                   "period applies to counts only, this is timestamps"});
  if (c.to <= c.from) {
    auto to = at.table.find("to");
    const auto& place = to != at.table.end() ? to->second.place
                                             : at.table.at("from").place;
    out.push_back({place, joined(at.path, "to"),
                   fmt::format("{} is not after from, which is {}",
                               to_text(c.to), to_text(c.from))});
  }
  return out.size() == known;
}

// Problems with the file as a whole belong to the field that they are about.
void place_problems(problems found, const section& at, problems& out) {
  for (auto& p : found) {
    if (p.place.empty()) {
      auto field = at.table.find(p.key);
      p.place = field != at.table.end() ? field->second.place
                                        : std::string{at.place};
      p.key = joined(at.path, p.key);
    }
    out.push_back(std::move(p));
  }
}

void take_arrivals(std::vector<duration> arrivals, const section& at,
                   load_config& into, problems& out) {
  auto rows = arrivals.size();
  auto copies = static_cast<double>(rows) * into.scale;
  auto wrong = [&](std::string message) {
    out.push_back({std::string{at.place}, at.path, std::move(message)});
  };
  if (copies > static_cast<double>(most_arrivals))
    return wrong(fmt::format("{} arrivals times scale, which is {}, are too "
                             "many, allowed: {}",
                             rows, to_text(into.scale), most_arrivals));
  into.arrivals = into.scale == 1 ? std::move(arrivals)
                                  : copied(arrivals, into.scale);
  if (into.arrivals.empty())
    wrong(fmt::format("no arrival is left of {} with scale {}", arrivals.size(),
                      to_text(into.scale)));
}

} // namespace

void read_load_trace(const setting& from, const std::string& path,
                     parse_context& w, load_config& into) {
  auto table = table_in(from, path, w.out);
  if (!table)
    return;
  section at{*table, path, from.place};
  trace_config c;
  if (!read_config(at, c, w.out))
    return;
  c.file = (w.base / c.file).string();
  problems found;
  auto result = read_trace(c, found);
  auto good = found.empty();
  place_problems(std::move(found), at, w.out);
  if (!good)
    return;
  if (c.format == trace_format::timestamps)
    return take_arrivals(std::move(result.arrivals), at, into, w.out);
  into.profile.clear();
  for (const auto& [when, rate] : result.rates)
    into.profile.push_back({when, rate});
}

} // namespace caisson::sim
