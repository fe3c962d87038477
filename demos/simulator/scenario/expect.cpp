#include <simulator/scenario/expect.hpp>

#include <simulator/scenario/fields.hpp>
#include <simulator/scenario/metric_names.hpp>
#include <simulator/scenario/parse_helpers.hpp>
#include <simulator/scenario/threshold.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace caisson::sim {

namespace {

constexpr auto infinity = std::numeric_limits<double>::infinity();

// A bound: a number, or a duration, which counts as so many seconds.
class bound_field final : public field_value {
public:
  explicit bound_field(double& x) : x_(x) {}

  std::string type() const override { return "bound"; }

  std::string allowed() const override {
    return "a number, or a duration such as \"250ms\"";
  }

  std::string text() const override { return to_text(x_); }

  void read(const setting& from, const setting_path& path,
            problems& out) override {
    auto text = std::get_if<std::string>(&from.value);
    auto length = text ? parse_duration(*text) : std::nullopt;
    if (auto integer = std::get_if<std::int64_t>(&from.value))
      x_ = static_cast<double>(*integer);
    else if (auto number = std::get_if<double>(&from.value))
      x_ = *number;
    else if (length && *length != unlimited)
      x_ = to_seconds(*length);
    else
      out.push_back({problem_kind::type, path,
                     fmt::format("{} is not a bound, allowed: {}",
                                 to_text(from), allowed()),
                     from.place});
  }

  void check(const setting_path&, problems&) const override {}

private:
  double& x_;
};

// -- names of numbers ---------------------------------------------------------

// Whether `*` in the pattern can stand for something in `name`.
bool fits(std::string_view pattern, std::string_view name) {
  auto star = pattern.find('*');
  if (star == std::string_view::npos)
    return pattern == name;
  if (!name.starts_with(pattern.substr(0, star)))
    return false;
  pattern.remove_prefix(star + 1);
  for (auto rest = star + 1; rest <= name.size(); ++rest)
    if (fits(pattern, name.substr(rest)))
      return true;
  return false;
}

// The pattern with a part of `name` in place of its `*`, so that only what is
// misspelled differs.
std::string filled(const std::string& pattern, std::string_view name) {
  auto star = pattern.find('*');
  auto dot = name.rfind('.');
  auto fillable = star != std::string::npos && pattern.rfind('*') == star
                  && star + 1 < pattern.size() && dot != std::string_view::npos
                  && dot > star && name.starts_with(pattern.substr(0, star));
  if (!fillable)
    return pattern;
  return pattern.substr(0, star) + std::string{name.substr(star, dot - star)}
         + pattern.substr(star + 1);
}

void check_known(const std::string& name, std::vector<std::string> known,
                 const setting_path& path, problems& out) {
  auto fits_name = [&](const auto& pattern) { return fits(pattern, name); };
  if (std::any_of(known.begin(), known.end(), fits_name))
    return;
  for (auto& pattern : known)
    pattern = filled(pattern, name);
  out.push_back({problem_kind::unknown, path, no_such("metric", name, known)});
}

} // namespace

void check_metric(const std::string& name, const setting_path& path,
                  problems& out) {
  auto known = metric_names();
  if (!is_time_to_threshold(name))
    return check_known(name, std::move(known), path, out);
  try {
    auto p = read_threshold(name);
    if (level_of(p).target.empty()) {
      known.emplace_back("service.*.queue");
      check_known(p.metric, std::move(known), path, out);
    }
  } catch (const std::invalid_argument& e) {
    out.push_back({problem_kind::syntax, path, e.what()});
  }
}

// -- the table ----------------------------------------------------------------

void describe(field_visitor& v, metric_bound& c) {
  v.on({.key = "metric",
        .help = "the name of the number",
        .allowed = "the name of a number of the result",
        .required = true},
       c.metric);
  bound_field min{c.min};
  v.on({.key = "min",
        .help = "lower bound; at least one of min and max is required",
        .required = true,
        .unless = "max"},
       min);
  bound_field max{c.max};
  v.on({"max", "upper bound"}, max);
  range<duration> any{duration::zero(), unlimited};
  v.on({"from", "only seconds from this time on"}, c.from, any);
  v.on({"to", "only seconds before this time"}, c.to, any);
}

void check(const metric_bound& c, const setting_path& path, problems& out) {
  check_metric(c.metric, path / "metric", out);
  if (c.max < c.min)
    out.push_back({problem_kind::relation, path / "max",
                   fmt::format("{} is less than min, which is {}",
                               to_text(c.max), to_text(c.min))});
  if (auto from = c.from.value_or(duration::zero()); c.to <= from)
    out.push_back({problem_kind::relation, path / "to",
                   fmt::format("{} is not after from, which is {}",
                               to_text(c.to), to_text(from))});
}

void describe(field_visitor& v, expectation& c) {
  range<double> share{0.0, 1.0};
  range<duration> time{duration::zero(), std::chrono::hours(100)};
  v.on({"verdict", "how the run ends"}, c.verdict);
  v.on({"success_at_least", "smallest share of requests that succeed"},
       c.success_at_least, share);
  v.on({"success_at_most", "largest share of requests that succeed"},
       c.success_at_most, share);
  v.on({"p99_at_most", "largest p99 of the latency of successful requests"},
       c.p99_at_most, time);
  v.on({"recovers_within", "longest time from recovery_from to the recovery"},
       c.recovers_within, time);
  v.on({"check", "bounds on any number of the result"}, c.bounds);
}

void resolve_bounds(expectation& c, const section& at) {
  std::vector<metric_bound> all;
  auto add = [&](const char* key, const char* metric, double min, double max) {
    all.push_back({metric,
                   min,
                   max,
                   {},
                   unlimited,
                   std::string{place_in(at, key)},
                   at.path / key});
  };
  if (c.success_at_least)
    add("success_at_least", "success", *c.success_at_least, infinity);
  if (c.success_at_most)
    add("success_at_most", "success", -infinity, *c.success_at_most);
  if (c.p99_at_most)
    add("p99_at_most", "latency.p99", -infinity, to_seconds(*c.p99_at_most));
  if (c.recovers_within)
    add("recovers_within", "recovery", -infinity,
        to_seconds(*c.recovers_within));
  for (std::size_t i = 0; i < c.bounds.size(); ++i) {
    c.bounds[i].place = place_of(at.table, setting_path{"check"} / i);
    c.bounds[i].key = at.path / "check" / i;
  }
  all.insert(all.end(), std::make_move_iterator(c.bounds.begin()),
             std::make_move_iterator(c.bounds.end()));
  c.bounds = std::move(all);
}

} // namespace caisson::sim
