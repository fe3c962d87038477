// Schedules as configuration: fields, checks, reading and printing.
#include <caisson/schedule.hpp>
#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson {

namespace {

using segment = schedule::segment;
using shape = schedule::shape;

constexpr std::uint32_t most_delays = 1'000'000;
constexpr double largest_factor = 1'000'000;

bool one_of(shape kind, std::initializer_list<shape> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// Shapes that come from code only are all called custom.
std::string_view name_of(shape kind) {
  const auto& names = enum_names<shape>::value;
  auto n = static_cast<std::size_t>(kind);
  return n < std::size(names) ? names[n] : "custom";
}

std::string_view name_of(jitter spread) {
  const auto& names = enum_names<jitter>::value;
  auto n = static_cast<std::size_t>(spread);
  return n < std::size(names) ? names[n] : "unknown";
}

// -- reading ------------------------------------------------------------------

// Fields that were given although they do nothing in this segment: whoever
// wrote them expects something that will not happen.
void check_applicable(const settings& from, const segment& s,
                      const std::string& path, problems& out) {
  auto only = [&](std::string_view key, bool applies, std::string_view where,
                  std::string_view present) {
    auto i = from.find(key);
    if (!applies && i != from.end())
      out.push_back({i->second.place, joined(path, key),
                     fmt::format("{} applies to {} only, this is {}", key,
                                 where, present)});
  };
  auto kind = name_of(s.kind);
  only("base", s.kind != shape::custom, "schedules without a function", kind);
  only("step", s.kind == shape::linear, "linear", kind);
  only("factor", one_of(s.kind, {shape::exponential, shape::decorrelated}),
       "exponential and decorrelated", kind);
  only("jitter_factor", s.spread == jitter::factor, "jitter \"factor\"",
       fmt::format("\"{}\"", name_of(s.spread)));
}

void read_segment(const setting& from, const std::string& path, segment& into,
                  problems& out) {
  auto table = std::get_if<settings>(&from.value);
  if (!table) {
    out.push_back({from.place, path,
                   to_text(from) + " is not a segment, allowed: a table"});
    return;
  }
  problems found;
  auto next = into;
  settings_reader reader{*table, path, found};
  describe(reader, next);
  reader.finish();
  auto unknown_choice = [&](const problem& p) {
    return p.key == joined(path, "kind") || p.key == joined(path, "jitter");
  };
  // Without a valid kind it is not known which fields apply.
  if (std::none_of(found.begin(), found.end(), unknown_choice))
    check_applicable(*table, next, path, found);
  add_problems(problems_of(next, path), *table, path, from.place, found);
  if (found.empty())
    into = std::move(next);
  out.insert(out.end(), found.begin(), found.end());
}

void read_table(const setting& from, const std::string& path, schedule& into,
                problems& out) {
  const auto& table = std::get<settings>(from.value);
  segment s;
  if (!table.contains("kind") && !into.empty()) {
    if (into.segments().size() > 1) {
      out.push_back({from.place, joined(path, "kind"),
                     fmt::format("is missing: the present schedule has {} "
                                 "segments, so single fields cannot be changed",
                                 into.segments().size())});
      return;
    }
    s = into.segments().front();
  }
  auto before = out.size();
  read_segment(from, path, s, out);
  if (out.size() == before)
    into = schedule{{std::move(s)}};
}

void read_list(const std::vector<setting>& from, const std::string& path,
               schedule& into, problems& out) {
  auto before = out.size();
  std::vector<segment> segments(from.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    read_segment(from[i], fmt::format("{}[{}]", path, i), segments[i], out);
  if (out.size() == before)
    into = schedule{std::move(segments)};
}

void read_text(const setting& from, std::string_view text,
               const std::string& path, schedule& into, problems& out) {
  if (text == "none")
    into = schedule{};
  else if (auto delay = parse_duration(text))
    into = schedule::constant(*delay);
  else
    out.push_back({from.place, path,
                   to_text(from)
                     + " is not a schedule, allowed: a duration such as "
                       "\"250ms\", \"none\", a table or a list of tables"});
}

// -- printing -----------------------------------------------------------------

std::string growth(const segment& s) {
  switch (s.kind) {
    case shape::constant:
    case shape::fibonacci:
      return fmt::format("{} {}", name_of(s.kind), to_text(s.base));
    case shape::linear:
      return fmt::format("linear {} +{}", to_text(s.base), to_text(s.step));
    case shape::exponential:
    case shape::decorrelated:
      return fmt::format("{} {} ×{}", name_of(s.kind), to_text(s.base),
                         to_text(s.factor));
    case shape::custom:
      break;
  }
  return "custom function";
}

std::string segment_text(const segment& s) {
  auto out = growth(s);
  if (s.max != unlimited)
    out += fmt::format(" up to {}", to_text(s.max));
  if (s.spread == jitter::factor)
    out += fmt::format(", jitter ±{} of the delay", to_text(s.spread_factor));
  else if (s.spread != jitter::none)
    out += fmt::format(", {} jitter", name_of(s.spread));
  if (s.take == 1)
    out += ", once";
  else if (s.take != 0)
    out += fmt::format(", {} times", s.take);
  if (s.until != unlimited)
    out += fmt::format(", {} in total", to_text(s.until));
  return out;
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
  v.on({"step", "linear only: what each further delay adds"}, s.step, any);
  v.on({"factor", "exponential: each delay by the one before; decorrelated: "
                  "the most that a delay can be, by the one before"},
       s.factor, {1.0, largest_factor});
  v.on({"max", "no delay is longer than this, jitter included; not less than "
               "base"},
       s.max, any);
  v.choice({"jitter", "how a delay is spread at random; not for decorrelated, "
                      "which is random by itself"},
           s.spread);
  v.on({"jitter_factor", "for jitter \"factor\" only: how far, by the delay, "
                         "to either side"},
       s.spread_factor, {0.0, 1.0});
  v.integer<std::uint32_t>(
    {"take", "how many delays the segment has; 0: no limit"}, s.take,
    {0, most_delays});
  v.on({"until", "the segment ends before the sum of its delays would exceed "
                 "this"},
       s.until, any);
}

void check(const schedule::segment& s, const std::string& path, problems& out) {
  auto wrong = [&](std::string_view key, std::string message) {
    out.push_back({{}, joined(path, key), std::move(message)});
  };
  if (one_of(s.kind,
             {shape::exponential, shape::fibonacci, shape::decorrelated})
      && s.base == duration::zero())
    wrong("base", fmt::format("0s never grows, allowed for {}: 1ns to "
                              "unlimited",
                              name_of(s.kind)));
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
    wrong("jitter", fmt::format("\"{}\" does not apply to decorrelated, which "
                                "is random by itself, allowed: none",
                                name_of(s.spread)));
  if (s.kind == shape::custom && !s.custom)
    wrong("custom", "a custom schedule needs a function");
}

void read_schedule(const setting& from, const std::string& path, schedule& into,
                   problems& out) {
  if (auto text = std::get_if<std::string>(&from.value))
    read_text(from, *text, path, into, out);
  else if (auto raw = std::get_if<setting::raw>(&from.value))
    read_text(from, detail::trimmed(raw->text), path, into, out);
  else if (std::holds_alternative<settings>(from.value))
    read_table(from, path, into, out);
  else if (auto list = std::get_if<std::vector<setting>>(&from.value))
    read_list(*list, path, into, out);
  else
    read_text(from, {}, path, into, out);
}

void check_schedule(const schedule& s, const std::string& path, problems& out) {
  const auto& segments = s.segments();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    auto where = segments.size() == 1 ? path : fmt::format("{}[{}]", path, i);
    auto found = problems_of(segments[i], where);
    out.insert(out.end(), found.begin(), found.end());
    const auto& x = segments[i];
    if (i + 1 < segments.size() && x.kind != shape::custom && x.take == 0
        && x.until == unlimited)
      out.push_back({{},
                     joined(where, "take"),
                     fmt::format("0 means without end, so that the segments "
                                 "behind it are never used, allowed: 1 to {}",
                                 most_delays)});
  }
}

std::string to_text(const schedule& s) {
  std::string out;
  for (const auto& part : s.segments()) {
    if (!out.empty())
      out += "; then ";
    out += segment_text(part);
  }
  return out.empty() ? "none" : out;
}

} // namespace caisson
