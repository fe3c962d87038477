#include <simulator/report/numbers.hpp>
#include <simulator/report/shown_faults.hpp>
#include <simulator/report/timeline.hpp>
#include <simulator/scenario/faults.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

namespace caisson::sim {

namespace {

constexpr std::size_t max_columns = 60;
constexpr std::size_t min_columns = 20;
constexpr std::int64_t shortest = 10;

// Seconds of the longest arm, and how many columns they get.
struct scale {
  std::int64_t seconds = 0;
  std::size_t columns = 0;

  // The column that the instant lies in, at most `columns`.
  [[nodiscard]] std::size_t column(double at) const {
    auto share = std::clamp(at / static_cast<double>(seconds), 0.0, 1.0);
    return static_cast<std::size_t>(share * static_cast<double>(columns));
  }
};

scale scale_of(const report& r, std::size_t most) {
  scale out;
  for (const auto& arm : r.arms)
    out.seconds = std::max(
      out.seconds,
      std::chrono::floor<std::chrono::seconds>(arm.length).count());
  out.columns = std::min(most, static_cast<std::size_t>(out.seconds));
  return out;
}

// -- arms ---------------------------------------------------------------------

// The full block is for what counts as good in a verdict.
std::string level_mark(std::uint64_t good, std::uint64_t offered, bool ascii) {
  constexpr std::array<std::string_view, 8> blocks{
    "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
  };
  if (offered == 0)
    return " ";
  if (ascii)
    return std::to_string(std::min<std::uint64_t>(good * 10 / offered, 9));
  if (good * 10 >= offered * 9)
    return std::string{blocks.back()};
  return std::string{blocks[good * 70 / (offered * 9)]};
}

std::string arm_line(const arm_result& r, const scale& x, bool ascii) {
  std::vector<second_tally> columns(x.columns);
  for (std::size_t i = 0; i < r.tallies.size(); ++i) {
    // What is answered in the drain has no column.
    if (duration{std::chrono::seconds{i}} >= r.length
        || std::cmp_greater_equal(i, x.seconds))
      break;
    columns[i * x.columns / static_cast<std::size_t>(x.seconds)] += r.tallies
                                                                      [i];
  }
  std::string out;
  for (const auto& c : columns)
    out += level_mark(c.good, c.offered, ascii);
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

// -- faults -------------------------------------------------------------------

struct fault_mark {
  std::string label;
  std::string line;

  friend bool operator==(const fault_mark&, const fault_mark&) = default;
};

// One that comes at random is shown as it does with the first seed.
fault_mark mark_of(const arm_config& arm, std::size_t index,
                   const arm_result& played, const scale& x, bool ascii) {
  const auto& f = arm.faults[index];
  fault_mark out{.label = fmt::format("{} {}", fault_name(f.kind), place_of(f)),
                 .line = {}};
  std::size_t drawn = 0;
  for (const auto& time : shown_fault_times(arm, index, played)) {
    auto begin = std::min(x.column(to_seconds(time.at)), x.columns - 1);
    auto end = x.column(to_seconds(duration_sum(time.at, time.lasts)));
    for (; drawn < begin; ++drawn)
      out.line += ' ';
    // Even the shortest fault shows.
    for (; drawn < std::max(end, begin + 1); ++drawn)
      out.line += ascii ? "x" : "×";
  }
  return out;
}

// Faults of the same kind and target in one line would hide each other only
// where they overlap; but each has its own, as their number is small.
std::vector<fault_mark> marks_of(const report& r, std::size_t arm,
                                 const scale& x, bool ascii) {
  const auto& c = r.arms[arm];
  const auto& all = r.runs.front().arms;
  arm_result not_played;
  not_played.seed = r.seed;
  const auto& played = arm < all.size() ? all[arm] : not_played;
  std::vector<fault_mark> out;
  for (std::size_t i = 0; i < c.faults.size(); ++i)
    out.push_back(mark_of(c, i, played, x, ascii));
  return out;
}

bool same_for_all(const report& r, const scale& x) {
  auto first = marks_of(r, 0, x, true);
  for (std::size_t i = 1; i < r.arms.size(); ++i)
    if (marks_of(r, i, x, true) != first)
      return false;
  return true;
}

// -- the whole ----------------------------------------------------------------

std::string axis(const scale& x) {
  auto middle = short_seconds(duration{std::chrono::seconds{x.seconds}} / 2);
  auto end = short_seconds(std::chrono::seconds{x.seconds});
  std::string out = "0 s";
  if (x.columns >= 30)
    out = fmt::format("{:<{}}{}", out, x.columns / 2, middle);
  if (x.columns > out.size() + end.size())
    out.append(x.columns - out.size() - end.size(), ' ');
  else
    out += ' ';
  return out + end;
}

class picture {
public:
  void line(const std::string& name, std::string drawn) {
    auto label = detail::printable(name);
    width_ = std::max(width_, label.size());
    lines_.push_back({std::move(label), std::move(drawn)});
  }

  [[nodiscard]] std::size_t label_width() const { return width_; }

  [[nodiscard]] std::vector<std::string> text() const {
    std::vector<std::string> out;
    for (const auto& [label, drawn] : lines_)
      out.push_back(fmt::format("{:<{}}  {}", label, width_, drawn));
    return out;
  }

private:
  std::size_t width_ = 0;
  std::vector<std::pair<std::string, std::string>> lines_;
};

picture drawn_with(const report& r, const scale& x, bool ascii) {
  picture out;
  // `of`: what is written before the name of a fault.
  auto mark = [&](std::size_t arm, const std::string& of) {
    for (auto& m : marks_of(r, arm, x, ascii))
      out.line(of + m.label, std::move(m.line));
  };
  auto same = same_for_all(r, x);
  if (same)
    mark(0, {});
  const auto& played = r.runs.front().arms;
  for (std::size_t i = 0; i < played.size() && i < r.arms.size(); ++i) {
    if (!same)
      mark(i, r.arms[i].name + ": ");
    out.line(played[i].name, arm_line(played[i], x, ascii));
  }
  out.line("", axis(x));
  return out;
}

} // namespace

std::vector<std::string> timeline(const report& r, bool ascii,
                                  std::size_t width) {
  auto x = scale_of(r, max_columns);
  if (x.seconds < shortest || r.runs.empty() || r.runs.front().arms.empty())
    return {};
  auto out = drawn_with(r, x, ascii);
  auto labels = out.label_width() + 2;
  if (width != any_width && labels + x.columns > width)
    out = drawn_with(
      r, scale_of(r, std::max(min_columns, width - std::min(width, labels))),
      ascii);
  return out.text();
}

} // namespace caisson::sim
