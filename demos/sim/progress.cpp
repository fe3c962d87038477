#include <sim/progress.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

namespace caisson::sim {

namespace {

using namespace std::chrono_literals;

// Clears what is right of the cursor.
constexpr std::string_view line_start = "\r\x1b[K";

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
                          std::chrono::nanoseconds elapsed) {
  constexpr std::size_t bar = 20;
  constexpr std::size_t longest_name = 24;
  share = std::clamp(share, 0.0, 1.0);
  auto full = static_cast<std::size_t>(share * bar);
  return fmt::format("{} ({}/{}, seed {})  [{}{}]  {:.0f} %{}",
                     step.arm.substr(0, longest_name), step.arm_index + 1,
                     step.arms, step.seed, std::string(full, '#'),
                     std::string(bar - full, '.'), std::floor(share * 100),
                     left_text(share, elapsed));
}

progress_bar::progress_bar(std::ostream& out, bool enabled,
                           std::function<clock::time_point()> now)
  : out_(out), enabled_(enabled), now_(std::move(now)), start_(now_()) {}

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
  drawn_ = true;
  out_ << line_start << progress_line(step, share, now - start_) << std::flush;
}

void progress_bar::clear() {
  if (std::exchange(drawn_, false))
    out_ << line_start << std::flush;
}

} // namespace caisson::sim
