#include <simulator/report/shown_numbers.hpp>

namespace caisson::sim {

namespace {

// Whether a record is of anything that has a share or a latency.
bool is_of_any(const run_summary&) {
  return true;
}
bool is_of_any(const request_counts& n) {
  return n.offered > 0;
}
bool is_of_any(const load_summary& x) {
  return x.offered > 0;
}
bool is_of_any(const latency_summary& s) {
  return s.count > 0;
}

template <class Record, std::size_t N>
void add_shown(std::vector<shown_number>& to,
               const result_column<Record> (&columns)[N], output o,
               const Record& x, double seconds) {
  for (auto c : columns_in(columns, o)) {
    auto known = (!c->applies || c->applies(x, x))
                 && (c->traits.unit == metric_unit::none || is_of_any(x));
    to.push_back({.column = to_shown(*c), .value = {}});
    if (known)
      to.back().value = number_of(*c, x, seconds);
  }
}

} // namespace

std::vector<shown_number> numbers_of(const arm_result& r, output o) {
  std::vector<shown_number> out;
  auto seconds = to_seconds(r.length - r.warmup);
  add_shown<run_summary>(out, run_columns, o, r, seconds);
  add_shown(out, request_columns, o, r.totals, seconds);
  add_shown(out, latency_columns, o, r.latency, seconds);
  return out;
}

std::vector<shown_number> numbers_of(const load_summary& x, double seconds,
                                     output o) {
  std::vector<shown_number> out;
  add_shown(out, load_columns, o, x, seconds);
  add_shown(out, latency_columns, o, x.latency, seconds);
  return out;
}

} // namespace caisson::sim
