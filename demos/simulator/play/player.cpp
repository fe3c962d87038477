#include <simulator/play/player.hpp>

#include <simulator/play/ordered_work.hpp>
#include <simulator/report/expectations.hpp>
#include <simulator/report/html_samples.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string_view>
#include <utility>

namespace caisson::sim {

player::player(report& r, progress_bar& bar, const command_parts& parts,
               playing how)
  : report_(r), bar_(bar), parts_(parts), how_(how),
    turns_(std::size_t{r.seeds} * r.arms.size()) {}

void player::play_all() {
  report_.speeds.resize(report_.arms.size());
  std::size_t noted = 0;
  ordered_work<arm_result> all{turns_, how_.jobs};
  if (!stopped())
    all.run([this](turn i) { return play(i); },
            [&](turn i, arm_result x) {
              note(i, std::move(x));
              noted = i + 1;
              return !stopped();
            });
  if (noted < turns_)
    report_.interrupted = true;
  bar_.clear();
}

arm_result player::play(turn i) {
  auto result = parts_.play(report_.arms[arm_of(i)], options(i));
  std::lock_guard guard{mutex_};
  shares_.erase(i);
  ++played_;
  return result;
}

run_options player::options(turn i) {
  run_options out{.seed = seed_of(i),
                  .progress = {},
                  .stop = parts_.stop,
                  .abandon = parts_.catch_signals,
                  .verify = how_.verify,
                  .step = has_rows(i) ? report_.step : one_row,
                  .log = {}};
  if (on_page(i)) {
    auto longest = std::ranges::max(report_.arms, {}, &arm_config::length);
    out.details = samples_for(report_.arms.size(), longest.length);
  }
  if (of_first_seed(i))
    out.trace = how_.trace;
  out.progress = [this, i](double share) { show(i, share); };
  if (auto log = how_.log) {
    *log << fmt::format("# arm {} seed {}\n", report_.arms[arm_of(i)].name,
                        out.seed);
    out.log = [log](std::string_view line) { *log << line << '\n'; };
  }
  return out;
}

void player::show(turn i, double share) {
  std::lock_guard guard{mutex_};
  shares_[i] = share;
  auto sum = static_cast<double>(played_);
  for (const auto& [key, fraction] : shares_)
    sum += fraction;
  auto first = shares_.begin()->first;
  auto arm = arm_of(first);
  bar_.show({report_.arms[arm].name, arm, report_.arms.size(), seed_of(first)},
            sum / static_cast<double>(turns_));
}

void player::note(turn i, arm_result result) {
  auto k = arm_of(i);
  if (k == 0)
    report_.runs.push_back({.seed = seed_of(i), .arms = {}});
  report_.speeds[k].add(result);
  if (result.interrupted)
    report_.interrupted = true;
  else
    for (auto& text : failed_expectations(report_.arms[k], result))
      add_failure(std::move(text), result);
  for (auto& text : failed_checks(result))
    add_failure(std::move(text), result);
  // What is kept per second would fill the memory after thousands of runs.
  if (!has_rows(i)) {
    result.rows = {};
    // The sentences of a single seed come from them.
    if (report_.seeds > 1)
      result.ranges = {};
  }
  if (report_.seeds > 1 && !on_page(i))
    result.tallies = {};
  report_.runs.back().arms.push_back(std::move(result));
}

void player::add_failure(std::string text, const arm_result& result) {
  if (report_.seeds > 1)
    text = fmt::format("seed {}: {}", result.seed, text);
  report_.failures.push_back(std::move(text));
}

} // namespace caisson::sim
