#include <simulator/report/violations.hpp>

#include <simulator/report/expectations.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace caisson::sim {

namespace {

using metric_values = std::map<std::string, std::int64_t>;

void check_little(const service_summary& s, std::vector<violation>& out) {
  if (!(s.little_error <= little_tolerance))
    out.push_back(
      {fmt::format("little {}", s.name),
       fmt::format("Little's law does not hold for service {}: error {:.3g}",
                   s.name, s.little_error)});
}

// Collects what is wrong in one place.
class count_check {
public:
  count_check(std::string where, std::vector<violation>& out)
    : where_(std::move(where)), out_(out) {}

  void equal(std::string_view what, std::uint64_t a, std::string_view other,
             std::uint64_t b) {
    if (a != b)
      fail(what, a, "not", other, b);
  }

  void at_most(std::string_view what, std::uint64_t a, std::string_view other,
               std::uint64_t b) {
    if (a > b)
      fail(what, a, "more than", other, b);
  }

private:
  void fail(std::string_view what, std::uint64_t a, std::string_view how,
            std::string_view other, std::uint64_t b) {
    out_.push_back({fmt::format("count {} {}", where_, what),
                    fmt::format("counts of {} do not add up: {} is {}, {} {}, "
                                "which is {}",
                                where_, what, a, how, other, b)});
  }

  std::string where_;
  std::vector<violation>& out_;
};

void check_requests(const arm_result& r, std::vector<violation>& out) {
  count_check check{"requests", out};
  const auto& t = r.totals;
  check.equal("offered", t.offered, "good + failed + unanswered",
              t.good + t.failed + r.unanswered);
  std::uint64_t errors = 0;
  for (const auto& [kind, n] : t.errors)
    errors += n;
  check.equal("failed", t.failed, "the sum of errors", errors);
  check.at_most("substituted", t.substituted, "good", t.good);
  check.equal("latency.count", r.latency.count, "good", t.good);
  if (r.warmup > duration::zero())
    return;
  request_counts rows;
  for (const auto& row : r.rows)
    join_columns(request_columns, rows, row.requests);
  for (const auto& c : request_columns)
    if (c.stored())
      check.equal(c.name, t.*field_of(c), "the sum of the rows",
                  rows.*field_of(c));
}

void check_service(const service_summary& s, bool whole,
                   std::vector<violation>& out) {
  count_check check{fmt::format("service {}", s.name), out};
  check.at_most("shed", s.shed, "refused", s.refused);
  check.at_most("late", s.late, "completed + failed", s.completed + s.failed);
  check.at_most("waited", s.waited, "started", s.started);
  if (!whole)
    return;
  auto ends = s.refused + s.down + s.completed + s.failed + s.abandoned
              + s.lost;
  check.at_most("the sum of ends", ends, "arrivals", s.arrivals);
  check.at_most("started", s.started, "arrivals", s.arrivals);
  check.at_most("completed + failed", s.completed + s.failed, "started",
                s.started);
}

void check_replicas(const service_summary& s, std::vector<violation>& out) {
  if (s.replicas.empty())
    return;
  count_check check{fmt::format("service {}", s.name), out};
  for (const auto& c : service_columns) {
    if (c.kind != column_kind::sum)
      continue;
    std::uint64_t all = 0;
    for (const auto& x : s.replicas)
      all += x.*field_of(c);
    check.equal(c.name, s.*field_of(c), "the sum of its replicas", all);
  }
}

void check_edge(const edge_summary& e, bool whole,
                std::vector<violation>& out) {
  count_check check{fmt::format("edge {}", e.name), out};
  check.at_most("repeated", e.repeated, "lost_answers", e.lost_answers);
  check.at_most("crossed", e.crossed, "calls", e.calls);
  if (whole)
    check.at_most("lost_calls", e.lost_calls, "calls + repeated",
                  e.calls + e.repeated);
  if (whole && e.connections) {
    const auto& c = *e.connections;
    check.at_most("calls sent or without a connection",
                  e.calls + c.refused + c.expired + c.abandoned,
                  "calls that needed one", c.asked);
    check.at_most("calls that waited", c.waited, "calls that needed one",
                  c.asked);
  }
}

std::uint64_t value_in(const metric_values& metrics, std::string_view name) {
  auto found = metrics.find(std::string{name});
  return found == metrics.end() ? 0 : static_cast<std::uint64_t>(found->second);
}

// Gates know no warm-up.
void check_gate(const gate_summary& g, std::vector<violation>& out) {
  count_check check{fmt::format("gate {}", g.name), out};
  auto at = [&](std::string_view name) { return value_in(g.metrics, name); };
  check.at_most("succeeded + failed", at("succeeded") + at("failed"),
                "calls + acquires", at("calls") + at("acquires"));
}

} // namespace

std::vector<violation> violations_of(const arm_result& r) {
  std::vector<violation> out;
  for (const auto& s : r.services) {
    check_little(s, out);
    for (const auto& x : s.replicas)
      check_little(x, out);
  }
  if (r.answered_twice > 0)
    out.push_back(
      {"answered twice",
       fmt::format("{} answered more than once",
                   r.answered_twice == 1
                     ? "1 request was"
                     : fmt::format("{} requests were", r.answered_twice))});
  out.insert(out.end(), r.violations.begin(), r.violations.end());
  return out;
}

std::vector<violation> count_violations(const arm_result& r) {
  std::vector<violation> out;
  auto whole = r.warmup == duration::zero();
  check_requests(r, out);
  for (const auto& s : r.services) {
    check_service(s, whole, out);
    check_replicas(s, out);
  }
  for (const auto& e : r.edges)
    check_edge(e, whole, out);
  for (const auto& g : r.gates)
    check_gate(g, out);
  return out;
}

std::vector<violation> expectation_violations(const arm_config& arm,
                                              const arm_result& r) {
  std::vector<violation> out;
  auto prefix = fmt::format("arm {}: ", r.name);
  // One at a time, to know which it is.
  auto judge = [&](expectation one, std::string rule) {
    arm_config only;
    only.expect = std::move(one);
    for (const auto& text : failed_expectations(only, r))
      out.push_back({rule, text.substr(prefix.size())});
  };
  if (arm.expect.verdict)
    judge({.verdict = arm.expect.verdict}, "verdict");
  for (const auto& b : arm.expect.bounds) {
    auto bound = b;
    bound.place.clear();
    judge({.bounds = {bound}},
          fmt::format("expect {} from {} to {}, {} to {}", b.metric,
                      to_text(b.from.value_or(duration::zero())), to_text(b.to),
                      b.min, b.max));
  }
  return out;
}

} // namespace caisson::sim
