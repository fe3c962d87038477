#include <simulator/report/csv.hpp>
#include <simulator/report/numbers.hpp>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string_view>

namespace caisson::sim {

namespace {

struct service_column {
  std::string_view name;
  std::uint64_t service_row::*value;
};

constexpr service_column service_columns[] = {
  {"queue", &service_row::queue},     {"queue_max", &service_row::queue_max},
  {"busy", &service_row::busy},       {"arrivals", &service_row::arrivals},
  {"refused", &service_row::refused}, {"completed", &service_row::completed},
  {"failed", &service_row::failed},
};

struct connection_column {
  std::string_view name;
  std::uint64_t connection_row::*value;
};

constexpr connection_column connection_columns[] = {
  {"used", &connection_row::used},
  {"used_max", &connection_row::used_max},
  {"waiting", &connection_row::waiting},
  {"waiting_max", &connection_row::waiting_max},
  {"refused", &connection_row::refused},
  {"expired", &connection_row::expired},
};

struct latency_column {
  std::string_view name;
  duration latency_summary::*value;
};

constexpr latency_column latency_columns[] = {
  {"latency_mean", &latency_summary::mean},
  {"latency_p50", &latency_summary::p50},
  {"latency_p95", &latency_summary::p95},
  {"latency_p99", &latency_summary::p99},
  {"latency_max", &latency_summary::max},
};

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
  for (auto name :
       {"seed", "arm", "second", "offered", "attempts", "good", "failed"})
    row.cell(name);
  for (const auto& kind : c.errors)
    row.cell("error." + kind);
  for (const auto& m : latency_columns)
    row.cell(m.name);
  for (const auto& service : c.services)
    for (const auto& m : service_columns)
      row.cell(service + "." + std::string{m.name});
  for (const auto& edge : c.edges)
    for (const auto& m : connection_columns)
      row.cell("edge." + edge + "." + std::string{m.name});
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
  for (auto count : {n.offered, n.attempts, n.good, n.failed})
    out.cell(count);
  for (const auto& kind : c.errors) {
    auto found = n.errors.find(kind);
    out.cell(found == n.errors.end() ? std::uint64_t{0} : found->second);
  }
  for (const auto& m : latency_columns)
    out.cell(row.latency.count == 0 ? "" : exact_seconds(row.latency.*m.value));
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
    for (const auto& m : service_columns)
      out.cell(service ? std::to_string(service->*m.value) : "");
  }
  for (const auto& name : c.edges) {
    auto edge = at(row.connections, where.edges, name);
    for (const auto& m : connection_columns)
      out.cell(edge ? std::to_string(edge->*m.value) : "");
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
