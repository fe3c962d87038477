#include <simulator/report/csv.hpp>
#include <simulator/report/numbers.hpp>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string_view>

namespace caisson::sim {

namespace {

// The columns of a table that are in CSV.
template <const auto& Table>
const auto& in_csv() {
  static const auto out = columns_in(Table, output::csv);
  return out;
}

// What the arms have in common or not: a column for each.
struct columns {
  std::set<std::string> errors;
  std::vector<std::string> services;
  // Those whose connections are limited.
  std::vector<std::string> edges;
  std::vector<std::string> breakers;
};

void add_new(std::vector<std::string>& to, const std::string& name) {
  if (std::ranges::find(to, name) == to.end())
    to.push_back(name);
}

columns columns_of(const report& r) {
  columns out;
  for (const auto& run : r.runs) {
    for (const auto& arm : run.arms) {
      for (const auto& row : arm.rows)
        for (const auto& [kind, count] : row.requests.errors)
          out.errors.insert(kind);
      for (const auto& s : arm.services)
        add_new(out.services, s.name);
      for (const auto& e : arm.edges)
        if (e.connections)
          add_new(out.edges, e.name);
      for (const auto& name : arm.breakers)
        add_new(out.breakers, name);
    }
  }
  return out;
}

class line {
public:
  explicit line(std::ostream& out) : out_(out) {}
  ~line() { out_ << '\n'; }
  line(const line&) = delete;
  line& operator=(const line&) = delete;

  void cell(std::string_view text) {
    out_ << (first_ ? "" : ",") << csv_field(text);
    first_ = false;
  }

  void cell(std::uint64_t n) { cell(std::to_string(n)); }

private:
  std::ostream& out_;
  bool first_ = true;
};

void write_header(std::ostream& out, const columns& c) {
  line row{out};
  for (auto name : {"seed", "arm", "second"})
    row.cell(name);
  for (auto m : in_csv<request_columns>())
    row.cell(m->name);
  for (const auto& kind : c.errors)
    row.cell("error." + kind);
  for (auto m : in_csv<latency_columns>())
    row.cell("latency_" + std::string{m->name});
  for (const auto& service : c.services)
    for (auto m : in_csv<service_row_columns>())
      row.cell(service + "." + std::string{m->name});
  for (const auto& edge : c.edges)
    for (auto m : in_csv<connection_row_columns>())
      row.cell("edge." + edge + "." + std::string{m->name});
  for (const auto& name : c.breakers)
    row.cell("breaker." + name);
}

// Where an arm has the columns, as the order may be another.
using positions = std::map<std::string, std::size_t, std::less<>>;

struct arm_places {
  positions services;
  positions edges;
  positions breakers;
};

arm_places places_in(const arm_result& arm) {
  arm_places out;
  for (std::size_t i = 0; i < arm.services.size(); ++i)
    out.services.emplace(arm.services[i].name, i);
  for (const auto& e : arm.edges)
    if (e.connections)
      out.edges.emplace(e.name, out.edges.size());
  for (std::size_t i = 0; i < arm.breakers.size(); ++i)
    out.breakers.emplace(arm.breakers[i], i);
  return out;
}

template <class T>
const T* at(const std::vector<T>& xs, const positions& where,
            const std::string& name) {
  auto found = where.find(name);
  if (found == where.end() || found->second >= xs.size())
    return nullptr;
  return &xs[found->second];
}

void write_requests(line& out, const result_row& row, const columns& c) {
  const auto& n = row.requests;
  for (auto m : in_csv<request_columns>())
    out.cell(n.*field_of(*m));
  for (const auto& kind : c.errors) {
    auto found = n.errors.find(kind);
    out.cell(found == n.errors.end() ? std::uint64_t{0} : found->second);
  }
  for (auto m : in_csv<latency_columns>())
    out.cell(row.latency.count == 0
               ? ""
               : exact_seconds(row.latency.*duration_of(*m)));
}

void write_row(std::ostream& to, const arm_result& arm, const result_row& row,
               const columns& c, const arm_places& where) {
  line out{to};
  out.cell(arm.seed);
  out.cell(arm.name);
  out.cell(row.second);
  write_requests(out, row, c);
  for (const auto& name : c.services) {
    auto service = at(row.services, where.services, name);
    for (auto m : in_csv<service_row_columns>())
      out.cell(service ? std::to_string(service->*field_of(*m)) : "");
  }
  for (const auto& name : c.edges) {
    auto edge = at(row.connections, where.edges, name);
    for (auto m : in_csv<connection_row_columns>())
      out.cell(edge ? std::to_string(edge->*field_of(*m)) : "");
  }
  for (const auto& name : c.breakers) {
    auto state = at(row.breakers, where.breakers, name);
    out.cell(state ? *state : "");
  }
}

} // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos)
    return std::string{text};
  std::string out = "\"";
  for (char c : text) {
    if (c == '"')
      out += '"';
    out += c;
  }
  return out + '"';
}

void write_csv(std::ostream& out, const report& r) {
  auto c = columns_of(r);
  write_header(out, c);
  for (const auto& run : r.runs) {
    for (const auto& arm : run.arms) {
      auto where = places_in(arm);
      for (const auto& row : arm.rows)
        write_row(out, arm, row, c, where);
    }
  }
}

} // namespace caisson::sim
