#include <simulator/explore/survival_report.hpp>

#include <simulator/explore/fault_texts.hpp>
#include <simulator/report/numbers.hpp>
#include <simulator/report/table.hpp>
#include <simulator/scenario/faults.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <ostream>

namespace caisson::sim {

namespace {

using map_json = nlohmann::ordered_json;

std::string survival_text(const survival& s) {
  if (!s.known)
    return "?";
  if (s.longest)
    return to_text(s.fault.lasts) + "+";
  return s.fault.lasts == duration::zero() ? "-" : to_text(s.fault.lasts);
}

// What a kind is like in this map; it is the same at all places, but for the
// number of servers.
std::string size_text(const fault_config& f) {
  switch (f.kind) {
    case fault_kind::slow:
      return fmt::format("slow: by a factor of {}", to_text(f.factor));
    case fault_kind::errors:
      return fmt::format("errors: {}", percent_text(f.rate));
    case fault_kind::loss:
      return fmt::format("loss: {}", percent_text(f.rate));
    case fault_kind::delay:
      return fmt::format("delay: {}", to_text(f.delay));
    case fault_kind::capacity:
      return fmt::format("capacity: {} servers", f.servers);
    default:
      return {};
  }
}

void write_arm(std::ostream& out, const survival_map& m, std::size_t arm,
               std::size_t width) {
  using align = text_table::align;
  std::vector<fault_kind> kinds;
  std::vector<std::string> places;
  std::map<std::pair<std::string, fault_kind>, std::string> cells;
  std::string sizes;
  for (const auto& s : m.all) {
    if (s.arm != arm)
      continue;
    auto place = place_of(s.fault);
    if (std::ranges::find(kinds, s.fault.kind) == kinds.end()) {
      kinds.push_back(s.fault.kind);
      if (auto text = size_text(s.fault); !text.empty())
        sizes += (sizes.empty() ? "" : ", ") + text;
    }
    if (std::ranges::find(places, place) == places.end())
      places.push_back(place);
    cells[{place, s.fault.kind}] = survival_text(s);
  }
  std::vector<text_table::column> columns{{"", align::left}};
  for (auto kind : kinds)
    columns.push_back({std::string{fault_name(kind)}, align::right});
  text_table table{std::move(columns)};
  for (const auto& place : places) {
    std::vector<std::string> row{place};
    for (auto kind : kinds)
      row.push_back(cells[{place, kind}]);
    table.row(std::move(row));
  }
  table.write(out, width);
  if (!sizes.empty())
    write_wrapped(out, '(' + sizes + ')', width);
}

} // namespace

void write_survival(std::ostream& out, const explore_plan& p,
                    const survival_map& m, std::size_t width) {
  if (!p.title.empty())
    write_wrapped(out, detail::printable(p.title), width);
  write_wrapped(out,
                fmt::format("{}: the longest fault after which it recovers, "
                            "seed {}",
                            detail::printable(p.file), p.seed),
                width);
  for (std::size_t i = 0; i < p.arms.size(); ++i) {
    out << fmt::format("\narm {}", p.arms[i].name);
    if (!m.well[i]) {
      out << (m.interrupted ? ": interrupted\n"
                            : ": does not recover even without a fault\n");
      continue;
    }
    out << '\n';
    write_arm(out, m, i, width);
  }
  out << "\n+: there was no time for a longer one; -: not even the shortest\n";
}

void write_survival_json(std::ostream& out, const explore_plan& p,
                         const survival_map& m) {
  map_json all;
  all["format"] = "caisson survival 1";
  all["title"] = p.title;
  all["file"] = p.file;
  all["seed"] = p.seed;
  all["interrupted"] = m.interrupted;
  all["arms"] = map_json::array();
  for (std::size_t i = 0; i < p.arms.size(); ++i) {
    map_json arm;
    arm["name"] = p.arms[i].name;
    arm["well"] = static_cast<bool>(m.well[i]);
    arm["faults"] = map_json::array();
    for (const auto& s : m.all) {
      if (s.arm != i || !s.known)
        continue;
      map_json one;
      one["place"] = place_of(s.fault);
      one["kind"] = fault_name(s.fault.kind);
      if (auto text = size_text(s.fault); !text.empty())
        one["size"] = text;
      one["at"] = to_seconds(s.fault.at);
      one["survived"] = to_seconds(s.fault.lasts);
      if (s.longest)
        one["fatal"] = nullptr;
      else
        one["fatal"] = to_seconds(s.fatal);
      arm["faults"].push_back(std::move(one));
    }
    all["arms"].push_back(std::move(arm));
  }
  out << all.dump(2, ' ', false, map_json::error_handler_t::replace) << '\n';
}

} // namespace caisson::sim
