#include <sim/scenario/expect.hpp>

#include <sim/scenario/fields.hpp>
#include <sim/scenario/metric_names.hpp>
#include <sim/scenario/parse_context.hpp>

#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <limits>
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

  void read(const setting& from, const std::string& path,
            problems& out) override {
    auto text = std::get_if<std::string>(&from.value);
    auto length = text ? parse_duration(*text) : std::nullopt;
    if (auto integer = std::get_if<std::int64_t>(&from.value))
      x_ = static_cast<double>(*integer);
    else if (auto number = std::get_if<double>(&from.value))
      x_ = *number;
    else if (length && *length != unlimited)
      x_ = seconds(*length);
    else
      out.push_back({from.place, path,
                     fmt::format("{} is not a bound, allowed: {}",
                                 to_text(from), allowed())});
  }

  void check(const std::string&, problems&) const override {}

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

void check_metric(const std::string& name, const setting& from,
                  const std::string& path, parse_context& w) {
  auto known = metric_names();
  for (const auto& pattern : known)
    if (fits(pattern, name))
      return;
  for (auto& pattern : known)
    pattern = filled(pattern, name);
  w.out.push_back({from.place, path, w.no_such("metric", name, known)});
}

// -- the table ----------------------------------------------------------------

// A bound on one number that has a key of its own.
struct named_bound {
  std::string_view key;
  std::string_view help;
  std::string_view metric;
  // A share, or else a duration.
  bool share;
  bool upper;
};

constexpr named_bound named_bounds[] = {
  {"success_at_least", "share of requests", "success", true, false},
  {"success_at_most", "share of requests", "success", true, true},
  {"p99_at_most", "of successful requests", "latency.p99", false, true},
  {"recovers_within", "after recovery_from", "recovery", false, true},
};

void read_named(const named_bound& b, const section& at,
                settings_reader& fields, expectation& into) {
  double x = 1;
  duration d = duration::zero();
  if (b.share)
    fields.on({b.key, b.help}, x, {0.0, 1.0});
  else
    fields.on({b.key, b.help}, d, {duration::zero(), std::chrono::hours(100)});
  auto found = at.table.find(b.key);
  if (found == at.table.end())
    return;
  auto bound = b.share ? x : seconds(d);
  into.bounds.push_back({std::string{b.metric}, b.upper ? -infinity : bound,
                         b.upper ? bound : infinity, duration::zero(),
                         unlimited, found->second.place});
}

void check_bound(const section& at, const metric_bound& b, problems& out) {
  auto wrong = [&](std::string_view key, std::string message) {
    auto found = at.table.find(key);
    out.push_back(
      {found != at.table.end() ? found->second.place : std::string{at.place},
       joined(at.path, key), std::move(message)});
  };
  if (!at.table.contains("max"))
    require(at, "min", "min, max or both", out);
  if (b.max < b.min)
    wrong("max", fmt::format("{} is less than min, which is {}", to_text(b.max),
                             to_text(b.min)));
  if (b.to <= b.from)
    wrong("to", fmt::format("{} is not after from, which is {}", to_text(b.to),
                            to_text(b.from)));
}

void read_check(const section& at, parse_context& w, expectation& into) {
  metric_bound b{{}, -infinity, infinity, duration::zero(), unlimited, {}};
  b.place = at.place;
  settings_reader fields{at.table, at.path, w.out};
  fields.on({"metric", "the name of the number"}, b.metric);
  bound_field min{b.min};
  fields.on({"min", "it is at least this"}, min);
  bound_field max{b.max};
  fields.on({"max", "it is at most this"}, max);
  range<duration> any{duration::zero(), unlimited};
  fields.on({"from", "only the seconds from then on"}, b.from, any);
  fields.on({"to", "only the seconds before that"}, b.to, any);
  fields.finish();
  require(at, "metric", "the name of a number of the result", w.out);
  auto metric = at.table.find("metric");
  if (metric != at.table.end() && text_in(metric->second))
    check_metric(b.metric, metric->second, joined(at.path, "metric"), w);
  check_bound(at, b, w.out);
  into.bounds.push_back(std::move(b));
}

void read_checks(const setting& from, parse_context& w, expectation& into) {
  const std::string path = "expect.check";
  auto list = list_in(from, path, "tables", w.out);
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    auto where = item(path, i);
    if (auto table = table_in((*list)[i], where, w.out))
      read_check({*table, where, (*list)[i].place}, w, into);
  }
}

} // namespace

void read_expect(parse_context& w) {
  auto table = w.table("expect");
  if (!table)
    return;
  section at{*table, "expect", w.root.at("expect").place};
  auto& into = w.arm.expect;
  settings_reader fields{*table, at.path, w.out};
  auto verdict = verdict_kind::recovered;
  fields.choice({"verdict", "how the run ends"}, verdict);
  if (table->contains("verdict"))
    into.verdict = verdict;
  for (const auto& b : named_bounds)
    read_named(b, at, fields, into);
  auto checks = fields.take("check");
  fields.finish();
  if (checks)
    read_checks(*checks, w, into);
}

} // namespace caisson::sim
