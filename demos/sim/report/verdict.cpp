#include <sim/report/verdict.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace caisson::sim {

namespace {

constexpr auto window_seconds = static_cast<std::size_t>(
  verdict_window.count());

// Of fewer requests a single one would be more than a tenth.
constexpr std::uint64_t enough_requests = 10;

struct tally {
  std::uint64_t offered = 0;
  std::uint64_t good = 0;
  std::uint64_t prompt = 0;
  std::uint64_t in_drain = 0;

  void add(const tally& x) {
    offered += x.offered;
    good += x.good;
    prompt += x.prompt;
    in_drain += x.in_drain;
  }

  // What is under way at the ends of a time is no loss: it is enough that as
  // many were answered as were begun, or that those that were begun were
  // answered soon.
  [[nodiscard]] std::uint64_t served() const { return std::max(good, prompt); }

  // In whole numbers, so that a bound that is just met counts as met.
  // What the drain answers, when there is no load, is no sign of recovery, but
  // no loss either.
  [[nodiscard]] std::uint64_t served_at_last() const {
    return std::max(good, prompt + in_drain);
  }

  [[nodiscard]] bool good_enough() const {
    return served() * 10 >= offered * 9;
  }
  // As many were answered as were begun: what has piled up does not grow.
  [[nodiscard]] bool keeps_up() const { return good * 10 >= offered * 9; }
  [[nodiscard]] bool stays_good() const {
    return served_at_last() * 10 >= offered * 9;
  }
  [[nodiscard]] bool relapsed() const {
    return served_at_last() * 10 < offered * 8;
  }
  [[nodiscard]] bool below_half() const { return served() * 2 < offered; }
};

// Seconds [begin, end).
struct window {
  std::size_t begin = 0;
  std::size_t end = 0;
  tally sum;
};

std::size_t whole_seconds(duration d) {
  auto n = std::chrono::floor<std::chrono::seconds>(d).count();
  return static_cast<std::size_t>(std::max<std::int64_t>(n, 0));
}

std::size_t first_second(duration from) {
  auto n = std::chrono::ceil<std::chrono::seconds>(from).count();
  return static_cast<std::size_t>(std::max<std::int64_t>(n, 0));
}

// One tally per whole second of the load. What is answered later is in none.
std::vector<tally> tallies(const arm_result& r) {
  std::vector<tally> out(whole_seconds(r.length));
  for (const auto& row : r.seconds)
    if (row.index < out.size())
      out[row.index].add({row.requests.offered, row.requests.good, row.prompt,
                          row.prompt_in_drain});
  return out;
}

tally sum_from(const std::vector<tally>& seconds, std::size_t begin) {
  tally out;
  for (auto s = begin; s < seconds.size(); ++s)
    out.add(seconds[s]);
  return out;
}

// The windows that begin at `first` or later and end within the load, one from
// each second on, each as long as it must be to have enough requests.
std::vector<window> windows(const std::vector<tally>& seconds,
                            std::size_t first) {
  auto enough = std::min(enough_requests, sum_from(seconds, first).offered);
  // Sums of all seconds before.
  std::vector<tally> before(seconds.size() + 1);
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    before[i + 1] = before[i];
    before[i + 1].add(seconds[i]);
  }
  std::vector<window> out;
  auto end = first;
  for (auto begin = first; begin < seconds.size(); ++begin) {
    end = std::max(end, begin + window_seconds);
    while (end <= seconds.size()
           && before[end].offered - before[begin].offered < enough)
      ++end;
    if (end > seconds.size())
      break;
    const auto& x = before[begin];
    const auto& y = before[end];
    out.push_back({begin,
                   end,
                   {y.offered - x.offered, y.good - x.good, y.prompt - x.prompt,
                    y.in_drain - x.in_drain}});
  }
  return out;
}

// What the windows say, one after another.
struct course {
  bool well = false;
  /// Where the last good time began.
  std::size_t well_from = 0;
  /// Where the last bad time began: after the last window that was well.
  std::size_t bad_from = 0;
  std::vector<relapse> relapses;
};

course follow(const std::vector<window>& all) {
  course out;
  out.bad_from = all.front().begin;
  for (const auto& w : all) {
    auto first = w.begin == all.front().begin;
    auto good = first ? w.sum.good_enough() : w.sum.keeps_up();
    if (!out.well && good) {
      out.well = true;
      out.well_from = w.begin;
      if (!out.relapses.empty()) {
        auto& last = out.relapses.back();
        last.until = std::max(static_cast<std::uint32_t>(w.begin), last.at + 1);
      }
    } else if (out.well && w.sum.relapsed()) {
      out.well = false;
      out.relapses.push_back({static_cast<std::uint32_t>(w.end - 1), {}});
    }
    if (out.well)
      out.bad_from = w.end;
  }
  return out;
}

// Whether less than half is answered in what is left after the last good time.
bool stays_down(const std::vector<window>& all, const course& c) {
  auto from = std::ranges::find_if(
    all, [&](const window& w) { return w.begin >= c.bad_from; });
  return from != all.end() && std::all_of(from, all.end(), [](const window& w) {
           return w.sum.below_half();
         });
}

void recovered(arm_result& r, std::size_t second) {
  r.verdict = verdict_kind::recovered;
  r.recovered_at = static_cast<std::uint32_t>(second);
  // Well from the first second to the last: from what should it have recovered?
  if (!r.recovery_from && second == 0)
    r.verdict = verdict_kind::no_fault;
}

} // namespace

void decide_verdict(arm_result& r) {
  r.verdict = verdict_kind::degraded;
  r.recovered_at.reset();
  r.relapses.clear();
  auto from = r.recovery_from.value_or(duration::zero());
  auto first = first_second(from);
  auto seconds = tallies(r);
  auto all = windows(seconds, first);
  if (all.empty()) {
    if (tally{r.totals.offered, r.totals.good, 0, 0}.good_enough())
      recovered(r, first);
    return;
  }
  auto c = follow(all);
  r.relapses = c.relapses;
  if (c.well) {
    if (sum_from(seconds, c.well_from).stays_good())
      recovered(r, c.well_from);
    return;
  }
  auto was_well = from > duration::zero() || !c.relapses.empty();
  if (was_well && stays_down(all, c))
    r.verdict = verdict_kind::stuck;
}

std::optional<duration> recovery_time(const arm_result& r) {
  if (!r.recovered_at)
    return std::nullopt;
  auto at = duration{std::chrono::seconds{*r.recovered_at}};
  return std::max(duration::zero(),
                  at - r.recovery_from.value_or(duration::zero()));
}

} // namespace caisson::sim
