#include <caisson/policy/schedule_settings.hpp>

#include <caisson/settings/read_value.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace caisson {

namespace {

using segment = schedule::segment;
using shape = schedule::shape;

constexpr std::uint32_t most_delays = 1'000'000;
constexpr double largest_factor = 1'000'000;
constexpr std::size_t longest_list = 1'000;

bool one_of(shape kind, std::initializer_list<shape> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// -- lists of delays ----------------------------------------------------------

constexpr std::string_view allowed_delays = "a list of 1 to 1000 durations";

/// The delays of a `list`.
class delay_list final : public field_value {
public:
  explicit delay_list(std::vector<duration>& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "list"; }
  [[nodiscard]] std::string allowed() const override {
    return std::string{allowed_delays};
  }

  [[nodiscard]] std::string text() const override {
    std::vector<std::string> texts;
    texts.reserve(x_.size());
    for (auto d : x_)
      texts.push_back(to_text(d));
    return detail::listed(texts);
  }

  void read(const setting& from, const setting_path& path,
            problems& out) override {
    std::vector<std::string> texts;
    if (!detail::read_value(from, path, texts, allowed_delays, out))
      return;
    x_.assign(texts.size(), duration::zero());
    auto items = std::get_if<std::vector<setting>>(&from.value);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      setting item{texts[i], items ? (*items)[i].place : from.place};
      detail::read_value(item, path / i, x_[i], {duration::zero(), unlimited},
                         out);
    }
  }

  void check(const setting_path& path, problems& out) const override {
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (x_[i] < duration::zero())
        out.push_back(
          {problem_kind::range, path / i,
           detail::out_of_range(to_text(x_[i]),
                                range<duration>{duration::zero(), unlimited})});
    if (x_.size() > longest_list)
      out.push_back({problem_kind::range, path,
                     fmt::format("{} delays are too many, allowed: 1 to {}",
                                 x_.size(), longest_list)});
  }

  void relate(const setting_path& path, problems& out) const override {
    if (x_.size() > longest_list)
      check(path, out);
  }

private:
  std::vector<duration>& x_;
};

// -- reading ------------------------------------------------------------------

// A function has no kind that the rules of the fields could go by, and no first
// delay.
void check_function(const settings& from, const setting_path& path,
                    problems& out) {
  if (auto base = from.find("base"); base != from.end())
    out.push_back({problem_kind::relation, path / "base",
                   "base applies to schedules without a function only, this is "
                   "a custom one",
                   base->second.place});
}

void read_segment(const setting& from, const setting_path& path, segment& into,
                  problems& out) {
  auto table = std::get_if<settings>(&from.value);
  if (!table) {
    out.push_back({problem_kind::type, path,
                   to_text(from) + " is not a segment, allowed: a table",
                   from.place});
    return;
  }
  if (into.kind == shape::custom)
    check_function(*table, path, out);
  auto found = read_settings(section{*table, path, from.place}, into);
  out.insert(out.end(), found.begin(), found.end());
}

void read_table(const setting& from, const setting_path& path, schedule& into,
                problems& out) {
  const auto& table = std::get<settings>(from.value);
  segment s;
  if (!table.contains("kind") && !into.empty()) {
    if (into.segments().size() > 1) {
      out.push_back({problem_kind::missing, path / "kind",
                     fmt::format("is missing: the present schedule has {} "
                                 "segments, so single fields cannot be changed",
                                 into.segments().size()),
                     from.place});
      return;
    }
    s = into.segments().front();
  }
  auto before = out.size();
  read_segment(from, path, s, out);
  if (out.size() == before)
    into = schedule{{std::move(s)}};
}

// Reads `10ms, 50ms`, or such a list.
void read_delays(const setting& from, const setting_path& path, schedule& into,
                 problems& out) {
  auto before = out.size();
  std::vector<duration> delays;
  delay_list list{delays};
  list.read(from, path, out);
  list.relate(path, out);
  if (out.size() == before)
    into = schedule::list(std::move(delays));
}

void read_list(const setting& whole, const setting_path& path, schedule& into,
               problems& out) {
  const auto& from = std::get<std::vector<setting>>(whole.value);
  auto is_text = [](const setting& s) {
    return std::holds_alternative<std::string>(s.value);
  };
  if (!from.empty() && std::all_of(from.begin(), from.end(), is_text))
    return read_delays(whole, path, into, out);
  auto before = out.size();
  std::vector<segment> segments(from.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    read_segment(from[i], path / i, segments[i], out);
  if (out.size() == before)
    into = schedule{std::move(segments)};
}

void read_text(const setting& from, std::string_view text,
               const setting_path& path, schedule& into, problems& out) {
  if (text == "none")
    into = schedule{};
  else if (auto delay = parse_duration(text))
    into = schedule::constant(*delay);
  else
    out.push_back({problem_kind::type, path,
                   to_text(from)
                     + " is not a schedule, allowed: a duration such as "
                       "\"250ms\", \"none\", a table or a list of durations "
                       "or tables",
                   from.place});
}

void read_raw(const setting& from, std::string_view text,
              const setting_path& path, schedule& into, problems& out) {
  if (text.find_first_of(",[") != std::string_view::npos)
    read_delays(from, path, into, out);
  else
    read_text(from, text, path, into, out);
}

} // namespace

void describe(field_visitor& v, schedule::segment& s) {
  // A function cannot be configured, but what bounds its delays can.
  if (s.kind != shape::custom)
    v.choice({"kind", "how the delays grow"}, s.kind);
  range<duration> any{duration::zero(), unlimited};
  v.on({"base", "the first delay; more than 0 where it is multiplied "
                "(exponential, fibonacci, decorrelated)"},
       s.base, any);
  v.on({.key = "step",
        .help = "linear only: what each further delay adds",
        .when = {"kind", {"linear"}}},
       s.step, any);
  v.on({.key = "factor",
        .help = "exponential: the ratio of each delay to the one before; "
                "decorrelated: the largest such ratio",
        .when = {"kind", {"exponential", "decorrelated"}}},
       s.factor, {1.0, largest_factor});
  delay_list delays{s.delays};
  v.on({.key = "delays",
        .help = "list only: the delays, one after another",
        .when = {"kind", {"list"}}},
       delays);
  v.on({"max", "no delay is longer than this, jitter included; not less than "
               "base"},
       s.max, any);
  v.choice({"jitter", "how a delay is spread at random; not for decorrelated, "
                      "which is random by itself"},
           s.spread);
  v.on({.key = "jitter_factor",
        .help = "for jitter \"factor\" only: how far to either side, as a "
                "share of the delay",
        .when = {"jitter", {"factor"}}},
       s.spread_factor, {0.0, 1.0});
  v.integer<std::uint32_t>(
    {"take", "how many delays the segment has; 0: no limit"}, s.take,
    {0, most_delays});
  v.on({"until", "the segment ends before the sum of its delays would exceed "
                 "this"},
       s.until, any);
}

void check(const schedule::segment& s, const setting_path& path,
           problems& out) {
  auto wrong = [&](std::string_view key, std::string message) {
    out.push_back({problem_kind::relation, path / key, std::move(message)});
  };
  if (one_of(s.kind,
             {shape::exponential, shape::fibonacci, shape::decorrelated})
      && s.base == duration::zero())
    wrong(
      "base",
      fmt::format("0s never grows, allowed for {}: 1ns to "
                  "unlimited",
                  enum_names<shape>::value[static_cast<std::size_t>(s.kind)]));
  if (s.kind != shape::custom && s.max < s.base)
    wrong("max", fmt::format("{} is less than base, which is {}",
                             to_text(s.max), to_text(s.base)));
  // With jitter the first delay may be shorter than `base`.
  if (s.kind != shape::custom && s.spread == jitter::none && s.until < s.base)
    wrong("until",
          fmt::format("{} leaves no delay: the first one is {}, "
                      "allowed: {} to unlimited",
                      to_text(s.until), to_text(s.base), to_text(s.base)));
  if (s.kind == shape::decorrelated && s.spread != jitter::none)
    wrong("jitter", "does not apply to decorrelated, which is random by "
                    "itself, allowed: none");
  if (s.kind == shape::list && s.delays.empty())
    wrong("delays", fmt::format("is empty, allowed: {}", allowed_delays));
  if (s.kind != shape::list && !s.delays.empty())
    wrong("delays", "applies to kind \"list\" only");
  if (s.kind == shape::list && s.base != duration::zero())
    wrong("base", "does not apply to a list, whose first delay is that of "
                  "delays, allowed: 0s");
  if (s.kind == shape::custom && !s.custom)
    wrong("custom", "a custom schedule needs a function");
}

void read_schedule(const setting& from, const setting_path& path,
                   schedule& into, problems& out) {
  if (auto text = std::get_if<std::string>(&from.value))
    read_text(from, *text, path, into, out);
  else if (auto raw = std::get_if<setting::raw>(&from.value))
    read_raw(from, detail::trimmed(raw->text), path, into, out);
  else if (std::holds_alternative<settings>(from.value))
    read_table(from, path, into, out);
  else if (std::holds_alternative<std::vector<setting>>(from.value))
    read_list(from, path, into, out);
  else
    read_text(from, {}, path, into, out);
}

void check_schedule(const schedule& s, const setting_path& path,
                    problems& out) {
  const auto& segments = s.segments();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    auto where = segments.size() == 1 ? path : path / i;
    auto found = problems_of(segments[i], where);
    out.insert(out.end(), found.begin(), found.end());
    const auto& x = segments[i];
    auto ends = one_of(x.kind, {shape::custom, shape::list});
    if (i + 1 < segments.size() && !ends && x.take == 0 && x.until == unlimited)
      out.push_back({problem_kind::relation, where / "take",
                     fmt::format("0 means without end, so that the segments "
                                 "behind it are never used, allowed: 1 to {}",
                                 most_delays)});
  }
}

// -- as a field ---------------------------------------------------------------

std::string field_value_for<schedule>::type() const {
  return "schedule";
}

std::string field_value_for<schedule>::allowed() const {
  return "a duration, a table or a list of durations or tables";
}

std::string field_value_for<schedule>::text() const {
  return to_text(x_);
}

void field_value_for<schedule>::read(const setting& from,
                                     const setting_path& path, problems& out) {
  read_schedule(from, path, x_, out);
}

void field_value_for<schedule>::check(const setting_path& path,
                                      problems& out) const {
  check_schedule(x_, path, out);
}

} // namespace caisson
