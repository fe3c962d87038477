#include <simulator/report/verdict.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace caisson::sim {

namespace {

constexpr auto window_seconds = static_cast<std::size_t>(
  verdict_window.count());

// Of fewer requests a single one would be more than a tenth.
constexpr std::uint64_t enough_requests = 10;

// What is in progress at the ends of a time is no loss: it is enough that as
// many were answered as were begun, or that those that were begun were answered
// soon.
std::uint64_t served(const second_tally& x) {
  return std::max(x.good, x.prompt);
}

// What the drain answers, when there is no load, is no sign of recovery, but no
// loss either.
std::uint64_t served_with_drain(const second_tally& x) {
  return std::max(x.good, x.prompt + x.prompt_in_drain);
}

// In whole numbers, so that a bound that is just met counts as met.
bool good_enough(const second_tally& x) {
  return served(x) * 10 >= x.offered * 9;
}

// As many were answered as were begun: what has piled up does not grow.
bool keeps_up(const second_tally& x) {
  return x.good * 10 >= x.offered * 9;
}

bool stays_good(const second_tally& x) {
  return served_with_drain(x) * 10 >= x.offered * 9;
}

bool has_relapsed(const second_tally& x) {
  return served_with_drain(x) * 10 < x.offered * 8;
}

bool below_half(const second_tally& x) {
  return served(x) * 2 < x.offered;
}

// Seconds [begin, end).
struct window {
  std::size_t begin = 0;
  std::size_t end = 0;
  second_tally sum;
};

std::size_t whole_seconds(duration d) {
  auto n = std::chrono::floor<std::chrono::seconds>(d).count();
  return static_cast<std::size_t>(std::max<std::int64_t>(n, 0));
}

std::size_t first_second(duration from) {
  auto n = std::chrono::ceil<std::chrono::seconds>(from).count();
  return static_cast<std::size_t>(std::max<std::int64_t>(n, 0));
}

using tallies = std::span<const second_tally>;

// Those of the whole seconds of the load. What is answered later is in none.
tallies tallies_of(const arm_result& r) {
  tallies all{r.tallies};
  return all.first(std::min(all.size(), whole_seconds(r.length)));
}

second_tally sum_from(tallies seconds, std::size_t begin) {
  second_tally out;
  for (const auto& x : seconds.subspan(std::min(begin, seconds.size())))
    out += x;
  return out;
}

// The windows that begin at a second or later and end within the load, one from
// each second on, each as long as it must be to have enough requests.
class windows {
public:
  windows(tallies seconds, std::size_t first)
    : seconds_(seconds), first_(first),
      enough_(std::min(enough_requests, sum_from(seconds, first).offered)) {}

  // Calls `f` with each, in their order, until it returns false.
  template <class F>
  void each(F f) const {
    window w{first_, first_, {}};
    while (w.begin < seconds_.size()) {
      while (w.end < w.begin + window_seconds || w.sum.offered < enough_) {
        if (w.end >= seconds_.size())
          return;
        w.sum += seconds_[w.end++];
      }
      if (!f(w))
        return;
      w.sum -= seconds_[w.begin++];
    }
  }

private:
  tallies seconds_;
  std::size_t first_;
  std::uint64_t enough_;
};

// Finds good and bad times in the windows, which are added in their order.
struct window_scan {
  bool any = false;
  bool healthy = false;
  /// Where the last good time began.
  std::size_t healthy_from = 0;
  /// Where the last bad time began: after the last window that was healthy.
  std::size_t bad_from = 0;
  std::vector<relapse> relapses;

  void add(const window& w);
};

void window_scan::add(const window& w) {
  if (!any)
    bad_from = w.begin;
  auto good = any ? keeps_up(w.sum) : good_enough(w.sum);
  any = true;
  if (!healthy && good) {
    healthy = true;
    healthy_from = w.begin;
    if (!relapses.empty()) {
      auto& last = relapses.back();
      last.until = std::max(static_cast<std::uint32_t>(w.begin), last.at + 1);
    }
  } else if (healthy && has_relapsed(w.sum)) {
    healthy = false;
    relapses.push_back({static_cast<std::uint32_t>(w.end - 1), {}});
  }
  if (healthy)
    bad_from = w.end;
}

window_scan scan_of(const windows& all) {
  window_scan out;
  all.each([&](const window& w) {
    out.add(w);
    return true;
  });
  return out;
}

// Whether less than half is answered in what is left after the last good time.
bool stays_down(const windows& all, const window_scan& c) {
  auto any = false;
  auto down = true;
  all.each([&](const window& w) {
    if (w.begin < c.bad_from)
      return true;
    any = true;
    down = below_half(w.sum);
    return down;
  });
  return any && down;
}

// From `second` on.
void set_recovered(arm_result& r, std::size_t second) {
  r.verdict = verdict_kind::recovered;
  r.recovered_at = static_cast<std::uint32_t>(second);
  // If it was healthy throughout, there was nothing to recover from.
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
  auto seconds = tallies_of(r);
  windows all{seconds, first};
  auto c = scan_of(all);
  if (!c.any) {
    if (good_enough({r.totals.offered, r.totals.good, 0, 0}))
      set_recovered(r, first);
    return;
  }
  r.relapses = c.relapses;
  if (c.healthy) {
    if (stays_good(sum_from(seconds, c.healthy_from)))
      set_recovered(r, c.healthy_from);
    return;
  }
  auto was_healthy = from > duration::zero() || !c.relapses.empty();
  if (was_healthy && stays_down(all, c))
    r.verdict = verdict_kind::stuck;
}

} // namespace caisson::sim
