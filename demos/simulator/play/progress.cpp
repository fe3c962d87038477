#include <simulator/play/progress.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <sys/ioctl.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <utility>

namespace caisson::sim {

namespace {

using namespace std::chrono_literals;

// Clears what is right of the cursor.
constexpr std::string_view line_start = "\r\x1b[K";

constexpr std::size_t longest_name = 24;

std::string bar_text(double share, std::size_t length) {
  auto full = static_cast<std::size_t>(share * static_cast<double>(length));
  return fmt::format("[{}{}]", std::string(full, '#'),
                     std::string(length - full, '.'));
}

std::string left_text(double share, std::chrono::nanoseconds elapsed) {
  // Before that, a guess would jump about.
  if (share < 0.01 || elapsed < 500ms)
    return {};
  auto passed = std::chrono::duration<double>(elapsed).count();
  auto left = std::llround(std::ceil(passed * (1 - share) / share));
  if (left < 120)
    return fmt::format("  {} s left", left);
  return fmt::format("  {} min left", (left + 59) / 60);
}

} // namespace

std::string progress_line(const progress_step& step, double share,
                          std::chrono::nanoseconds elapsed,
                          std::size_t columns) {
  share = std::clamp(share, 0.0, 1.0);
  auto percent = fmt::format("{:.0f} %", std::floor(share * 100));
  auto seed = step.seed ? fmt::format(", seed {}", *step.seed) : std::string{};
  auto workers = step.workers ? fmt::format(", {} worker{}", *step.workers,
                                            *step.workers == 1 ? "" : "s")
                              : std::string{};
  auto where = fmt::format("{} ({}/{}{}{})",
                           detail::printable(step.arm.substr(0, longest_name)),
                           step.arm_index + 1, step.arms, seed, workers);
  // From all there is to show down to the least that is of use.
  for (auto line : {
         fmt::format("{}  {}  {}{}", where, bar_text(share, 20), percent,
                     left_text(share, elapsed)),
         fmt::format("{}  {}  {}", where, bar_text(share, 10), percent),
         fmt::format("{}  {}", where, percent),
         fmt::format("{}  {}", bar_text(share, 10), percent),
         percent,
       })
    if (line.size() < columns)
      return line;
  return {};
}

std::size_t columns_of(int descriptor) {
  constexpr std::size_t usual = 80;
  if (auto text = std::getenv("COLUMNS")) {
    std::size_t n = 0;
    if (detail::read_number(text, n) == detail::read_result::good && n > 0)
      return n;
  }
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return usual;
}

progress_bar::progress_bar(std::ostream& out, bool enabled,
                           std::function<std::size_t()> columns,
                           std::function<clock::time_point()> now)
  : out_(out), enabled_(enabled), columns_(std::move(columns)),
    now_(std::move(now)), start_(now_()) {}

progress_bar::~progress_bar() {
  clear();
}

void progress_bar::show(const progress_step& step, double share) {
  if (!enabled_)
    return;
  auto now = now_();
  if (last_ && now - *last_ < 100ms)
    return;
  last_ = now;
  auto line = progress_line(step, share, now - start_, columns_());
  if (line.empty())
    return clear();
  drawn_ = true;
  out_ << line_start << line << std::flush;
}

void progress_bar::clear() {
  if (std::exchange(drawn_, false))
    out_ << line_start << std::flush;
}

} // namespace caisson::sim
